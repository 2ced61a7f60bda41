"""What `make test` and `make test-all` run of a product, by the table above its test (tests/integration/pairs.py)."""
import os
import pathlib
import subprocess
import sys

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
PRODUCT = """
import pairs, pytest
@pairs.{}
@pytest.mark.parametrize("over", ["clear", "tls"])
@pytest.mark.parametrize("client", ["curl", "node"])
def test_it(client, over): pass
@pytest.mark.whole
def test_for_long(): pass
def test_other(): pass
"""


def collected(tmp_path, table, *arguments, file="test_product.py"):
    """The exit status, the ids that pytest would run, and what it said."""
    (tmp_path / "test_product.py").write_text(PRODUCT.format(table))
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-p", "pairs", *arguments, file]
    ended = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(INTEGRATION)}, capture_output=True, text=True)
    ids = [line.split("::")[1] for line in ended.stdout.splitlines() if line.startswith("test_product.py::")]
    return ended.returncode, ids, ended.stdout + ended.stderr


ALL = [f"test_it[{client}-{over}]" for over in ("clear", "tls") for client in ("curl", "node")] + ["test_for_long", "test_other"]
EACH = 'each("client, over", [("curl", "tls"), ("node", "clear")])'


def test_what_stands_in_a_row_stays_and_all_runs_if_it_is_asked_for(tmp_path):
    assert sorted(collected(tmp_path, EACH)[1]) == sorted(["test_it[curl-tls]", "test_it[node-clear]", "test_other"])
    assert sorted(collected(tmp_path, EACH, "--whole")[1]) == sorted(ALL)
    assert sorted(collected(tmp_path, EACH, "--whole", "-m", "whole")[1]) == sorted(["test_it[curl-clear]", "test_it[node-tls]", "test_for_long"])


def test_what_is_named_runs(tmp_path):
    assert collected(tmp_path, EACH, file="test_product.py::test_it[node-tls]")[1] == ["test_it[node-tls]"]
    assert collected(tmp_path, EACH, file="test_product.py::test_for_long")[1] == ["test_for_long"]


def test_a_table_that_is_not_that_of_its_test_is_refused(tmp_path):
    for table, said in [('each("client, over", [("curl", "tls"), ("curl", "clear")])', "no row of the table has node"),
                        ('pairwise("client, over", [("curl", "tls"), ("node", "clear")])', "no row of the table has curl with clear"),
                        ('only("client", ["curl", "wget"])', "a row ('wget',) that is no set of values"),
                        ('only("client", ["curl", "curl"])', "stands there twice: ('curl',)")]:
        status, _, output = collected(tmp_path, table)
        assert status != 0 and said in output, output


def test_examples_need_not_have_every_value(tmp_path):
    assert sorted(collected(tmp_path, 'only("client", ["node"])')[1]) == sorted(["test_it[node-clear]", "test_it[node-tls]", "test_other"])
    assert sorted(collected(tmp_path, 'only("id", ["curl-tls"])')[1]) == sorted(["test_it[curl-tls]", "test_other"])
