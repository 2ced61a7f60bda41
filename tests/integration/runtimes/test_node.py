"""Node: where a request was made (file:line of the program) and which incoming request caused it.

NODES (paths, separated by colons) are the Nodes to test; without it, the `node` of the PATH.
"""
import os
import re
import shutil
import subprocess

import pytest

import pairs
from conftest import PRELOAD, PYTHON
from rpc_tree import chains, observe
from small_apps import APPS, config, printed, printing, probe, relay, url

NODE_APPS = APPS / "node"


def found_nodes():
    named = os.environ.get("NODES")
    nodes = [path for path in (named.split(":") if named else [shutil.which("node")]) if path]
    found = []
    for path in nodes:
        version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip()
        major = re.match(r"v(\d+)", version)
        reason = f"{path} is Node {version or '(does not start)'}: 18 or later is needed"
        marks = [] if major and int(major[1]) >= 18 else [pytest.mark.skip(reason=reason)]
        found.append(pytest.param(path, id=version or path, marks=marks))
    return found or [pytest.param("", id="none", marks=pytest.mark.skip(reason="no node on the PATH"))]


every_node = pytest.mark.parametrize("node", found_nodes())


def line_of(file, mark):
    for number, line in enumerate((NODE_APPS / file).read_text().splitlines(), 1):
        if line.endswith(f"// site {mark}"):
            return number
    raise AssertionError(f"{file} has no call site {mark}")


def place(frame):
    """"client.js:12" of "/a folder/client.js:12 ask"."""
    return re.search(r"[^/]*?:\d+", frame)[0]


def web(node, name="web", back="back", **environment):
    return {"name": name, "command": f"exec {node} {NODE_APPS}/web.js ${{port:{name}}}",
            "env": {"BACK": url(back, ""), **environment}}


def meeting(number, name="back"):
    return {"name": name, "command": f"exec {PYTHON} {APPS}/meeting.py ${{port:{name}}} {number}"}


def many(number, name="web"):
    return f"exec {PYTHON} {APPS}/many.py {number} {url(name, '')}"


def attributions(run, caller="web"):
    """(right, unknown, wrong) over the RPCs of `caller` that have a number; the path says whose they are."""
    rpcs = run.test["reference"]
    by_index = {rpc["index"]: rpc for rpc in rpcs}
    right, unknown, wrong = [], [], []
    for rpc in rpcs:
        if rpc["caller"] != caller or rpc["path"] == "/heartbeat":
            continue
        if rpc["cause"] == "none":
            unknown.append(rpc["path"])
        elif by_index[rpc["parent"]]["path"] == "/" + rpc["path"].split("/")[1]:
            right.append(rpc["path"])
        else:
            wrong.append((rpc["path"], by_index[rpc["parent"]]["path"]))
    return sorted(right), sorted(unknown), sorted(wrong)


def expected_of(number):
    return sorted(f"/{n}/{call}" for n in range(number) for call in range(2))


# --- which request caused it ---------------------------------------------------------------------

@pairs.each("client, number", [("get", 8), ("agent", 2), ("fetch", 8), ("wrapper", 1)])
@every_node
@pytest.mark.parametrize("client", ["get", "agent", "fetch", "wrapper"])
@pytest.mark.parametrize("number", [1, 2, 8])
def test_every_call_has_the_request_that_caused_it(project, node, client, number):
    """With a background caller every 5 ms, which is never attributed."""
    together = 1 if client == "agent" else number  # its pool lets three pass at a time
    run = observe(project, [meeting(together), web(node, CLIENT=client, HEARTBEAT=url("back", "/heartbeat"))],
                  many(number), complete=False)
    assert attributions(run) == (expected_of(number), [], [])
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "web" and rpc["path"] != "/heartbeat"]
    assert {rpc["cause"] for rpc in calls} == {"task"}
    # (One that was sent before the execution began, and came after that, is nobody's.)
    beats = [rpc for rpc in run.test["reference"] if rpc["path"] == "/heartbeat" and rpc["caller"] == "web"]
    assert len(beats) >= number and {rpc["cause"] for rpc in beats} == {"none"}
    # Two call sites of one helper are told apart, each to its line; no frame of Node or of a library.
    at = {int(rpc["path"][-1]): place(rpc["stack"][0]) for rpc in calls}
    assert at == {n: f"clients.js:{line_of('clients.js', f'{client}-{which}')}" for n, which in enumerate(["first", "second"])}
    assert not [frame for rpc in calls for frame in rpc["stack"]
                if frame.startswith("node:") or "node_modules" in frame or "filibuster/node.cjs" in frame]
    stacks = {(rpc["path"][-1], tuple(rpc["stack"])) for rpc in calls}
    assert len(stacks) == 2, "one stack for each site, whatever else is under way"


@pairs.each("program, number, kind", [("h2.mjs", 8, "{}"), ("h2.js", 8, "{'BODY': 'late'}"), ("h2.js", 8, "{'COMPAT': '1'}"), ("h2.js", 1, "{}")])
@every_node
@pytest.mark.parametrize("program", ["h2.js", "h2.mjs"])
@pytest.mark.parametrize("number, kind", [(1, {}), (8, {}), (8, {"BODY": "late"}), (8, {"COMPAT": "1"})])
def test_http2_has_call_sites_and_the_request_that_caused_each(project, node, number, kind, program):
    """All on one session in each direction, with a background caller; with `require`, and with `import`."""
    text = (NODE_APPS / "h2.js").read_text()
    if program == "h2.mjs":
        text = text.replace("const http2 = require('http2');", "import * as http2 from 'node:http2';")
    path = project.write(program, text)

    def service(name, *words, **environment):
        return {"name": name, "command": f"exec {node} {path} serve ${{port:{name}}} " + " ".join(words), "env": environment}

    services = [service("back"), service("web", url("back", ""), HEARTBEAT="1", **kind)]
    run = observe(project, services, f"exec {node} {path} ask {number} {url('web', '')}", complete=False)
    assert attributions(run) == (expected_of(number), [], [])
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "web" and rpc["path"] != "/heartbeat"]
    assert {rpc["cause"] for rpc in calls} == {"task"}
    lines = {rpc["path"][-1]: {place(frame) for frame in rpc["stack"]} for rpc in calls}
    for call, mark in (("0", "first"), ("1", "second")):
        assert f"{program}:{line_of('h2.js', mark)}" in lines[call], lines
    beats = [rpc for rpc in run.test["reference"] if rpc["path"] == "/heartbeat" and rpc["caller"] == "web"]
    assert beats and {rpc["cause"] for rpc in beats} == {"none"}


ECHO = "import socketserver, sys; H = type('H', (socketserver.BaseRequestHandler,), {'handle': lambda self: " \
       "[self.request.sendall(data) for data in iter(lambda: self.request.recv(99), b'')]}); " \
       "socketserver.ThreadingTCPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()"


@every_node
def test_a_reply_on_a_shared_connection_is_not_taken_for_the_request_that_opened_it(project, node):
    echo = {"name": "echo", "command": f'exec {PYTHON} -c "{ECHO}" ${{port:echo}}'}
    run = observe(project, [echo, meeting(1), web(node, CLIENT="callback", ECHO="${port:echo}")], many(8), complete=False)
    right, unknown, wrong = attributions(run)
    assert wrong == [] and sorted(right + unknown) == expected_of(8)
    assert len(unknown) >= 8, "nothing says whose reply it is"


@pairs.only("number", [8])
@every_node
@pytest.mark.parametrize("number", [1, 8])
def test_a_body_that_comes_after_the_head_belongs_to_its_request(project, node, number):
    """The calls are made when it is complete; and the test itself is a Node program."""
    run = observe(project, [meeting(number), web(node, BODY="late")],
                  f"exec {node} {NODE_APPS}/client.js {number} {url('web', '')} late")
    assert attributions(run) == (expected_of(number), [], [])
    own = [rpc for rpc in run.test["reference"] if rpc["caller"] == "test"]
    assert [rpc["cause"] for rpc in own] == ["entry"] * number
    assert {place(rpc["stack"][0]) for rpc in own} == {
        f"client.js:{line_of('client.js', 'client')}"}


@every_node
def test_a_service_that_calls_itself_has_a_path_for_each_depth(project, node):
    """Four requests at once, each of which nests."""
    service = {"name": "web", "command": f"exec {node} {NODE_APPS}/self.js ${{port:web}}"}
    run = observe(project, [service], many(4))
    expected = []
    for depth in range(4):
        level = [f"test>web GET /{depth} 200"]
        expected += level
        for n in reversed(range(depth)):
            level = [f"{above} / web>web GET /{n} 200" for above in level for _ in range(2)]
            expected += level
    assert chains(run) == sorted(expected)


@every_node
def test_a_proxy_that_forwards_our_field_proves_the_cause_by_it(project, node):
    service = {"name": "web", "command": f"exec {node} {NODE_APPS}/forward.js ${{port:web}}", "env": {"BACK": url("back", "")}}
    run = observe(project, [relay("back"), service], many(8))
    right, unknown, wrong = attributions(run)
    assert (right, unknown, wrong) == (sorted(f"/{n}/forwarded" for n in range(8)), [], [])
    assert all("forward.js:" in rpc["stack"][0] for rpc in run.test["reference"] if rpc["caller"] == "web")


@every_node
def test_a_worker_thread_has_call_sites_and_is_not_guessed(project, node):
    service = {"name": "web", "command": f"exec {node} {NODE_APPS}/starter.js ${{port:web}} thread",
               "env": {"BACK": url("back", "")}}
    run = observe(project, [relay("back"), service], many(2), complete=False)
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "web"]
    assert len(calls) == 2 and {rpc["cause"] for rpc in calls} == {"none"}
    assert all("[worker eval]:3" in rpc["stack"][0] for rpc in calls), calls


@every_node
def test_a_child_process_is_followed_as_its_parent_is(project, node):
    service = {"name": "web", "command": f"exec {node} {NODE_APPS}/starter.js ${{port:web}} child",
               "env": {"BACK": url("back", "")}}
    run = observe(project, [relay("back"), service], many(2))
    calls = [rpc for rpc in run.test["reference"] if rpc["caller"] == "web"]
    assert len(calls) == 2 and {rpc["cause"] for rpc in calls} == {"program"}
    assert all("[eval]:3" in rpc["stack"][0] for rpc in calls), calls


@every_node
def test_a_test_that_is_not_preloaded_enters_where_it_arrives(project, node):
    run = observe(project, [meeting(1), web(node)],
                  "env -u LD_PRELOAD curl -sS " + " ".join(f"{url('web')}{n}" for n in (0, 1)))
    assert attributions(run) == (expected_of(2), [], [])
    assert all("clients.js:" in rpc["stack"][0] for rpc in run.test["reference"] if rpc["caller"] == "web")


# --- faults hit the one request that they are meant for --------------------------------------------

# What fetch makes of each fault is in test_http_faults.py.
@pairs.only("client", ["get"])
@every_node
@pytest.mark.parametrize("client,shown", [
    ("get", {"refused": "ECONNREFUSED", "reset": "ECONNRESET", "status:503": "status 503"}),
    ("fetch", {"refused": "ECONNREFUSED", "reset": "UND_ERR_SOCKET|ECONNRESET", "status:503": "status 503"})])
def test_a_fault_at_one_of_eight_concurrent_requests_hits_that_one(project, node, client, shown):
    # Each execution opens its own connections: what is kept from the last one could not be refused.
    service = web(node, CLIENT=client, HEARTBEAT=url("back", "/heartbeat")) | {"restart": "each"}
    project.write("filibuster.json", config([meeting(1), service],
        [{"name": "eight", "command": printing(f"{node} {NODE_APPS}/client.js 8 {url('web', '')}")}],
        default_faults=False, faults=[{"on": {"service": "back", "path": "/3/0"}, "inject": list(shown)}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 1 + len(shown), run
    assert run.test["counts"]["abandoned"] == 0, run
    good = [f"200 /{n}/0 /{n}/1" for n in range(8)]
    executions = [text.splitlines() for text in printed(run)]
    faulted = [lines for lines in executions if lines != good]
    assert len(faulted) == len(shown) and len(executions) > len(faulted), run
    assert all(lines[:3] + lines[4:] == good[:3] + good[4:] for lines in faulted), faulted
    seen = {lines[3] for lines in faulted}
    for pattern in shown.values():
        assert any(re.fullmatch(f"503 ({pattern})", line) for line in seen), (pattern, seen)


# --- how the helper comes in -----------------------------------------------------------------------

ENVIRONMENT = """
const show = () => JSON.stringify([process.env.NODE_OPTIONS, 'NODE_OPTIONS' in process.env, process.execArgv,
  Object.keys(require.cache), process.title, Object.keys(Error), Error.stackTraceLimit, module.children.length,
  process.listenerCount('exit')]);
console.log(show());
if (!process.env.CHILD) console.log(require('child_process').execFileSync(
  process.execPath, [__filename], { env: { ...process.env, CHILD: '1' } }).toString());
"""


@every_node
@pytest.mark.parametrize("options", [None, "", "--title=one --stack-trace-limit=7", '--title="two words"',
                                     "--require ./other.js"])
def test_the_program_and_its_children_see_the_options_that_were_there(tmp_path, node, options):
    (tmp_path / "show.js").write_text(ENVIRONMENT)
    (tmp_path / "other.js").write_text("console.log('other', process.env.NODE_OPTIONS)")
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "NODE_OPTIONS")}
    if options is not None:
        environment["NODE_OPTIONS"] = options
    plain, ours = [subprocess.run([node, "show.js"], cwd=tmp_path, env=environment | more, capture_output=True, text=True)
                   for more in ({}, {"LD_PRELOAD": str(PRELOAD), "FILIBUSTER_DAEMON": f"unix:{tmp_path}/none"})]
    assert plain.returncode == 0 and plain.stdout.count("[") >= 2
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)


@every_node
def test_options_that_were_there_do_not_keep_the_helper_out(project, node):
    run = observe(project, [meeting(1), web(node, NODE_OPTIONS="--stack-trace-limit=1 --title='web'")], many(1))
    assert attributions(run) == (expected_of(1), [], [])
    assert {rpc["cause"] for rpc in run.test["reference"] if rpc["caller"] == "web"} == {"task"}


@every_node
def test_a_helper_that_is_not_there_is_said(project, node):
    """The library alone: requests are found, but not whose they are where several are open."""
    library = project.directory / "libfilibuster.so"
    shutil.copy(PRELOAD, library)
    service = web(node)
    service["command"] = service["command"].replace("exec ", f"exec env LD_PRELOAD={library} ")
    run = observe(project, [meeting(1), service], many(1), complete=False)
    assert any("filibuster/node.cjs is not beside libfilibuster.so" in note for note in run.test["notes"]), run.test["notes"]
    with_helper = observe(project, [meeting(1), web(node)], many(1))
    assert not any("node:" in note for note in with_helper.test["notes"]), "the control"


@every_node
@pytest.mark.parametrize("option", ["--no-addons", "--experimental-permission"])
def test_a_node_that_refuses_addons_or_files_runs_and_is_said(project, node, option):
    allowed = {"--no-addons": "", "--experimental-permission": "--allow-fs-read=* --allow-child-process"}[option]
    if subprocess.run([node, option, *allowed.split(), "-e", ""], capture_output=True).returncode != 0:
        pytest.skip(f"NOT TESTED: this Node has no {option}")
    service = web(node)
    service["command"] = service["command"].replace(node, f"{node} {option} {allowed}")
    run = observe(project, [meeting(1), service], many(1), complete=False)
    said = f"web: node: not followed under {option}"
    assert [note for note in run.test["notes"] if said in note] and run.errors.count(f"warning: {said}") == 1, run
    # Said once the service was heard of, not at the end.
    assert run.errors.index(f"warning: {said}") < run.errors.index("reference execution of"), run
    trace = project.filibuster("trace")
    assert trace.exit_code == 0 and f"warning: {said}" in trace.errors and f"    {said}" in trace.output, trace


@every_node
def test_a_module_of_import_is_shown_by_its_path(project, node):
    """V8 names it by URL, with the blank encoded."""
    folder = project.directory / "my shop"
    folder.mkdir()
    (folder / "web.mjs").write_text(
        "import http from 'http';\n"
        "const [port, back] = process.argv.slice(2);\n"
        "http.createServer((_, answer) => {\n"
        "  http.get(back, (got) => got.resume().on('end', () => answer.end('done')));\n"
        "}).listen(Number(port), '127.0.0.1');\n")
    service = {"name": "web", "command": f"exec {node} 'my shop/web.mjs' ${{port:web}} {url('back')}"}
    run = observe(project, [relay("back"), service], f"exec curl -sSf {url('web')}")
    (site,) = [rpc["stack"][0] for rpc in run.test["reference"] if rpc["caller"] == "web"]
    assert site.startswith(f"{folder}/web.mjs:4") or site.startswith("my shop/web.mjs:4"), site


@every_node
def test_the_library_may_lie_in_a_folder_with_blanks_and_quotes(tmp_path, node):
    folder = tmp_path / 'a "b'
    (folder / "filibuster").mkdir(parents=True)
    shutil.copy(PRELOAD, folder)
    shutil.copy(PRELOAD.parent / "filibuster" / "node.cjs", folder / "filibuster")
    # A blank separates the libraries of LD_PRELOAD: a relative path has none.
    asked = subprocess.run(
        [node, "-p", "[process.env.NODE_OPTIONS, require('diagnostics_channel').channel('undici:request:create').hasSubscribers]"],
        cwd=folder, env=os.environ | {"LD_PRELOAD": "./libfilibuster.so", "FILIBUSTER_DAEMON": f"unix:{tmp_path}/none"},
        capture_output=True, text=True)
    assert asked.stdout == "[ undefined, true ]\n", asked
