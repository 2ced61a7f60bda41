"""The JVM: where a request was made (file:line of the program) and which incoming request caused it.

One machine serves the whole matrix (it takes a second to start): tests/programs/java/Users.java calls its
own second port in one of the ways of Java for each kind of request; the path repeats which request it was.
"""
import collections
import glob
import os
import re
import subprocess

import pytest

import pairs
from conftest import BUILD, PRELOAD, REPOSITORY, Project, PYTHON
from rpc_tree import observe
from small_apps import APPS, config, printed, printing, url
from strangers import fields_of_ours, stranger

SOURCE = (REPOSITORY / "tests/programs/java/Users.java").read_text().splitlines()
JAVA = next(iter(sorted(glob.glob("/usr/lib/jvm/java-17-openjdk-*/bin/java"))), "java")
NUMBERS = [1, 2, 8]
# Calls that one request makes.
CALLS = {"blocking": 1, "two": 2, "send": 1, "chain": 3, "async": 1, "pool": 1, "execute": 1, "supply": 3,
         "thread": 1, "timer": 1, "parallel": 4, "self": 3}


def users(server="pool:8", flags="", background="5", java=JAVA, **members):
    return {"name": "users", "ports": ["users", "leaf"],
            "command": f"exec {java} {flags} -cp {BUILD}/tests/java Users ${{port:users}} ${{port:leaf}} "
                       f"{url('leaf', '')} {server} {background}", **members}


def rounds(kinds, numbers):
    return f"exec {PYTHON} {APPS}/rounds.py {url('users', '')} {','.join(kinds)} {','.join(map(str, numbers))}"


def path_of(rpc):
    """('/leaf/send/send-8-3' or '/send/send-8-3') -> ('send', 'send-8-3')"""
    kind, name = [part for part in rpc["path"].split("/") if part not in ("", "leaf")][:2]
    return kind, name


def attributions(run):
    """{kind: {number: Counter of 'right', 'unknown', 'wrong'}}, background callers aside."""
    rpcs = run.test["reference"]
    by_index = {rpc["index"]: rpc for rpc in rpcs}
    result = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    for rpc in rpcs:
        kind, name = path_of(rpc)
        if rpc["caller"] == "test" or kind == "background":
            continue
        above = by_index.get(rpc["parent"])
        verdict = "unknown" if above is None else "right" if path_of(above) == (kind, name) else "wrong"
        result[kind][int(name.split("-")[1])][verdict] += 1
    return result


def line_of(mark):
    (line,) = [number for number, text in enumerate(SOURCE, 1) if text.endswith(f"// site {mark}")]
    return line


def service_log(project):
    return "".join(path.read_text() for path in sorted((project.root / "logs").glob("users*")))


def program_rpcs(run):
    return [rpc for rpc in run.test["reference"] if rpc["caller"] != "test" and path_of(rpc)[0] != "background"]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("matrix"))
    run = observe(project, [users()], rounds([*CALLS, "handed"], NUMBERS), complete=False)
    yield run, service_log(project)
    project.end()


# --- which request caused it ---------------------------------------------------------------------

@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("number", NUMBERS)
def test_every_call_has_the_request_that_caused_it(matrix, kind, number):
    """With two background callers every 5 ms in the same process."""
    assert attributions(matrix[0])[kind][number] == {"right": CALLS[kind] * number}


def test_what_a_queue_of_the_program_hands_to_its_own_thread_is_not_guessed(matrix):
    assert all(counter["wrong"] == 0 for counter in attributions(matrix[0])["handed"].values())


def test_a_background_caller_has_no_cause(matrix):
    beats = [rpc for rpc in matrix[0].test["reference"] if path_of(rpc)[0] == "background"]
    # (One that was sent before the execution began, and came after that, is nobody's: an entry.)
    assert len(beats) > 50 and {rpc["parent"] for rpc in beats} <= {"", "0" * 32}
    assert {rpc["cause"] for rpc in beats if rpc["caller"] == "users" and rpc["stack"]} == {"none"}


def test_the_machine_says_nothing_of_us(matrix):
    assert matrix[1] == "serving\n"


# --- where it was made ---------------------------------------------------------------------------

SITES = {"blocking": ["blocking"], "two": ["two-first", "two-second"], "send": ["send"],
         "chain": ["chain-first", "chain-second", "chain-third"], "pool": ["pool"], "execute": ["execute"],
         "thread": ["thread"], "timer": ["timer"], "parallel": ["parallel"], "async": ["async"]}


@pytest.mark.parametrize("kind", SITES)
def test_call_sites_are_told_apart_to_file_and_line(matrix, kind):
    rpcs = [rpc for rpc in program_rpcs(matrix[0]) if path_of(rpc)[0] == kind]
    stacks = {tuple(rpc["stack"]) for rpc in rpcs}
    assert len(stacks) == len(SITES[kind]), "one stack for each site, whichever thread it ran on"
    lines = {int(re.search(r"Users\.java:(\d+)", frame)[1]) for stack in stacks for frame in stack}
    assert {line_of(site) for site in SITES[kind]} <= lines
    assert all("Users.java:" in frame and "Lambda" not in frame for stack in stacks for frame in stack), stacks


# --- machines and servers of other kinds ------------------------------------------------------------

FLAGS = ["-XX:+DisableAttachMechanism", "-Xint", "-XX:+UseSerialGC",
         "-XX:+UnlockDiagnosticVMOptions -XX:+BytecodeVerificationLocal -Xcheck:jni",
         "-javaagent:early_agent.jar"]  # of build/tests/java
FEW = ["blocking", "send", "chain", "pool", "supply", "self"]


@pytest.fixture(scope="module")
def indexes():
    return {}


# Checked, and with another agent before ours; the compiler and the collector change nothing of these.
@pairs.only("flags", [FLAGS[3], FLAGS[4]])
@pytest.mark.parametrize("flags", FLAGS)
def test_options_of_the_machine_change_no_index(project, indexes, flags):
    """Nor does address-space randomisation: every machine gives the same set."""
    options = flags.replace("early_agent.jar", f"{BUILD}/tests/java/early_agent.jar")
    run = observe(project, [users(flags=options)], rounds(FEW, [2]), complete=False)
    found = attributions(run)
    assert {kind: dict(found[kind][2]) for kind in FEW} == {kind: {"right": 2 * CALLS[kind]} for kind in FEW}
    assert service_log(project) == "serving\n"
    indexes[flags] = sorted((rpc["path"], rpc["index"]) for rpc in program_rpcs(run))
    assert indexes[flags] == next(iter(indexes.values()))


@pairs.only("number", [8])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_server_that_serves_on_its_selector_is_followed(project, number):
    """The JDK's HTTP server without an executor: all requests are read by one thread."""
    kinds = ["async", "send", "chain", "blocking"]
    run = observe(project, [users(server="inline")], rounds(kinds, [number]), complete=False)
    found = attributions(run)
    assert {kind: dict(found[kind][number]) for kind in kinds} == {kind: {"right": number * CALLS[kind]} for kind in kinds}


NEWER = [path for path in sorted(glob.glob("/usr/lib/jvm/*/bin/java"))
         if (version := re.search(r"-(\d+)-", path)) and int(version[1]) > 20]


@pytest.mark.skipif(not NEWER, reason="no JVM newer than 20 is installed")
def test_a_newer_machine_has_call_sites_and_says_what_is_missing(project):
    run = observe(project, [users(java=NEWER[-1])], rounds(["blocking", "two"], [1, 2]), complete=False)
    found = attributions(run)
    assert all(found[kind][number] == {"right": number * CALLS[kind]} for kind in ("blocking", "two") for number in (1, 2))
    assert "task contexts are carried in JVM 17 to 20" in run.output
    assert all("Users.java:" in rpc["stack"][0] for rpc in program_rpcs(run))


# --- faults hit the one request that they are meant for --------------------------------------------

@pairs.only("kind", ["async", "pool"])
@pytest.mark.parametrize("kind", ["send", "async", "pool"])
def test_a_fault_at_one_of_eight_concurrent_requests_hits_that_one(project, kind):
    project.write("filibuster.json", config([users(background="100")],
        [{"name": "eight", "command": printing(rounds([kind], [8])[5:])}], default_faults=False,
        faults=[{"on": {"service": "users", "path": f"/leaf/{kind}/{kind}-8-3"}, "inject": ["status:503"]}],
        bounds={"reference_executions": 1}))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 2 and "plan not met" not in run.output, run
    executions = [text.splitlines() for text in printed(run)]
    good = [f"200 /{kind}/{kind}-8-{n}" for n in range(8)]
    assert executions == [good, good[:3] + [f"503 /{kind}/{kind}-8-3"] + good[4:]]


# The client that repeats, with several requests at once.
@pairs.only("kind, number", [("send", 8)])
@pytest.mark.parametrize("kind", ["blocking", "send", "async"])
@pytest.mark.parametrize("number", [1, 8])
def test_a_refusal_and_a_reset_hit_the_request_that_they_are_meant_for(project, kind, number):
    """The JDK's clients repeat a GET after a reset by themselves, and so after a refusal where it is not known which call
    opens the connection (several at once; HttpClient's selector): a reset then."""
    meant = number // 2
    path = f"/leaf/{kind}/{kind}-{number}-{meant}"
    # Each execution opens its own connections: what is kept from the last one could not be refused.
    project.write("filibuster.json", config([users(flags="-Djdk.httpclient.disableRetryConnect", background="0", restart="each")],
        [{"name": "some", "command": printing(rounds([kind], [number])[5:])}], default_faults=False,
        faults=[{"on": {"service": "users", "path": path}, "inject": ["refused", "reset"]}],
        bounds={"reference_executions": 1, "max_faults": 1}))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed >= 3 and "plan not met" not in run.output, run
    executions = [text.splitlines() for text in printed(run)]
    assert len(executions) == run.executed
    good = [f"200 /{kind}/{kind}-{number}-{n}" for n in range(number)]
    for lines in executions:
        assert lines[:meant] + lines[meant + 1:] == good[:meant] + good[meant + 1:], "the others succeed"
        assert lines[meant] in (good[meant], "502" + good[meant][3:])
    if number == 1 and kind == "blocking":
        assert any(lines[meant].startswith("502") for lines in executions), "a refused connection is not repeated"


# --- without us ------------------------------------------------------------------------------------

def test_without_a_session_nothing_is_changed(tmp_path):
    """No class of ours is in a machine that no session asked for it."""

    command = [JAVA, "-Xlog:class+load:stdout", "-cp", f"{BUILD}/tests/java", "Users"]
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    ours = subprocess.run(command, env=environment | {"LD_PRELOAD": str(PRELOAD), "FILIBUSTER_DAEMON": f"unix:{tmp_path}/none"},
                          capture_output=True, text=True)
    loaded = re.findall(r"\[class,load *\] (\S+) source: ", ours.stdout)
    assert "java.util.concurrent.ThreadPoolExecutor" in loaded, ours
    assert [name for name in loaded if "ilibuster" in name] == []  # (a folder of the class path may be called so)


@pytest.mark.parametrize("declared", [True, False])
def test_what_the_helper_adds_to_a_request_reaches_no_stranger(project, declared):
    """HttpClient sends from a thread of its own, so its requests carry a field of the helper up to the socket."""
    with stranger() as (port, heads):
        options = ["--third-party", f"stranger=127.0.0.1:{port}"] if declared else []
        run = project.filibuster("trace", *options, "--", JAVA, "-cp", f"{BUILD}/tests/java", "GetClient", f"http://127.0.0.1:{port}/x")
    assert "GET /x" in run.output and len(heads) == 1, run
    assert fields_of_ours(heads) == [], heads
