"""What was recorded passes when it is replayed on the version that was recorded, without its Redis and its neighbour: start-up calls, kept
connections, transactions, several requests at the same time."""
import json

import pytest

from record.test_record import BUYS, get, native, post, record, shop  # noqa: F401 (fixtures)


def verify(project, *options):
    run = project.filibuster("verify", "cases", "-c", "filibuster.json", *options)
    return run, json.loads((project.root / "verify.json").read_text())


def test_a_service_in_python_passes_its_cases(shop):  # noqa: F811
    assert record(shop, *BUYS, get("/orders/2"), get("/orders/9")).exit_code == 0
    run, found = verify(shop)
    assert run.exit_code == 0 and len(found["cases"]) == 5 and not found["notes"], run
    assert all(row["served"] == row["recorded"] > 0 for row in found["cases"]), found


@pytest.mark.parametrize("apart", ["", "&"], ids=["one by one", "at the same time"])
def test_a_service_in_cpp_passes_its_cases(native, apart):  # noqa: F811
    recorded = record(native, *[get(f"/orders/{n}", "-m 20") + apart for n in range(12)], "wait")
    assert recorded.exit_code == 0 and "partial" not in recorded.output, recorded
    run, found = verify(native)
    assert run.exit_code == 0 and len(found["cases"]) == 12, run


def test_what_was_replaced_as_a_secret_is_what_the_service_gets(shop):  # noqa: F811
    login = post("/login", {"user": "ann", "password": "planted-Password-1", "api_key": "planted-key-0002"})
    assert record(shop, login).exit_code == 0
    run, found = verify(shop)
    assert [row["judged"] for row in found["cases"]] == ["passed"], run
