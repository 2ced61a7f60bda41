"""grpc-java on Debian's packages (Netty): all kinds of calls, by every kind of stub, as client and as server."""
import os
import subprocess

import pytest

import gateway_faults
import pairs
from conftest import PRELOAD, REPOSITORY, Project, accepts, free_port, wait_until
from gateways import ANSWERS, ask, attributions, java, java_command, observe_matrix, path_of, say, table
from rpc_tree import observe

STUBS = ["blocking", "future", "async"]
KINDS = ["blocking", "future", "async", "stream", "iterator", "talk", "http", "pool", "stages", "chained", "direct", "forwarded"]
INLINE = ["inline_chained", "inline_direct"]  # handlers on the server's event loop
# Handlers of the JDK's HTTP server, and a channel that they open together.
FRONT = ["front_blocking", "front_future", "front_async", "front_pool", "front_stages", "front_chained"]
NUMBERS, ROUNDS = [1, 2, 8], 2
CALLS = 4  # of one request, and of that which it makes of its own service


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("matrix"))
    try:
        yield observe_matrix(project, java(env={"BEAT": "1"}), ask([*KINDS, "handed"], NUMBERS, ROUNDS),
                             ask(INLINE, NUMBERS, ROUNDS, port="direct"),
                             ask(FRONT, NUMBERS, ROUNDS, port="front"))
    finally:
        project.end()


def test_every_call_has_the_request_that_caused_it(matrix):
    """With a background caller every 5 ms in the same process."""
    found = attributions(matrix)
    print(table(found))
    background = found.pop("background")
    assert background["wrong"] == 0 and background["right"] > 10
    for number in NUMBERS:  # by means that nothing follows: never guessed
        handed = found.pop(("handed", number))
        assert handed["wrong"] == 0 and handed.total() == number * ROUNDS * CALLS
    assert found == {(kind, number): {"right": number * ROUNDS * CALLS} for kind in [*KINDS, *INLINE, *FRONT] for number in NUMBERS}


SITES = {"blocking": "blocking", "future": "future", "async": "async", "stream": "stream", "iterator": "iterator", "talk": "talk",
         "http": "http", "pool": "blocking", "stages": "stages", "chained": "chained", "direct": "chained",
         "inline_chained": "chained", "handed": "chained", "forwarded": "chained"}


def lines_of(source):
    """{mark: line} of "// site MARK"."""
    text = (REPOSITORY / "tests/programs/grpc_java" / source).read_text().splitlines()
    return {line.split("// site ")[1]: number for number, line in enumerate(text, 1) if "// site " in line}


@pytest.mark.parametrize("kind", SITES)
def test_a_call_is_made_at_the_line_of_the_program(matrix, kind):
    """Not where Netty writes it; whichever thread that is, and however many calls are under way."""
    stacks = {tuple(rpc["stack"]) for rpc in matrix.test["reference"]
              if rpc["caller"] == "gateway" and path_of(rpc).startswith(f"/{kind}/") and path_of(rpc).endswith("/0")}
    frame = f"Web.java:{lines_of('Web.java')[SITES[kind]]} "
    assert stacks and all(stack[0].startswith(frame) for stack in stacks), stacks
    assert not [frame for stack in stacks for frame in stack if not frame.startswith(("Web.java:", "Gateway.java:"))], stacks
    # The first call of a request, and that of the request which it makes of its own service.
    assert len(stacks) <= 2, stacks


HEADER, OF_HELPER = 5, 7  # as many '-' does a value have


# One whose helper says something, and one whose helper cannot. What goes over TLS is in tls/test_grpc_over_tls.py.
@pairs.only("scheme", ["http", "okhttp"])
@pytest.mark.parametrize("scheme", ["http", "https", "okhttp"])
def test_what_applications_see_of_our_field(project, scheme):
    """Callers nothing; a server what the library says, and before that what the helper said, of which nothing leaves the
    process where that is encrypted, or where that cannot be told. Each of two calls, one of which had to wait for its channel."""
    fields = {"name": "fields", "command": java_command("Fields", "serve", "${port:fields}") + " > served"}
    run = observe(project, [fields], java_command("Fields", "ask", "${port:fields}", scheme).replace("exec ", "") + " > asked",
                  complete=False)
    assert (project.directory / "asked").read_text() == "asked: \nfirst\nasked: \nsecond\n"
    served = [line.split()[1:] for line in (project.directory / "served").read_text().splitlines() if line.startswith("served:")]
    assert [[value.count("-") for value in values] for values in served] == [[OF_HELPER, HEADER] if scheme == "http" else [HEADER]] * 2
    assert ("OkHttp" in run.output) == (scheme == "okhttp"), run
    stacks = {tuple(rpc["stack"]) for rpc in run.test["reference"]}
    if scheme == "http":
        (site,) = stacks
        assert any(frame.startswith(f"Fields.java:{lines_of('Fields.java')['asked']} ") for frame in site), site


def test_calls_of_every_kind(project):
    made = gateway_faults.observe_kinds(project, java(), STUBS, gateway_faults.CLIENTS)
    assert {rpc["cause"] for rpc in made} == {"task"}


def test_faults_meet_the_call_that_they_are_meant_for(project):
    gateway_faults.check_faults(project, java(), "blocking", gateway_faults.PAIRWISE)


# A refusal is in test_grpc_node.py, too.
@pytest.mark.whole
def test_a_refused_connection(project):
    gateway_faults.check_refused(project, java(), "future", "io exception")


# A silence is in test_grpc_node.py, too.
@pytest.mark.whole
def test_a_silence(project):
    gateway_faults.check_silence(project, java(), "async")


# Four hundred calls; fewer have their faults above.
@pytest.mark.whole
def test_exactly_the_chosen_calls_of_many_at_once_fail(project):
    gateway_faults.check_chosen(project, java(), "blocking", 8, 50)


# The same check is in test_grpc_node.py.
@pytest.mark.whole
def test_each_attempt_of_a_retried_call_is_an_rpc_of_its_own(project):
    gateway_faults.check_retries(project, java(), "blocking")


def test_a_message_that_comes_late_keeps_nobody_waiting(project):
    """The head of a call waits for its message, but not for long: the call behind it is answered before."""
    observe(project, gateway_faults.services(java()), say("late", "blocking") + " > printed")
    assert (project.directory / "printed").read_text() == "double 0 [] 2\nlate 4 OK\n"


def test_a_machine_that_was_there_before_the_session_is_edited_when_one_begins(project):
    """All its classes are loaded by then."""
    ports = {name: free_port() for name in ("back", "pages", "gateway", "direct", "front")}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER")}

    def start(name, command):
        for port, number in ports.items():
            command = command.replace(f"${{port:{port}}}", str(number))
        return subprocess.Popen(["sh", "-c", command], cwd=project.directory, env={**environment, "LD_PRELOAD": str(PRELOAD), "FILIBUSTER_SERVICE": name})

    processes = [start("back", ANSWERS["command"]), start("gateway", java()["command"])]
    try:
        wait_until(lambda: all(accepts(ports[name]) for name in ("back", "gateway", "front")), "they serve")
        alone = ask(["blocking", "chained"], [1]).replace("${port:gateway}", str(ports["gateway"]))
        subprocess.run(["sh", "-c", alone], env=environment, check=True)
        project.start("daemon")
        wait_until(lambda: (project.root / "daemon.json").exists(), "the daemon serves")
        by_hand = [{"name": "back", "ports": {"back": ports["back"]}},
                   {"name": "gateway", "ports": {name: ports[name] for name in ("gateway", "direct", "front")}}]
        run = observe(project, by_hand, ask(["blocking", "stages"], [1, 8]), complete=False)
        assert attributions(run) == {(kind, number): {"right": number * CALLS} for kind in ("blocking", "stages") for number in (1, 8)}
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.whole
@pytest.mark.parametrize("stub", STUBS)
def test_every_fault_at_every_kind_of_call(project, stub):
    methods = dict.fromkeys(gateway_faults.LINES)
    gateway_faults.check_faults(project, java(), stub, {method: [*gateway_faults.STATUSES] for method in methods})


@pytest.mark.whole
@pytest.mark.parametrize("stub", STUBS)
def test_exactly_the_chosen_of_eight_thousand_calls_fail(project, stub):
    gateway_faults.check_chosen(project, java(), stub, 8, 1000)
