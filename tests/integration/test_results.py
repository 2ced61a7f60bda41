"""What a person and a program read at the end: findings, groups, replays, lists of what was not tested."""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import pytest

from conftest import CORPUS, FILIBUSTER, PYTHON, REPOSITORY, Project
from small_apps import PROBE, config, pair, probe, relay, url
from terminals import on_a_terminal, read_to_the_end

# --- a finding ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """One exploration of cinema-1 with its planted bug, for the tests that only read."""
    made = Project(tmp_path_factory.mktemp("planted"))
    yield made, made.filibuster("run", "-c", CORPUS / "cinema-1" / "planted-bug.json")
    made.end()


def planted_line():
    lines = (CORPUS / "cinema-1" / "users.py").read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1)
               if "requests.get(f\"{MOVIES}" in text and text.startswith("        response")]
    return line


def test_the_planted_bug_is_the_only_finding(planted):
    _, run = planted
    assert run.exit_code == 1, run
    assert run.executed == 11 and run.test["finished"], run
    (finding,) = run.test["findings"]
    (fault,) = finding["faults"]
    assert (fault["fault"], fault["caller"], fault["service"], fault["method"]) == (
        "timeout", "users", "movies", "GET")
    assert fault["path"].startswith("/movies/267e") and fault["count"] == 1
    assert fault["call_site"].endswith(f"users.py:{planted_line()} (get_movie)"), fault
    assert fault["stack"][0] == fault["call_site"] and any("user_bookings" in frame for frame in fault["stack"])
    assert fault["service_path"] == ["test", "users", "movies"]
    assert finding["executions"] == 1 and finding["reproduced"] is True
    assert finding["first"]["verdict"] == "failed" and finding["first"]["detail"] == "exit status 1"
    assert "expected 503 under a fault, got 500" in finding["first"]["output"]


def test_a_finding_is_shown_to_a_person_with_everything_to_act_on(planted):
    project, run = planted
    (counterexample,) = run.counterexamples
    for expected in ("finding 1: the test fails: AssertionError: expected 503 under a fault, got 500\n", "users -> movies  GET /movies/267e",
                     "timeout: no answer (timeout)", f"users.py:{planted_line()} (get_movie)",
                     "service path  test > users > movies", "expected 503 under a fault, got 500",
                     "replayed once: fails again", f"filibuster replay {counterexample}"):
        assert expected in run.output, run
    # The findings come first, with what a person does about them before what the test said; the counts come last.
    order = ['test "bookings": 1 finding\n', "finding 1: ", "fault         timeout", "call site     ", "run it again: ",
             "what the callers saw:", "last lines of the test's own output:", "passes there under: refused", "11 executions in ",
             "0 redundant, finished", "2 RPCs tested"]
    places = [run.output.find(text) for text in order]
    assert places == sorted(places) and places[0] == 0, (dict(zip(order, places)), run)
    assert "all HTTP requests: refused, timeout, status:500, status:502, status:503 (default set)" in run.test["fault_configuration"]


def documented(section):
    """Names of the members in the tables and rows of a section of docs/report.md."""
    text = (REPOSITORY / "docs" / "report.md").read_text()
    part = text.split(f"{section}\n", 1)[1]
    table = re.search(r"\n\| member \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", "\n" + part).group(1)
    return {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def listed(start):
    """Members named in the sentence that begins with `start`, up to the end of its paragraph."""
    text = (REPOSITORY / "docs" / "report.md").read_text()
    quoted = re.findall(r"`([^`]+)`", text.split(start, 1)[1].split("\n\n", 1)[0])
    return {name for text in quoted for name in re.findall(r"\w+", text)}


def test_report_json_has_exactly_the_documented_members(planted):
    _, run = planted
    report = run.report
    assert set(report) == documented("## report.json") | {"version"}
    assert report["version"] == 1 and report["exit_code"] == run.exit_code
    (test,) = report["tests"]
    assert set(test) == documented("\nA test:")
    finding = test["findings"][0]
    described = listed("\nA finding: ")
    first = {"execution", "id", "verdict", "detail", "output", "seen", "mending", "seconds", "faults"}
    assert set(finding["first"]) == first and first <= described
    assert set(finding) == {"id", "number", "faults", "executions", "reproduced", "counterexample", "standing", "because",
                            "until", "first"}
    assert set(finding) <= described
    assert set(finding["faults"][0]) == documented("\nA fault:")
    for rpc in test["reference"]:
        assert set(rpc) <= listed("\nAn RPC of `reference`: ")
    assert {rpc["cause"] for rpc in test["reference"]} <= {"header", "thread", "task", "only-active", "entry", "none"}
    assert len(test["reference"]) == 3
    assert set(test["counts"]) == {"executed", "scheduled", "redundant", "duplicate", "beyond_bound", "open", "abandoned", "left_out"}
    assert set(test["seconds"]) == {"total", "reference", "median_execution"}
    assert set(test["search_seconds"]) == {"scheduling", "reduction", "store"}
    assert all(0 < seconds < test["seconds"]["total"] for seconds in test["search_seconds"].values())
    assert re.fullmatch("[0-9a-f]{32}", finding["faults"][0]["index"])


def test_a_counterexample_has_exactly_the_documented_members(planted):
    _, run = planted
    example = json.loads(run.counterexamples[0].read_text())
    assert set(example) == documented("## Counterexamples") | {"version"}
    assert example["config_text"] == (CORPUS / "cinema-1" / "planted-bug.json").read_text()
    assert example["faults"] == run.test["findings"][0]["faults"]


def test_every_rpc_says_how_its_cause_was_found(planted):
    _, run = planted
    assert [(rpc["caller"], rpc["service"], rpc["received_by"], rpc["cause"]) for rpc in run.test["reference"]] == [
        ("test", "users", "users", "entry"), ("users", "bookings", "bookings", "thread"),
        ("users", "movies", "movies", "thread")]


# --- groups and replays -------------------------------------------------------------------------

def test_failures_are_grouped_by_their_minimal_fault_sets(project):
    # front fails when c fails, and when a and b both fail: two findings, whatever else fails too.
    project.write("front.py", f'''
import sys, urllib.request, http.server
PORTS = sys.argv[2:]
def good(port):
    try:
        urllib.request.urlopen("http://127.0.0.1:%s/" % port, timeout=1).read()
        return True
    except OSError:
        return False
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        a, b, c = [good(port) for port in PORTS]
        self.send_response(200 if c and (a or b) else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
''')
    project.write("filibuster.json", config(
        [relay("a"), relay("b"), relay("c"),
         {"name": "front", "command": f"exec {PYTHON} front.py ${{port:front}} ${{port:a}} ${{port:b}} ${{port:c}}"}],
        [probe(url("front"))], faults=[{"inject": "503"}]))
    run = project.filibuster("run", "--no-reduction")
    assert run.exit_code == 1 and run.executed == 8, run
    groups = {tuple(sorted(fault["service"] for fault in finding["faults"])): finding
              for finding in run.test["findings"]}
    assert set(groups) == {("c",), ("a", "b")}, run
    assert groups[("c",)]["executions"] == 4 and groups[("a", "b")]["executions"] == 2
    assert all(finding["reproduced"] for finding in groups.values())
    assert all(finding["first"]["faults"] == finding["faults"] for finding in groups.values())
    assert "under 2 faults in combination" in run.output and "4 failing executions contain this fault" in run.output
    # Every counterexample of a finding reproduces it, with all of its faults.
    for finding in groups.values():
        replay = project.filibuster("replay", finding["counterexample"])
        assert replay.exit_code == 1, replay


def test_a_finding_that_depends_on_hidden_state_did_not_reproduce(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [{"name": "moody", "command": f"{PROBE} 200 {url('front')} || [ -e seen ] || {{ touch seen; exit 1; }}"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.executed == 6, run
    (finding,) = run.test["findings"]
    assert finding["reproduced"] is False
    assert "DID NOT REPRODUCE" in run.output, run


def test_a_finding_without_a_part_of_the_index_is_replayed_without_it(project):
    project.write("filibuster.json", pair(expected="200", faults=[{"inject": "503"}]))
    run = project.filibuster("run", "--index-without", "stack", "--index-without", "payload")
    assert run.exit_code == 1, run
    (counterexample,) = run.counterexamples
    replay = project.filibuster("replay", counterexample)
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay


# --- secrets ------------------------------------------------------------------------------------

def test_secrets_are_redacted_in_everything_that_is_written(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("front", url("back", "/pay?api_key=hunter2&item=7"))],
        [{"name": "pay", "command": f"echo 'Authorization: Bearer hunter3'; echo '{{\"password\": \"hunter4\"}}';"
                                    f" exec {PROBE} 200 '{url('front', '/?token=hunter5')}'"}],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    trace = project.filibuster("trace")
    written = run.output + run.errors + trace.output + (project.root / "report.json").read_text()
    for secret in ("hunter2", "hunter3", "hunter4", "hunter5"):
        assert secret not in written, f"{secret} in {written}"
    assert "[redacted]" in run.output and "item=7" in trace.output and "[redacted]" in trace.output
    assert not re.search("hunter[2345]", run.counterexamples[0].read_text())
    assert project.filibuster("replay", run.counterexamples[0]).exit_code == 1, "what is left out stands in the configuration"


# --- progress -----------------------------------------------------------------------------------

def test_without_a_terminal_progress_is_plain_lines(project):
    project.write("filibuster.json", pair())
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert "\r" not in run.errors + run.output and "\x1b" not in run.errors + run.output
    lines = [line for line in run.errors.splitlines() if line.startswith("probe: ")]
    assert lines, run
    for line in lines:
        assert re.match(r"probe: 1 of 1 place, \d+ executions, [\d.]+/s", line), line
    assert any(" left" in line for line in lines) and any("front -> back GET /" in line for line in lines)
    assert re.search(r"reference execution of 'probe': [\d.]+ s, 2 RPCs", run.errors), run


def test_at_80_columns_nothing_is_cut_within_a_word(project):
    # The test's own name and words, and every path, are longer than they usually are.
    words = " ".join(f"word{number}" for number in range(40))
    document = pair(expected="200", faults=[{"inject": ["503", "refused"]}])
    document["tests"][0]["command"] = f"{PROBE} 200 {url('front')} || {{ echo 'Traceback (most recent call last):'; " \
                                      f"echo '  File \"shop.py\", line 3, in f'; echo 'AssertionError: {words}'; exit 1; }}"
    project.write("filibuster.json", document)
    lines = on_a_terminal(project, "run", "--max-time", "1h", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    plain = project.filibuster("run", "--max-time", "1h", "--restart-session", env={"FILIBUSTER_TIME_UP_AFTER": "2"})
    assert "\x1b" not in plain.output + plain.errors
    assert any(len(line) > 80 for line in plain.output.splitlines() if words in line), plain
    copied = ("run it again: filibuster replay ", "to go on: ")
    for line in lines:
        one_word = " " not in line.strip()
        assert len(line) <= 80 or one_word or line.strip().startswith(copied), (line, lines)
    # The same words in the same order, each whole.
    def said(text):
        return re.sub(r"[\d.]+", "0", " ".join(word for word in text.split() if word != "|"))
    begin = next(at for at, line in enumerate(lines) if line.startswith('test "'))
    end = next(at for at, line in enumerate(lines) if line.startswith("page:"))
    expected = plain.output.replace(" --restart-session", "")
    assert said(" ".join(lines[begin:end])) == said(expected), (lines, plain)
    updates = [line for line in lines if re.match(r"probe: \d of 1 place, ", line)]
    assert updates and all(line.endswith((" left", " finding")) for line in updates), lines


def test_the_width_is_that_of_the_moment(project):
    document = pair()
    hook = f"python3 -c 'import fcntl,os,struct,termios; fcntl.ioctl(os.open(os.environ[\"TERMINAL\"], os.O_RDWR | os.O_NOCTTY), " \
           f"termios.TIOCSWINSZ, struct.pack(\"HHHH\", 40, 30, 0, 0))'"
    document["tests"][0]["command"] = f"{hook} && " + document["tests"][0]["command"]
    project.write("filibuster.json", document)
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    process = subprocess.Popen([FILIBUSTER, "run", "--root", project.root], cwd=project.directory, stdin=subprocess.DEVNULL,
                               stdout=theirs, stderr=theirs, env={**os.environ, "TERMINAL": os.ttyname(theirs), "NO_COLOR": "1"})
    os.close(theirs)
    shown = read_to_the_end(mine).decode()
    assert process.wait(timeout=60) == 0, shown
    updates = [part.split("\x1b[K")[0] for part in shown.split("\r") if " 1 place" in part]
    assert updates and all(len(line) < 30 for line in updates), shown
    summary = shown[shown.index('test "probe": '):].split("\r\n")
    assert all(len(line) <= 30 or " " not in line.strip() for line in summary), summary


def test_on_a_terminal_one_line_updates_itself(project):
    project.write("filibuster.json", pair())
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen([FILIBUSTER, "run", "--root", project.root], cwd=project.directory,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = read_to_the_end(mine)
    output = process.stdout.read()
    assert process.wait(timeout=60) == 0
    updates = [part for part in shown.split(b"\r") if b" executions, " in part]
    assert len(updates) >= 5 and all(b"\x1b[K" in update for update in updates), shown
    assert all(len(update.split(b"\x1b[K")[0]) < 100 for update in updates)
    assert b"probe: 1 of 1 place, 6 executions, " in updates[-1]
    assert b" left" in updates[0] and b"/s" in updates[0]
    assert shown.rstrip().split(b"\r")[-1].count(b"executions") == 0, "the line is wiped at the end"
    assert b"6 executions" in output and b"\x1b" not in output


# --- hangs --------------------------------------------------------------------------------------

def test_a_caller_without_a_timeout_is_reported_as_such(project):
    project.write("filibuster.json", pair("--timeout 0", faults=[{"inject": "timeout"}],
                                          bounds={"hang_limit": 0.5}))
    run = project.filibuster("run")
    assert run.executed == 2 and run.exit_code == 1, run
    (finding,) = run.test["findings"]
    assert finding["first"]["verdict"] == "no-timeout", finding
    said = json.dumps(run.report)
    assert "caller has no timeout" in said and "hang limit 0.5 s" in said, run.report
    assert "a caller waits without end (front: caller has no timeout" in run.output, run
    assert "front -> back  GET /" in run.output, run


def test_a_test_that_hangs_is_ended_with_its_children(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [{"name": "patient", "timeout": "3s",
          "command": f"{PROBE} 200 {url('front')} || {{ sleep 300 & echo $! > child; wait; }}"}],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    assert finding["first"]["verdict"] == "test-timeout" and "did not end within 3 s" in finding["first"]["detail"]
    assert "the test does not end" in run.output
    child = int((project.directory / "child").read_text())
    stat = pathlib.Path(f"/proc/{child}/stat")
    assert not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_a_test_that_is_late_once_is_no_finding(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [{"name": "late", "timeout": "3s",
          "command": f"{PROBE} 200 {url('front')} || [ -e late ] || {{ touch late; sleep 300; }}"}],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.test["findings"] == [] and run.test["finished"], run
    assert any("did not end within 3 s" in note and "but not when it was run again: that run counts" in note
               for note in run.test["notes"]), run


def test_a_repetition_that_says_nothing_takes_no_failure_back(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("front", "back")],
        [{"name": "once", "timeout": "3s",
          "command": f"[ -e late ] || {PROBE} 200 {url('front')} || {{ touch late; sleep 300; }}"}],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    assert finding["first"]["verdict"] == "test-timeout" and finding["reproduced"] is False, finding
    assert "expected one of" in json.dumps(finding), finding
    assert not any("that run counts" in note for note in run.test["notes"]), run


# --- what was not faulted -----------------------------------------------------------------------

def test_an_rpc_without_a_known_cause_is_listed_and_not_faulted(project):
    project.write("filibuster.json", config(
        [relay("back"), relay("registry"),
         relay("front", "back", options="--heartbeat " + url("registry", "/alive"))],
        # Several requests, so that beats fall between and into them.
        [probe(*[url("front", f"/{n}") for n in range(3)], expected="200,503")],
        faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert any("front -> registry GET /alive" in line for line in run.test["without_cause"]), run.test
    assert not any("-> back " in line for line in run.test["without_cause"]), run.test["without_cause"]
    assert run.executed == 8, "three RPCs to back, each with or without its fault; never a beat"
    assert "RPCs that were never faulted" in run.output and "made by a background task of front: " in run.output
    beats = [rpc for rpc in run.test["reference"] if rpc["service"] == "registry"]
    assert beats and all(rpc["cause"] == "none" and rpc["parent"] == "" for rpc in beats), beats


# --- rules --------------------------------------------------------------------------------------

def shown_faults(project, rules, **members):
    """What is injected where, as the executions tell it: {"a GET /x: refused", ...}."""
    project.write("filibuster.json", config(
        [relay("a"), relay("b"), relay("middle", url("a", "/deep")),
         relay("front", url("a", "/x?item=1"), url("a", "/y/z"), "b", "middle")],
        [probe(url("front"), expected="200,503")], faults=rules, bounds={"max_faults": 1}, **members))
    process = project.start("run", "--json", "--no-reduction")
    events = [json.loads(line) for line in process.stdout]
    assert process.wait(timeout=60) == 0, (events[-1], process.stderr.read())
    return {fault for event in events if event["type"] == "execution" for fault in event["faults"]}


@pytest.mark.parametrize("rules, members, expected", [
    ([{"on": {"service": "b"}, "inject": ["refused", 404]}], {"default_faults": False},
     {"front -> b GET /: refused", "front -> b GET /: status:404"}),
    ([{"on": {"path": "/y/*"}, "inject": "503"}], {"default_faults": False}, {"front -> a GET /y/z: status:503"}),
    ([{"on": {"path": "/?"}, "inject": "503"}], {"default_faults": False}, {"front -> a GET /x: status:503"}),
    ([{"on": {"method": "POST"}, "inject": "503"}, {"on": {"caller": "middle"}, "inject": "reset"}],
     {"default_faults": False}, {"middle -> a GET /deep: reset"}),
    ([{"on": {"service": "a", "caller": "front"}, "inject": []}, {"on": {"service": "a"}, "inject": "500"},
      {"inject": "502"}], {},
     {"middle -> a GET /deep: status:500", "front -> b GET /: status:502", "front -> middle GET /: status:502"}),
    ([{"on": {"caller": "test"}, "inject": {"status": 503, "body": "no", "headers": {"Retry-After": "1"}}}],
     {"default_faults": False}, {"test -> front GET /: status:503"}),
], ids=["service", "path", "one-character", "method-and-caller", "first-match", "test"])
def test_rules_by_service_method_path_and_caller_say_what_is_injected_where(project, rules, members, expected):
    assert shown_faults(project, rules, **members) == expected


def test_faults_on_the_command_line_replace_the_rules_of_a_file(project):
    project.write("filibuster.json", pair(faults=[{"on": {"service": "back"}, "inject": ["refused", "500"]}]))
    run = project.filibuster("run", "--fault", "503", "--fault", "reset:after")
    assert run.exit_code == 0 and run.executed == 3, run
    assert run.test["fault_configuration"][0] == "all RPCs: status:503, reset:after"
    wrong = project.filibuster("run", "--fault", "teapot")
    assert wrong.exit_code == 2 and "--fault teapot" in wrong.errors, wrong


def test_questions_that_mean_no_rpc_are_named(project):
    """A service that the test spells wrong would be answered 'no' for ever."""
    questions = ["--service back --path '/'", "--service bakc", "--service back --path '/orders/*'", "--service idle",
                 "--grpc shop.CartService/GetCart"]
    asking = "".join(f"{FILIBUSTER} was-fault-injected {question} || [ $? = 1 ] || exit 9\n" for question in questions)
    project.write("test.sh", asking + f"exec {PROBE} 200,503 http://127.0.0.1:$PORT_FRONT/\n")
    made = pair(faults=[{"inject": "503"}])
    made["services"].append(relay("idle"))
    made["tests"] = [{"name": "shell", "command": "sh test.sh"}]
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2, run
    named = [re.search(r"\((.*?)\), but no RPC that was seen is meant by that", note) for note in run.test["notes"]]
    assert sorted(match[1] for match in named if match) == [
        "gRPC 'shop.CartService/GetCart'", "service 'back', path '/orders/*'", "service 'bakc'"], run
    assert "service 'bakc'" in run.output, run
    bounded = project.filibuster("run", "--max-executions", "1", "--restart-session")
    assert any("service 'bakc'" in note and "at its bound" in note for note in bounded.test["notes"]), bounded
