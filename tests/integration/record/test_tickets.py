"""corpus/tickets is recorded and replayed: what was recorded passes, each seeded regression is told as its kind, and neither the network nor
the day nor the number of connections matters."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import pairs
from conftest import BUILD, CORPUS, FILIBUSTER, PYTHON, Project
from corpus import in_place

TICKETS = CORPUS / "tickets"
# The others are further examples, in `make test-all` alone.
LANGUAGES = ["python", "cpp"]
OTHERS = ["node", "java"]
# What a case of POST /tickets differs in, by regression.
REGRESSIONS = {"exchanged": "order", "query": "input", "extra": "extra", "field": "answer", "dropped": "missing"}
KINDS = ["buy", "sales", "buy", "event", "event", "unknown", "quote", "open"]
REQUESTS = 2 * len(KINDS)


def configuration(project, language, **environment):
    """Writes it, with its programs where they are."""
    config = in_place(TICKETS / f"{language}.json")
    tickets = config["services"][2]
    tickets["env"] |= environment
    tickets["command"], *values = [text.replace("../../build", str(BUILD)) for text in (tickets["command"], *tickets["env"].values())]
    tickets["env"] = dict(zip(tickets["env"], values, strict=True))
    project.write("filibuster.json", config)


def record(project, *kinds, requests=None, **environment):
    traffic = ["env", *(f"{name}={value}" for name, value in environment.items()), "sh", "-c",
               f'TICKETS_URL=http://127.0.0.1:$PORT_TICKETS exec {PYTHON} {TICKETS}/traffic.py "$@"', "traffic", requests or len(kinds), *kinds]
    run = project.filibuster("record", "-c", "filibuster.json", "--service", "tickets", "--out", "cases", "--", *traffic)
    assert run.exit_code == 0, run
    return run


def verify(project, before=(), **environment):
    """(exit code, verify.json)"""
    run = subprocess.run([*before, FILIBUSTER, "verify", "cases", "-c", "filibuster.json", "--root", project.root], cwd=project.directory,
                         env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)
    print(run.stdout, run.stderr)
    return run.returncode, json.loads((project.root / "verify.json").read_text())


def kept(project, partial=False):
    return [json.loads(path.read_text()) for path in sorted((project.directory / "cases").rglob("*/*.json"))
            if path.is_relative_to(project.directory / "cases/partial") == partial]


@pytest.fixture(scope="module", params=[*LANGUAGES, *[pytest.param(language, marks=pytest.mark.whole) for language in OTHERS]])
def recorded(request, tmp_path_factory):
    """A recording that the tests of this file only read."""
    if shutil.which("redis-server") is None:
        pytest.skip("NOT TESTED HERE: redis-server is not installed")
    project = Project(tmp_path_factory.mktemp(request.param))
    configuration(project, request.param)
    project.run = record(project, *KINDS, requests=REQUESTS)
    return project


def test_what_was_recorded_passes(recorded):
    code, found = verify(recorded)
    assert code == 0 and [row["judged"] for row in found["cases"]] == ["passed"] * len(kept(recorded)), found
    assert not kept(recorded, partial=True), recorded.run
    assert sum(case["seen"] for case in kept(recorded)) == REQUESTS
    masks = {rule["on"]["method"]: rule["mask"] for rule in json.loads((recorded.directory / "cases/set.json").read_text())["masks"]}
    assert masks == {"POST": {"response": ["/issued"]}}, "nothing else varies: the code is the random number of the recording"


@pytest.mark.parametrize("bug", REGRESSIONS)
def test_a_regression_is_told_as_its_kind(recorded, bug):
    code, found = verify(recorded, BUG=bug)
    differing = {row["file"]: row["differences"][0]["kind"] for row in found["cases"] if row["judged"] == "differs"}
    of_sales = {file: kind for file, kind in differing.items() if json.loads((recorded.directory / file).read_text())["answer"]["status"] == 201}
    assert code == 1 and of_sales and set(of_sales.values()) == {REGRESSIONS[bug]}, found["cases"]
    # The catalog is asked with that query for whatever is not known.
    asked = {"post-tickets", "get-events-_"} if bug == "query" else {"post-tickets"}
    assert {pathlib.Path(file).parent.name for file in differing} == asked, differing


def test_it_passes_without_a_network(recorded):
    """In a network namespace of its own, which has nothing but a loopback interface."""
    alone = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    tried = subprocess.run([*alone, "true"], capture_output=True, text=True, timeout=60) if shutil.which("unshare") else None
    if tried is None or tried.returncode != 0:
        pytest.skip(f"NOT TESTED HERE: no network namespace can be made: {tried.stderr if tried else 'unshare is not installed'}")
    assert verify(recorded, before=alone)[0] == 0


def test_it_passes_a_year_later(recorded):
    """The whole tool and the service have a clock that is a year ahead. The day of the week is that of the recording."""
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
    if not library.exists():
        pytest.skip("NOT TESTED HERE: libfaketime is not installed")
    code, found = verify(recorded, LD_PRELOAD=str(library), FAKETIME="+366d", FAKETIME_DONT_FAKE_MONOTONIC="1")
    assert code == 0, found


@pairs.only("id", ["more-python", "fewer-cpp"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("pool", "later"), [(1, 8), (8, 1)], ids=["more", "fewer"])
def test_it_passes_with_another_number_of_connections(project, language, pool, later):
    configuration(project, language, POOL=str(pool))
    record(project, *KINDS, requests=4 * len(KINDS), CLIENTS=4)
    configuration(project, language, POOL=str(later))
    code, found = verify(project)
    assert code == 0 and found["cases"], found


# Equal requests, which are open at the same time, and have different answers.
AT_ONCE = "curl -s -Z --parallel-immediate --parallel-max 6 " + " ".join(["-o /dev/null http://127.0.0.1:$PORT_TICKETS/quotes/7"] * 6)


@pairs.only("language", ["cpp"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_equal_requests_at_the_same_time_keep_their_answers(project, language):
    configuration(project, language)
    run = project.filibuster("record", "-c", "filibuster.json", "--service", "tickets", "--out", "cases", "--", "sh", "-c", AT_ONCE)
    assert run.exit_code == 0, run
    quotes = [(case["calls"][0]["answer"]["json"]["quote"], case["answer"]["json"]["quote"]) for case in kept(project)]
    assert sorted(quotes) == [(number, number) for number in range(1, 7)], quotes
    code, found = verify(project)
    assert code == 0 and len(found["cases"]) == 6, found


def test_stubs_in_the_place_of_the_catalog_are_recorded_as_it_is(project):
    configuration(project, "stubs")
    record(project, "buy", "event", "event", "quote")
    prices = [call["answer"]["json"]["cents"] for case in kept(project) for call in case["calls"] if call.get("target", "").startswith("/events/")]
    assert len(kept(project)) == 4 and prices and set(prices) == {1500}, prices
    assert verify(project)[0] == 0


def test_what_a_token_of_the_recording_breaks_is_not_kept(project):
    configuration(project, "cpp")
    record(project, "me", "sales")
    assert [case["request"]["target"] for case in kept(project, partial=True)] == ["/me"]
    assert "the service checks the header authorization of the request" in kept(project, partial=True)[0]["partial"]
    assert {case["route"] for case in kept(project)} == {"POST /login", "GET /sales/_"}


def test_calls_that_random_numbers_decide_are_made_again(project):
    """That new draws would be lucky in the same number has a chance of 1 in 7 in each replay."""
    configuration(project, "cpp")
    record(project, "lucky", "sales")
    assert not kept(project, partial=True)
    (lucky,) = [case for case in kept(project) if case["request"]["target"] == "/lucky"]
    assert {draw["from"] for draw in lucky["draws"]} == {"std::random_device"} and len(lucky["draws"]) == 32
    for _ in range(3):
        assert verify(project)[0] == 0
