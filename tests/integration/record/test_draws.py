"""Random numbers of real services: a replay has those of the recording, from each source that a language has, although what they come from is one for
the whole process, and eight requests at a time draw from it."""
import base64
import json
import pathlib
import shutil
import subprocess

import pytest

from conftest import BUILD, PYTHON, Project
from record.schemas import check_folder

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SERVICES = {
    "python": f"{PYTHON} {PROGRAMS}/drawn_numbers.py ${{port:orders}}",
    "asyncio": f"{PYTHON} {PROGRAMS}/drawn_numbers.py ${{port:orders}} tasks",
    "native": f"{BUILD}/tests/programs/drawn_numbers ${{port:orders}}",
    "node": f"node {PROGRAMS}/drawn_numbers.cjs ${{port:orders}}",
    "java": "java -XX:TieredStopAtLevel=1 -Xshare:auto -cp . DrawnNumbers ${port:orders}",
}
# Bytes of what a thread draws that works for no request, and nobody else.
NOBODYS = {"python": 6, "asyncio": 6, "native": 7, "node": 7, "java": 7}
# Drawn once, while the process starts.
OF_PROCESS = {"hash"}
# Here cases are kept as they were recorded: twenty replays with other numbers, each on a process that is started for it, would show no more of the language.
AS_THEY_CAME = ["asyncio", "node", "java"]
REQUESTS = 24
AT_ONCE = "exec curl -sS -f -Z --parallel-immediate --parallel-max 8 " + " ".join(
    f"-o /dev/null http://127.0.0.1:$PORT_ORDERS/draw/{n}" for n in range(REQUESTS))


def configuration(project, language, **environment):
    service = {"name": "orders", "command": "exec " + SERVICES[language], "env": environment}
    project.write("filibuster.json", json.dumps({"version": 1, "tests": [{"name": "none", "command": "false"}], "services": [service]}))


def cases(project):
    return [json.loads(path.read_text()) for path in sorted((project.directory / "cases").glob("*/*.json"))]


def sizes(case):
    return [draw.get("own") or len(base64.b64decode(draw["bytes"])) for draw in case["draws"]]


def frames(of_set):
    return {frame for point in of_set["draws"] for frame in point["stack"]}


@pytest.fixture(scope="module", params=list(SERVICES))
def recorded(request, tmp_path_factory):
    if shutil.which(SERVICES[request.param].split()[0]) is None:
        pytest.skip(f"NOT TESTED HERE: there is no {request.param}")
    project = Project(tmp_path_factory.mktemp(request.param))
    project.language = request.param
    if request.param == "java":
        subprocess.run(["javac", "-d", project.directory, PROGRAMS / "DrawnNumbers.java"], check=True, timeout=120)
    configuration(project, request.param)
    options = ["--no-admission"] if request.param in AS_THEY_CAME else []
    run = project.filibuster("record", "-c", "filibuster.json", "--service", "orders", "--out", "cases", *options, "--", "sh", "-c", AT_ONCE)
    assert run.exit_code == 0, run
    return project


def test_a_replay_has_the_numbers_of_the_recording(recorded):
    answers = [case["answer"]["json"] for case in cases(recorded)]
    assert len(answers) == REQUESTS and not (recorded.directory / "cases/partial").exists()
    for name in answers[0].keys() - OF_PROCESS:
        assert len({json.dumps(answer[name]) for answer in answers}) == REQUESTS, f"{name} is no random number"
    of_set = json.loads((recorded.directory / "cases/set.json").read_text())
    assert not of_set.get("masks"), "no number varies in a replay"
    assert not [frame for frame in frames(of_set) if "ilibuster" in frame], "who drew is a function of the program"
    assert check_folder(recorded.directory / "cases") == REQUESTS
    configuration(recorded, recorded.language)
    run = recorded.filibuster("verify", "cases")
    assert run.exit_code == 0 and f"{REQUESTS} cases: {REQUESTS} passed" in run.output, run


@pytest.mark.parametrize("change", ["LESS", "MORE"])
def test_a_version_that_draws_another_number_gets_the_others(recorded, change):
    configuration(recorded, recorded.language, **{change: "1"})
    run = recorded.filibuster("verify", "cases")
    assert run.exit_code == 0 and f"{REQUESTS} cases: {REQUESTS} passed" in run.output, run


def test_what_is_drawn_for_no_request_is_in_no_case(recorded):
    for case in cases(recorded):
        assert case["draws"] and NOBODYS[recorded.language] not in sizes(case), case["draws"]
