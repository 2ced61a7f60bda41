"""What `filibuster suite` does with suites and services that are not as they should be: it says what it has seen, and what it has left out."""
import shutil

import pytest

from conftest import PYTHON, free_port
from processes import owned
from shop_suite import GETTER, PYTEST, report, shop, suite
from small_apps import APPS, config

# A client as libraries have them: it asks whether to send the body, and reads what has come before it sends it. It tries twice.
CLIENT = '''
import os, socket
def once():
    with socket.create_connection(("127.0.0.1", int(os.environ["SHOP_PORT"])), timeout=20) as peer:
        peer.sendall(b"PUT /copy HTTP/1.1\\r\\nHost: shop\\r\\nExpect: 100-continue\\r\\nContent-Length: 4\\r\\n\\r\\n")
        said = b""
        while not said.endswith(b"\\r\\n\\r\\nok" if b"early" in said else b"\\r\\n\\r\\n"):
            came = peer.recv(4096)
            if not came:
                raise OSError("the peer closed")
            said += came
        peer.sendall(b"copy")
        if b"early" not in said:
            said = peer.recv(4096)
        return int(said.rsplit(b"HTTP/1.1 ", 1)[1][:3])
def put():
    try:
        return once()
    except OSError:
        return once()
'''


def early(*numbers):
    return [{"name": "shop", "command": f"exec {PYTHON} {APPS}/early_answers.py ${{port:shop}} {' '.join(numbers)}", "third_party": True}]


TEST_OF_PUT = "from client import put\ndef test_put(): assert put() == 200\n"


def test_an_execution_whose_server_answered_early_is_made_again_and_says_so(project):
    # Two executions without faults; the third PUT is the first one that gets a fault.
    run = suite(project, TEST_OF_PUT, "--policy", "P1", services=early("3"), client=CLIENT)
    (fault,) = report(run)["faults"]
    assert (fault["tries"], fault["came"]) == (2, ["timeout:after", "pass"]), run
    assert "the server answered before the request was complete" in fault["tried_again"], run
    assert "Executed more than once" in run.output and "2 executions, since" in run.output, run
    assert run.exit_code == 0, run


def test_a_server_that_always_answers_early_leaves_no_conclusion_and_the_reason(project):
    run = suite(project, TEST_OF_PUT, "--policy", "P1", services=early("3-"), client=CLIENT)
    (fault,) = report(run)["faults"]
    assert fault["execution"] is None and fault["tries"] > 1, run
    assert fault["skipped"] == "no conclusion: the server answered before the request was complete", run
    assert run.exit_code == 3 and fault["skipped"] in run.output, run


def test_an_exploration_names_a_server_that_answers_early(project):
    project.write("client.py", CLIENT)
    project.write("filibuster.json", config(early("2-"), [{"name": "put", "command": f"exec {PYTHON} -c 'import client; assert client.put() == 200'",
                                                          "env": {"SHOP_PORT": "${port:shop}"}}], fault_test_calls=True, faults=[{"inject": ["timeout:after"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 3 and "an answer before the whole request" in run.output, run


# A client that waits without end once, in the run of this number; it has a timeout in all others.
WAITS_ONCE = '''
import os, urllib.request
def call(method, waits_in):
    with open("runs", "a+") as file:
        file.write("run\\n")
        file.seek(0)
        run = len(file.readlines())
    request = urllib.request.Request(os.environ["SHOP_URL"] + "/ok", method=method)
    for last in (False, True):
        try:
            return urllib.request.urlopen(request, timeout=None if run == waits_in else 0.3).status
        except OSError:
            if last or run == waits_in: raise
'''


def test_a_hang_that_its_replay_does_not_show_is_no_likely_bug(project):
    tests = "from client import call\ndef test_get(): assert call('GET', 3) == 200\n"
    run = suite(project, tests, "--policy", "P1", services=shop(), client=WAITS_ONCE)
    (cluster,) = report(run)["clusters"]
    assert (cluster["oracle"], cluster["reproduced"], cluster["likely_bug"]) == ("hang", False, False), run
    assert "Hung once, and not when it was replayed (no likely bug):" in run.output and "0 likely bugs" in run.output, run
    assert run.exit_code == 3, run


def test_one_hang_at_a_call_site_keeps_no_other_silence_there_from_being_tried(project):
    # Four executions without faults; the fifth is the first one with a fault.
    tests = ("from client import call\ndef test_get(): assert call('GET', 5) == 200\n"
             "def test_post(): assert call('POST', 5) == 200\n")
    run = suite(project, tests, "--policy", "P1", services=shop(), client=WAITS_ONCE)
    assert {cluster["oracle"]: cluster["likely_bug"] for cluster in report(run)["clusters"]} == {
        "hang": False, "possible-silent-violation": True}, run
    assert "1 likely bug," in run.output and run.exit_code == 1, run


def test_a_client_without_a_timeout_is_waited_for_once_where_its_calls_can_be_reset(project):
    client = WAITS_ONCE.replace("run == waits_in", "run > waits_in")
    tests = "from client import call\n" + "".join(f"def test_{one}(): assert call('GET', 4) == 200\n" for one in ("one", "two"))
    run = suite(project, tests, "--policy", "P1-reset,P1", services=shop(), client=client, bounds={"hang_limit": 1})
    said = report(run)
    assert [(fault["policy"], fault["oracle"] if fault["execution"] else fault["skipped"].split(" (")[0]) for fault in said["faults"]] == [
        ("P1-reset", "consistent-exception"), ("P1", "hang"), ("P1-reset", "consistent-exception"), ("P1", "the client")], run
    (cluster,) = said["clusters"]
    assert cluster["executions"] == [1] and cluster["reproduced"] and cluster["likely_bug"] and run.exit_code == 1, run


@pytest.mark.parametrize("entry, tests, said", [
    ({"runner": "pytest", "path": "nowhere.py", "program": PYTEST}, "", ["the tests of the suite of pytest (nowhere.py) cannot be listed (exit status 4)"]),
    ({"runner": "pytest", "path": "test_shop.py", "program": PYTEST}, "def test(:\n", ["cannot be listed", "SyntaxError"]),
    ({"runner": "pytest", "path": "test_shop.py", "program": "no-such-pytest"}, "", ["cannot be listed (exit status 127)", "no-such-pytest"]),
    ({"runner": "junit", "path": "classes", "program": "java"}, "", ["cannot be listed (exit status 1): 'program' must have JUnit and the tests on its class path"]),
    ({"list": "true", "each": "true"}, "", ["the suite with 'list' and 'each' has no tests"])],
    ids=["no such file", "a module that cannot be imported", "no runner", "JUnit is not on the class path", "an empty list"])
def test_a_suite_that_cannot_be_listed_is_not_begun_and_says_why(project, entry, tests, said):
    if entry.get("runner") == "junit" and shutil.which("javac") is None:
        pytest.skip("NOT TESTED HERE: there is no JDK")
    run = suite(project, tests, services=shop(), entry=dict(entry))
    assert run.exit_code == 3 and all(text in run.errors for text in [*said, "No test was run."]), run
    assert "ListTests" not in run.errors, "a source of the daemon's own"
    assert (report(run)["exit_code"], report(run)["tests"], report(run)["faults"]) == (3, [], []), run
    assert owned(project) == {}, "a service was left running"


@pytest.mark.parametrize("from_the_command_line", [True, False])
def test_a_runner_that_is_not_known_is_refused_with_those_that_are(project, from_the_command_line):
    if from_the_command_line:
        run = project.filibuster("suite", "--runner", "nose", "--", "tests")
    else:
        run = suite(project, "", entry={"runner": "nose", "path": "tests"})
    assert run.exit_code == 2, run
    assert "'nose' is not known: expected pytest, unittest, jest, mocha, node, gtest, junit, or 'list' and 'each'" in run.errors, run


@pytest.mark.parametrize("command, said", [
    ("echo waiting for the moon; exec sleep 300", ["'shop' did not become ready", "waiting for the moon"]),
    ("echo no packages are installed >&2; exit 1", ["'shop'", "no packages are installed"])], ids=["never ready", "ended at once"])
def test_an_emulator_that_is_not_up_is_named_and_no_test_is_blamed(project, command, said):
    run = suite(project, "from client import put\ndef test_put(): assert put() == 200\n", client=CLIENT,
                services=[{"name": "shop", "command": command, "ready": {"tcp": True, "timeout": 2}, "third_party": True}])
    assert run.exit_code == 3 and all(text in run.errors for text in said), run
    assert (report(run)["exit_code"], report(run)["tests"]) == (3, []), run
    assert owned(project) == {}, "the emulator was left running"


def test_an_emulator_that_is_not_in_the_configuration_and_not_up_leaves_its_tests_out_by_name(project):
    run = suite(project, f"from client import put\nos.environ['SHOP_PORT'] = '{free_port()}'\ndef test_put(): assert put() == 200\n", client=CLIENT)
    (test,) = report(run)["tests"]
    assert run.exit_code == 3 and test["left_out"].startswith("it fails without any fault") and "ConnectionRefusedError" in test["left_out"], run
    assert test["left_out"] in run.output, run


def test_a_service_that_somebody_else_starts_and_that_is_not_up_is_named_once(project):
    port = free_port()
    run = suite(project, "from getter import get\ndef test_get(): assert get() == 200\ndef test_again(): assert get() == 200\n", "--policy", "P1",
                services=[{"name": "shop", "third_party": True, "ports": {"shop": port}}], getter=GETTER)
    said = f"nothing listens at 127.0.0.1:{port} (service shop, which somebody else starts)"
    assert run.exit_code == 3 and report(run)["notes"] == [said] and run.output.count(said) == 1, run


def test_tests_that_depend_on_one_another_in_their_process_are_left_out_by_name(project):
    run = suite(project, """
from getter import get
session = []
def test_login():
    assert get() == 200
    session.append(1)
def test_that_needs_the_login():
    assert session
    assert get() == 200
""", "--policy", "P1", services=shop(), getter=GETTER)
    login, order = report(run)["tests"]
    assert login["left_out"] == "" and order["left_out"].startswith("it fails without any fault"), run
    assert [fault["test"] for fault in report(run)["faults"]] == [login["test"]] and run.exit_code == 0, run


def test_a_test_that_fails_on_what_its_earlier_run_has_left_is_left_out_by_name(project):
    run = suite(project, """
from getter import get
def test_once():
    assert get() == 200
    with open("left", "x"): pass
def test_get(): assert get() == 200
""", "--policy", "P1", services=shop(), getter=GETTER)
    once, other = report(run)["tests"]
    assert once["left_out"].startswith("it passed 1 time without any fault and then failed") and "FileExistsError" in once["left_out"], run
    assert other["left_out"] == "" and run.exit_code == 0, run


def test_a_test_that_fails_without_faults_after_its_own_failure_is_left_out_and_no_bug(project):
    # Under faults it leaves its lock, on which each later run of it fails by an assertion.
    run = suite(project, """
from getter import get
def test_lock():
    assert not os.path.exists("lock"), "it is locked"
    open("lock", "w").close()
    assert get() == 200
    assert get("/ok?again") == 200
    os.remove("lock")
def test_get(): assert get() == 200
""", "--policy", "P3", services=shop(), getter=GETTER)
    lock, other = report(run)["tests"]
    assert "fails now, so it depends on what other executions leave" in lock["left_out"] and "it is locked" in lock["left_out"], run
    assert other["left_out"] == "" and lock["left_out"] in run.output, run
    faults = [fault for fault in report(run)["faults"] if fault["test"] == lock["test"]]
    assert faults and all(fault["execution"] is None and "was left out" in fault["skipped"] for fault in faults), run
    assert report(run)["clusters"] == [] and run.exit_code == 0, run


def test_a_test_that_another_one_spoils_under_faults_is_left_out_and_no_bug(project):
    run = suite(project, """
import tempfile
from getter import get
def test_first():
    handle, name = tempfile.mkstemp(prefix="dirty", dir=".")
    assert get() == 200
    os.remove(name)
def test_second():
    assert get() == 200
    assert not [name for name in os.listdir(".") if name.startswith("dirty")], "somebody has not tidied up"
""", "--policy", "P1,P3", services=shop(), getter=GETTER)
    first, second = report(run)["tests"]
    assert first["left_out"] == "", run
    assert "fails now, so it depends on what other executions leave" in second["left_out"] and "tidied up" in second["left_out"], run
    assert {fault["test"] for fault in report(run)["faults"] if fault["execution"]} == {first["test"]}, run
    assert report(run)["clusters"] == [] and run.exit_code == 0, run


def test_calls_that_come_and_go_are_told_and_the_others_of_their_test_get_faults(project):
    """The first run alone makes one call; each but the first makes another."""
    run = suite(project, """
from getter import get
from warming import warm
from growing import grow
def is_first(name):
    first = not os.path.exists(name)
    open(name, "w").close()
    return first
def test_cache():
    assert get() == 200
    if is_first("cached"): warm("/error-free")
def test_queue():
    assert get() == 200
    if not is_first("queued"): grow("/error-free")
""", "--policy", "P1", services=shop(), getter=GETTER, warming=GETTER.replace("get(", "warm("), growing=GETTER.replace("get(", "grow("))
    cache, queue = report(run)["tests"]
    assert cache["left_out"] == queue["left_out"] == "", run
    sites = {site["call_site"].split(":")[0]: site for test in (cache, queue) for site in test["call_sites"]}
    assert sites["warming.py"]["why_not"].startswith("seen in 1 of 4 executions: ") and "a cache" in sites["warming.py"]["why_not"], run
    assert sites["growing.py"]["why_not"] == "" and sites["growing.py"]["seen"].startswith("seen in 3 of 4 executions: "), run
    assert sites["getter.py"]["seen"] == "", run
    assert {fault["call_site"].split(":")[0] for fault in report(run)["faults"] if fault["execution"]} == {"getter.py", "growing.py"}, run
    assert "Calls that come in some executions only:" in run.output and "a counter, a queue" in run.output, run
    assert '"restart": "each"' in run.output and run.exit_code == 0, run
