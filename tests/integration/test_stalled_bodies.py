"""A body that stops in its middle: who waits for the rest without a limit is found, and said for what it is."""
import certificates
import pairs
import pytest

from conftest import PYTHON
from small_apps import RELAY, config, probe, url

# A body of 4,000 bytes, behind its head.
BACK = r'''
import http.server, os, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self):
        body = b'"' + b"x" * 3998 + b'"'
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
if "TLS" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["TLS"] + "/cert.pem", os.environ["TLS"] + "/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
'''
PYTHON_FRONT = r'''
import asyncio, http.server, socket, sys, urllib.request
URL = sys.argv[2]
def asks():
ASK
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        try: status = 200 if len(asks()) == 4000 else 500
        except Exception: status = 503
        self.send_response(status); self.send_header("Content-Length", "0"); self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''
RECEIVE = "    return urllib.request.urlopen(URL).read()\n"
ALARM = "    import signal; signal.setitimer(signal.ITIMER_REAL, 1000)\n" + RECEIVE
LOOP = '''    import aiohttp
    async def ask():
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, sock_read=None)) as session:
            async with session.get(URL) as answer:
                return await answer.read()
    return asyncio.run(ask())
'''
# The timer is stopped when the head has come.
NODE_FRONT = r'''
async function withTimeout(url, ms) {
  const c = new AbortController();
  const t = setTimeout(() => c.abort(), ms);
  try { return await fetch(url, {signal: c.signal}); } finally { clearTimeout(t); }
}
require('http').createServer(async (request, response) => {
  try {
    const answer = await withTimeout(process.argv[3], 60000);
    await answer.json();
    response.end();
  } catch (e) { response.statusCode = 503; response.end(); }
}).listen(+process.argv[2], '127.0.0.1');
'''


def explore(project, front, command=PYTHON, scheme="http", env=None, hang_limit=1, test=None, **members):
    project.write("back.py", BACK)
    project.write("front", PYTHON_FRONT.replace("ASK", front) if command == PYTHON else front)
    back = url("back").replace("http://127.0.0.1", f"{scheme}://localhost" if scheme == "https" else "http://127.0.0.1")
    project.write("filibuster.json", config(
        [{"name": "back", "command": f"exec {PYTHON} back.py ${{port:back}}", "env": env or {}},
         {"name": "front", "command": f"exec {command} front ${{port:front}} {back}", "env": env or {}}],
        [test or probe(url("front"), expected="200,503")], faults=[{"on": {"service": "back"}, "inject": "slow-body"}],
        bounds={"hang_limit": hang_limit, "reference_executions": 1}, **members))
    return project.filibuster("run")


def found(run, said):
    assert run.exit_code == 1 and run.executed == 2 and not run.test["skipped"], run
    (finding,) = run.test["findings"]
    assert finding["first"]["verdict"] == "no-timeout" and finding["reproduced"], finding
    assert finding["first"]["detail"] == said and said in run.output, run
    return finding


STILL = "front: caller still waited after 1 s for the rest of the body"
NONE = "front: caller has no limit for the body"


# The hang limit is that of nobody here: without the end at once, the test would meet its own limit.
@pytest.mark.parametrize("transport", ["clear", "tls"])
def test_a_thread_that_waits_for_nothing_else_and_without_a_limit_is_found_at_once(project, tls, transport):
    encrypted = {"TLS": str(tls), **certificates.trusted(tls)} if transport == "tls" else None
    run = explore(project, RECEIVE, scheme="https" if encrypted else "http", env=encrypted, hang_limit=600)
    finding = found(run, NONE)
    assert "answer that stops in the middle of its body" in run.output and "a caller waits without end" in run.output, run
    replay = project.filibuster("replay", run.counterexamples[0])
    assert replay.exit_code == 1 and "caller has no limit for the body" in replay.output, (replay, finding)


# These two start the least: one in a runtime with an alarm, one that waits in real time.
@pairs.only("id", ["alarm", "slow"])
@pytest.mark.parametrize("front, command, members", [
    (NODE_FRONT, "node", {}),
    (LOOP, PYTHON, {}),
    (ALARM, PYTHON, {}),
    (RECEIVE, PYTHON, {"fast_timeouts": False}),
], ids=["fetch", "aiohttp", "alarm", "slow"])
def test_who_may_have_a_limit_that_is_longer_is_not_said_to_have_none(project, front, command, members):
    run = explore(project, front, command, **members)
    found(run, STILL)
    assert "has no limit" not in run.output and "a caller waits on" in run.output, run


@pytest.mark.parametrize("options", ["--timeout 60", "--timeout 0"])
def test_a_limit_that_is_seen_is_over_at_once(project, options):
    project.write("back.py", BACK)
    project.write("filibuster.json", config(
        [{"name": "back", "command": f"exec {PYTHON} back.py ${{port:back}}"},
         {"name": "front", "command": f"exec {RELAY} ${{port:front}} {options} --call {url('back')}"}],
        [probe(url("front"), expected="200,503")], faults=[{"on": {"service": "back"}, "inject": "slow-body"}],
        bounds={"hang_limit": 600, "reference_executions": 1}))
    run = project.filibuster("run")
    if options == "--timeout 0":
        found(run, NONE)
    else:
        assert run.exit_code == 0 and run.executed == 2 and not run.test["findings"] and not run.test["skipped"], run



# The test's own limit is the shortest. Node reports then that its request has ended, and a thread that waits does not.
# Python is the cheaper one.
@pairs.only("id", ["python"])
@pytest.mark.parametrize("front, command, said", [
    (NODE_FRONT, "node", "front: call was still open, long after the caller's own client had given up (hang limit 2.0 s reached)"),
    (ALARM, PYTHON, "front: caller still waited after 2 s for the rest of the body"),
], ids=["node", "python"])
def test_a_test_that_gives_up_first_fails_and_the_finding_says_who_went_on(project, front, command, said):
    asks = f"import urllib.request; urllib.request.urlopen('{url('front')}', timeout=0.5)"
    run = explore(project, front, command, hang_limit=2, test={"name": "probe", "command": f'exec {PYTHON} -c "{asks}"'})
    (finding,) = run.test["findings"]
    assert finding["first"]["verdict"] == "failed" and finding["reproduced"], finding
    assert finding["first"]["detail"] == f"exit status 1; {said}" and said in run.output, run
    assert "it gave up, or does not wait" not in run.output, run
    replay = project.filibuster("replay", run.counterexamples[0])
    assert replay.exit_code == 1 and said in replay.output, replay
