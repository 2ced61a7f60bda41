"""A replayed service is shown the time of the recording, whichever way it asks for the time of day; what it waits for, and every other clock, is
the machine's."""
import calendar
import json
import pathlib
import shutil
import subprocess
import time
import urllib.request

import pytest

from conftest import BUILD, FILIBUSTER, PYTHON, free_port
from record.hand_made import case, write_cases

PROGRAMS = pathlib.Path(__file__).parent / "programs"
CLOCKS = BUILD / "tests/programs/clocks"
FAKETIME = pathlib.Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
# A day that has long been over, and one that is to come.
PAST, FUTURE = "2025-03-01T12:30:00.000000Z", "2031-07-04T08:00:00.250000Z"
SERVICES = {
    "native": f"{CLOCKS} ${{port:orders}}",
    "python": f"{PYTHON} {PROGRAMS}/expiring_token.py ${{port:orders}}",
    "node": f"node {PROGRAMS}/token.cjs ${{port:orders}}",
    "java": f"java -XX:TieredStopAtLevel=1 -Xshare:auto {PROGRAMS}/Token.java ${{port:orders}}",
}


def verify(project, command, *options, env=None, **environment):
    service = {"name": "orders", "command": "exec " + command, "env": environment}
    project.write("filibuster.json", json.dumps({"version": 1, "tests": [{"name": "none", "command": "false"}], "services": [service]}))
    return project.filibuster("verify", "cases", *options, env=env)


def expires_in_an_hour(base):
    return calendar.timegm(time.strptime(base[:19], "%Y-%m-%dT%H:%M:%S")) + 3600


def token(base):
    """The request brings a token that is valid for an hour, and was answered so."""
    answer = {"valid": True, "day": base[:10], "ahead": 540}
    return case(f"/token/{expires_in_an_hour(base)}", [], answer, base=base, server=None)


def write_cases_of_tokyo(folder, *cases):
    write_cases(folder, *cases)
    path = folder / "set.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "environment": {"TZ": "Asia/Tokyo"}}))


@pytest.mark.parametrize("language", list(SERVICES))
def test_a_token_that_has_expired_since_is_valid(project, language):
    if shutil.which(SERVICES[language].split()[0]) is None:
        pytest.skip(f"there is no {language}")
    write_cases_of_tokyo(project.directory / "cases", token(PAST), token(FUTURE))
    run = verify(project, SERVICES[language])
    assert run.exit_code == 0 and "2 cases: 2 passed" in run.output, run
    if language != "native":
        return
    # Today it has, or the day is another.
    run = verify(project, SERVICES[language], "--real-time")
    assert run.exit_code == 1 and "/json/valid: false, not true" in run.output, run


@pytest.fixture(scope="module")
def plain_answers():
    """What the program answers outside of any session: every wait has ended by its deadline, and other clocks are the machine's."""
    port = free_port()
    with subprocess.Popen([CLOCKS, str(port)]) as service:
        try:
            deadline = time.monotonic() + 30
            while True:
                try:
                    return {path: json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}")) for path in ("now/1", "child/1", "waits/5")}
                except OSError:
                    assert time.monotonic() < deadline
        finally:
            service.kill()


def test_every_way_to_ask_for_the_time_of_day(project, plain_answers):
    shown = {name: "2025" if len(text) == 4 else text for name, text in plain_answers["now/1"].items()}
    assert set(shown.values()) == {"2025", "the machine's"}, shown
    children = dict.fromkeys(plain_answers["child/1"], "2025")
    write_cases(project.directory / "cases", case("/now/1", [], shown, base=PAST, server=None), case("/child/1", [], children, base=PAST, server=None))
    run = verify(project, SERVICES["native"])
    assert run.exit_code == 0, run


@pytest.mark.parametrize("base", [PAST, FUTURE], ids=["behind", "ahead"])
def test_waits_until_a_time_of_day_end_when_they_should(project, plain_answers, base):
    waits = plain_answers["waits/5"]
    assert set(waits.values()) == {"late"} and len(waits) > 20, waits
    write_cases(project.directory / "cases", case("/waits/5", [], waits, base=base, server=None))
    run = verify(project, SERVICES["native"])
    assert run.exit_code == 0, run


@pytest.mark.skipif(not FAKETIME.exists(), reason="there is no libfaketime")
@pytest.mark.parametrize("place", ["behind us", "before us", "around us"])
def test_libfaketime_counts_too(project, place):
    faketime = {"FAKETIME": "+366d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    # 'Around us': the daemon's clock is ahead as the service's is, so what is shown is the recording's.
    is_same = place == "around us"
    answer = {"valid": is_same, "day": PAST[:10] if is_same else "2026-03-02", "ahead": 540}
    write_cases_of_tokyo(project.directory / "cases", case(f"/token/{expires_in_an_hour(PAST)}", [], answer, base=PAST, server=None))
    if is_same:
        run = verify(project, SERVICES["native"], env={**faketime, "LD_PRELOAD": str(FAKETIME)})
    elif place == "behind us":
        run = verify(project, SERVICES["native"], **faketime, LD_PRELOAD=str(FAKETIME))
    else:
        run = verify(project, f'env LD_PRELOAD={FAKETIME}:"$LD_PRELOAD" ' + SERVICES["native"], **faketime)
        # It would be shown half of the times.
        assert run.exit_code == 1 and "the time of the recording is not shown: libfaketime stands before this library" in run.output, run
        return
    assert run.exit_code == 0, run


def test_a_recording_says_in_which_zone_it_was_made(project):
    service = {"name": "orders", "command": "exec " + SERVICES["native"], "env": {"TZ": "Asia/Tokyo"}}
    document = {"version": 1, "tests": [{"name": "none", "command": "false"}], "services": [service]}
    project.write("filibuster.json", json.dumps(document))
    run = project.filibuster("record", "--service", "orders", "--out", "cases", "--", "sh", "-c", "curl -s localhost:$PORT_ORDERS/token/1")
    assert run.exit_code == 0 and "recorded 1 case" in run.output, run
    folder = project.directory / "cases"
    assert json.loads((folder / "set.json").read_text())["environment"]["TZ"] == "Asia/Tokyo", run
    # The same case of a year that is over: the token that had expired then, too, and the day of then.
    (path,) = folder.glob("*/*.json")
    text = path.read_text()
    changed = json.loads(text)
    changed["base"], changed["answer"]["json"]["day"] = PAST, PAST[:10]
    path.write_text(json.dumps(changed))
    accepted = subprocess.run([FILIBUSTER, "cases", "accept", str(path)], capture_output=True, text=True, timeout=60)
    assert accepted.returncode == 0, accepted
    run = verify(project, SERVICES["native"])
    assert run.exit_code == 0 and "1 passed" in run.output, run
