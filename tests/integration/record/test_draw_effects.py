"""Random numbers and names of machines that reach a call or the answer are kept with the case, and a replay gives them again. Others are not."""
import base64
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import FILIBUSTER, PYTHON
from record.test_record import cases, get
from record.test_record import record as record_as_it_comes
from record.test_record_and_verify import verify
from small_apps import config

DRAWING = pathlib.Path(__file__).parent / "programs/drawing.py"


@pytest.fixture
def drawing(project):
    answers = [{"method": "GET", "path": path, "answer": {"json": {}}} for path in ("/log/*", "/left", "/right")]
    project.write("filibuster.json", config(
        [{"name": "pricing", "stubs": answers},
         {"name": "orders", "command": f"exec {PYTHON} {DRAWING} ${{port:orders}}", "env": {"PRICING_PORT": "${port:pricing}"}}],
        [{"name": "none", "command": "false"}]))
    return project


def record(project, *traffic):
    run = record_as_it_comes(project, *traffic, options=())
    return run, json.loads((project.directory / "cases/set.json").read_text())


def effects(rules):
    return {point["stack"][0].split()[-1]: point["effect"] for point in rules["draws"]}


def test_numbers_that_reach_a_log_alone_are_dropped_and_those_of_an_answer_or_a_branch_are_kept(drawing):
    run, rules = record(drawing, *[get("/orders")] * 3, *[get("/toss")] * 6)
    assert run.exit_code == 0, run
    assert effects(rules) == {"log_number": "none", "order_number": "some", "toss": "some"}, rules
    assert "masks" not in rules and "varying_headers" not in rules, rules
    for case in cases(drawing):
        if case["request"]["target"] != "/orders":
            continue
        # The first one stands for its place, so that the second one is given to who drew it.
        assert [sorted(draw) for draw in case["draws"]] == [["from", "own", "site"], ["bytes", "from", "site"]], case
        assert base64.b64decode(case["draws"][1]["bytes"]).hex() == case["answer"]["json"]["order"]
    for _ in range(2):
        verified, found = verify(drawing)
        assert verified.exit_code == 0 and len(found["cases"]) == len(cases(drawing)) >= 4, verified


def test_a_number_of_which_a_secret_is_made_is_in_no_file_and_the_secret_is_masked(drawing):
    run, rules = record(drawing, *[get("/login")] * 2)
    assert run.exit_code == 0, run
    assert list(effects(rules).values()) == ["unfit"], rules
    # Secrets are not compared, so nothing is masked.
    assert "masks" not in rules, rules
    assert not [case for case in cases(drawing) if "draws" in case]
    verified, found = verify(drawing)
    assert verified.exit_code == 0 and found["cases"], verified


def test_another_version_gets_the_same_numbers(drawing):
    assert record(drawing, get("/orders"))[0].exit_code == 0
    changed = DRAWING.read_text().replace('{"order": number,', '{"order": number.upper(),')
    drawing.write("changed.py", changed)
    configured = (drawing.directory / "filibuster.json").read_text()
    drawing.write("filibuster.json", configured.replace(str(DRAWING), str(drawing.directory / "changed.py")))
    verified, found = verify(drawing)
    assert verified.exit_code == 1, verified
    (field,) = found["cases"][0]["differences"][0]["fields"]
    assert field["at"] == "/json/order" and field["recorded"].upper() == field["now"] != field["recorded"], field


def test_a_service_that_tells_the_name_of_its_machine_passes_on_another_one(drawing):
    run, rules = record(drawing, get("/host"), get("/toss"))
    assert run.exit_code == 0 and "the name of the machine has an effect" in run.output, run
    assert rules["host"]["name"] == os.uname().nodename and len(rules["host"]["matters"]) == 1, rules
    elsewhere = ["unshare", "--uts", "sh", "-c", 'hostname other-machine && exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*elsewhere, "true"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip("NOT TESTED HERE: the machine cannot have another name")
    verified = subprocess.run([*elsewhere, FILIBUSTER, "verify", "cases", "-c", "filibuster.json"], cwd=drawing.directory, capture_output=True, text=True,
                              timeout=120)
    assert verified.returncode == 0, verified


def test_a_name_without_an_effect_is_in_no_file(drawing):
    run, rules = record(drawing, get("/toss"))
    assert run.exit_code == 0 and rules["host"] == {"name": "", "cases": 1, "replays": 1, "matters": []}, rules


def test_a_generator_whose_seed_is_that_of_the_recording_is_given_other_numbers_too(drawing):
    """Replays give the process its seed again, so that it would draw the same numbers by itself."""
    run, rules = record(drawing, get("/pick"), get("/toss"))
    assert run.exit_code == 0 and effects(rules)["pick"] == "some", rules
    (case,) = [case for case in cases(drawing) if case["request"]["target"] == "/pick"]
    assert case["draws"] and "masks" not in rules, rules
    drawing.write("earlier.py", DRAWING.read_text().replace('return {"pick"', 'print(random.random(), file=sys.stderr)\n    return {"pick"'))
    configured = (drawing.directory / "filibuster.json").read_text()
    drawing.write("filibuster.json", configured.replace(str(DRAWING), str(drawing.directory / "earlier.py")))
    verified, found = verify(drawing)
    assert verified.exit_code == 0, verified
