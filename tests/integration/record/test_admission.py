"""Only cases that replay on the version that has recorded them are kept. What varies from replay to replay is masked, and nothing else."""
import json
import pathlib
import subprocess

import pytest

from conftest import FILIBUSTER, PYTHON
from record.test_record import cases, files, get
from record.test_record import record as record_as_it_comes
from record.test_record_and_verify import verify
from small_apps import config

VARIED = pathlib.Path(__file__).parent / "programs/varied.py"
SECRET = "planted-Password-77"


@pytest.fixture
def varied(project):
    answers = [{"method": method, "path": path, "answer": {"json": answer}} for method, path, answer in (
        ("POST", "/log/*/*", {"ok": True}), ("GET", "/dice", {"dice": 6}), ("GET", "/left/*", {}), ("GET", "/right/*", {}),
        ("GET", "/rate", {"rate": 3}), ("GET", "/password", {"password": SECRET}))]
    project.write("filibuster.json", config(
        [{"name": "cache", "protocol": "redis", "stubs": [{"method": "SET", "answer": {"reply": {"status": "OK"}}}]},
         {"name": "pricing", "stubs": answers},
         {"name": "orders", "command": f"exec {PYTHON} {VARIED} ${{port:orders}}", "env": {
             "PRICING_PORT": "${port:pricing}", "CACHE_PORT": "${port:cache}", "PASSWORD": SECRET}}],
        [{"name": "none", "command": "false"}]))
    return project


def record(project, *traffic, options=()):
    return record_as_it_comes(project, *traffic, options=options)


def masks_of(project):
    return json.loads((project.directory / "cases/set.json").read_text())


def test_what_varies_is_masked_and_nothing_else(varied):
    run = record(varied, get("/things/1"), get("/things/2"), get("/things/1"), get("/plain"))
    assert run.exit_code == 0, run
    rules = masks_of(varied)
    assert rules["varying_headers"] == ["x-request-id"], rules
    masks = {rule["on"]["service"]: {key: sorted(rule["mask"][key]) for key in rule["mask"]} for rule in rules["masks"]}
    assert masks == {"orders": {"response": ["/at", "/id", "/took_ms"]}, "cache": {"json": ["/1"]},
                     "pricing": {"path": [2], "query": ["at"], "json": ["/event/id"]}}, rules
    assert [rule["mask"] for rule in rules["unordered"]] == [{"response": ["/tags/*"]}] and "any_type" not in rules, rules
    # The two requests for the same thing differ in what varies alone.
    kept = {each["request"]["target"]: each["seen"] for each in cases(varied)}
    assert kept == {"/things/1": 2, "/things/2": 1, "/plain": 1}, kept
    verified, found = verify(varied)
    assert verified.exit_code == 0 and len(found["cases"]) == 3, verified


def test_what_the_recorded_service_wrote_stays_and_its_replays_are_quiet(varied):
    logs = varied.root / "logs"
    run = record(varied, get("/plain"))
    assert run.exit_code == 0 and (logs / "orders-0.log").read_text() == "recorded\n" and not (logs / "orders-0.replay.log").exists(), run
    told = [line for line in run.errors.splitlines() if line.startswith("service orders ")]
    assert [line.split()[2].rstrip(":") for line in told] == ["ready", "exited", "ready"], run.errors
    # What is not kept has a reason that somebody may look for.
    run = record_as_it_comes(varied, get("/login"), get("/plain"), folder="other", options=())
    assert f"what the service wrote in the last replays: {logs}/orders-0.replay.log" in run.output, run
    assert (logs / "orders-0.log").read_text() == "recorded\n" and (logs / "orders-0.replay.log").read_text() == "replayed\n", run


def test_a_field_that_does_not_vary_is_still_compared(varied):
    assert record(varied, get("/things/1")).exit_code == 0
    path = next((varied.directory / "cases").glob("get-things-_/*.json"))
    path.write_text(path.read_text().replace('"number": "1",\n', '"number": "7",\n'))
    subprocess.run([FILIBUSTER, "cases", "accept", str(path)], check=True, timeout=60)
    run, found = verify(varied)
    assert run.exit_code == 1 and [each["at"] for each in found["cases"][0]["differences"][0]["fields"]] == ["/json/number"], found


def test_a_time_that_is_told_in_seconds_varies(varied):
    assert record(varied, get("/day")).exit_code == 0
    assert [rule["mask"] for rule in masks_of(varied)["masks"]] == [{"response": ["/now"]}]


def test_calls_in_an_order_of_chance_do_not_wait_for_one_another(varied):
    # That two calls come in one order in all replays of four cases has a chance of 1 in 2 ** 20.
    run = record(varied, *[get(f"/all/{n}") for n in range(4)])
    assert run.exit_code == 0 and "their order varies" in run.output, run
    verified, found = verify(varied)
    assert len(found["cases"]) == 4 and not [row for row in found["cases"] if row["judged"] != "passed"], verified


def test_what_the_service_had_done_before_is_no_noise(varied):
    # The second one was asked when more requests had come than the recording has.
    before = [get("/plain") for _ in range(3)]
    run = record(varied, *before, get("/served"))
    refused = [each["partial"] for each in cases(varied, partial=True)]
    assert run.exit_code == 0 and len(refused) == 1 and "/json/before: 1, not 3" in refused[0], refused
    assert "masks" not in masks_of(varied), "a counter is no noise"
    assert [each["request"]["target"] for each in cases(varied)] == ["/plain"]
    assert verify(varied)[0].exit_code == 0


def test_the_hit_of_a_cache_is_a_unit_with_the_case_that_filled_it(varied):
    run = record(varied, get("/plain"), get("/rate/1"), get("/rate/2"), get("/rate/3"))
    assert run.exit_code == 0 and "2 cases need what earlier ones left" in run.output, run
    by_target = {each["request"]["target"]: each for each in cases(varied)}
    first = by_target["/rate/1"]
    assert "start" not in first and len(first["calls"]) == 1
    names = {json.loads(text)["request"]["target"]: pathlib.Path(name).stem for name, text in files(varied).items() if "/" in name}
    assert [by_target[f"/rate/{n}"]["start"] for n in (2, 3)] == [[names["/rate/1"]]] * 2
    # Alone, and with all others.
    for options in (["--case", names["/rate/3"]], []):
        verified, found = verify(varied, *options)
        assert verified.exit_code == 0 and len(found["cases"]) == (1 if options else 4), verified


def test_state_that_grows_is_refused(varied):
    run = record(varied, *[get("/count") for _ in range(7)])
    refused = [each["partial"] for each in cases(varied, partial=True)]
    assert run.exit_code == 0 and len(refused) == 2 and all("state that grows, such as a counter" in each for each in refused), refused
    assert sorted(len(each.get("start", [])) for each in cases(varied)) == list(range(5))
    assert verify(varied)[0].exit_code == 0


def test_a_case_that_the_replaced_secret_breaks_is_refused_by_the_name_of_its_field(varied):
    run = record(varied, get("/login"), get("/plain"))
    refused = [each["partial"] for each in cases(varied, partial=True)]
    assert run.exit_code == 0 and len(refused) == 1, run
    assert "the service checks /json/password of the answer to call 0" in refused[0], refused
    assert SECRET not in "".join(files(varied).values()) + run.output


def test_a_case_that_is_another_at_another_time_of_day_is_named(varied):
    run = record(varied, get("/open"), get("/plain"))
    assert run.exit_code == 0 and "the time of day has an effect in 6 replays" in run.output and "GET /open, " in run.output, run
    time = masks_of(varied)["time"]
    names = {json.loads(text)["request"]["target"]: pathlib.Path(name).stem for name, text in files(varied).items() if "/" in name}
    assert time == {"cases": 2, "replays": 6, "matters": [names["/open"]]}
    assert verify(varied)[0].exit_code == 0


def test_without_admission_all_are_kept_as_they_came(varied):
    run = record(varied, get("/things/1"), get("/things/1"), options=["--no-admission"])
    assert run.exit_code == 0 and "kept" not in run.output, run
    assert len(cases(varied)) == 2 and "varying_headers" not in masks_of(varied)
    verified, found = verify(varied)
    assert verified.exit_code == 1 and "no replay has shown on the recorded version that these cases pass" in found["notes"][0], found["notes"]


def test_a_bounded_set_has_one_of_each_kind_and_the_newest(varied):
    run = record(varied, *[get(f"/plain?n={n}") for n in range(6)], get("/day"), *[get(f"/plain?n={n}") for n in (6, 7)],
                 options=["--max-cases", "3"])
    assert run.exit_code == 0 and "6 more say nothing new" in run.output, run
    assert sorted(each["request"]["target"] for each in cases(varied)) == ["/day", "/plain?n=6", "/plain?n=7"]


def test_a_sample_of_the_traffic(varied):
    run = record(varied, *[get(f"/plain?n={n}") for n in range(9)], options=["--sample", "3"])
    assert run.exit_code == 0 and "6 requests were left out" in run.output, run
    taken = sorted(int(each["request"]["target"][-1]) // 3 for each in cases(varied))
    assert taken == [0, 1, 2], "one of each lot"
