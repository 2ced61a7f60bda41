"""Names of services that are written into programs: `hosts` of the configuration leads them to the services of each lane."""
import os
import re
import shutil
import subprocess
import urllib.error

import pytest

from by_hand import ByHand
from conftest import CORPUS, FILIBUSTER, PRELOAD, PYTHON, free_port
from corpus import in_place
from small_apps import config, probe, relay, url

ANY = "200,500,502,503,504"
# Answers "hello!", and 409 to who says that it is of another lane.
WHO = {"name": "who", "hosts": ["who", "who.internal:8080"], "command": f"""exec {PYTHON} -c '
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.headers.get("X-Lane", "${{lane}}") == "${{lane}}" else 409)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello!")
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()' ${{port:who}}"""}


def asserting(code):
    return {"name": "python", "command": [PYTHON, "-c", code]}


def calls(run):
    """{index: who calls whom, and for what} of the calls that `trace` saw."""
    return dict(re.findall(r"^([0-9a-f]{32}) .*?(\w+ -> \w+  \S+)", run.output, re.M))


def test_calls_by_name_are_those_by_address(project):
    """The same indexes, and the same executions: a name of the configuration changes nothing but how a service is found."""
    by_address = config([relay("back"), relay("front", "back")], [probe(url("front"), expected=ANY)])
    by_name = config([relay("back", hosts=["back.internal:8080"]), relay("front", "http://back.internal:8080/", hosts=["front"])],
                     [probe("http://front/", expected=ANY)])
    project.write("filibuster.json", by_address)
    before = project.filibuster("trace")
    project.write("filibuster.json", by_name)
    after = project.filibuster("trace")
    assert len(calls(before)) == 2 and calls(before) == calls(after), (before, after)
    run = project.filibuster("run")
    names = {case["name"] for case in run.test["cases"]}
    project.write("filibuster.json", by_address)
    assert names == {case["name"] for case in project.filibuster("run", "--restart-session").test["cases"]}, run
    assert run.test["finished"] and run.executed > 1, run


def test_a_fault_at_a_call_by_name_is_found_and_replayed(project):
    project.write("filibuster.json", config([relay("back", hosts=["back"]), relay("front", "http://back:80/", python=True)], [probe(url("front"))]))
    run = project.filibuster("run")
    assert run.exit_code == 1 and all(finding["reproduced"] for finding in run.test["findings"]), run
    assert {fault["service"] for finding in run.test["findings"] for fault in finding["faults"]} == {"back"}, run
    assert {"refused", "timeout"} <= {fault["fault"] for finding in run.test["findings"] for fault in finding["faults"]}, run
    assert project.filibuster("replay", "1").exit_code == 1


def test_each_lane_has_its_own_services(project):
    """Under the same names, in executions of both lanes, with the results of one."""
    ask = "curl -sSf -o /dev/null -H 'X-Lane: ${lane}' http://who:7000/ -o /dev/null http://who.internal:8080/ -o /dev/null http://WHO.internal.:8080/"
    services = [WHO, relay("back", hosts=["back"]), relay("front", "http://back/", hosts=["front"])]
    runs = []
    for lanes in 1, 2:
        own = f"{ask} && echo ${{lane}} >> lanes && "
        test = probe("http://front/", expected=ANY, meet=lanes)
        project.write("filibuster.json", config(services, [{**test, "command": own + test["command"]}]))
        (project.directory / "lanes").unlink(missing_ok=True)
        runs.append(project.filibuster("run", "--restart-session", "-j", lanes))
        assert set((project.directory / "lanes").read_text().split()) == {str(lane) for lane in range(lanes)}, runs
        for met in project.directory.glob("met-*"):
            met.unlink()
    one, two = runs
    assert one.exit_code == two.exit_code == 0 and one.executed == two.executed > 3, runs


NAMES = """
import errno, socket
def ask(*arguments, **more):
    return [(family, kind, name, address) for family, kind, _, name, address in socket.getaddrinfo(*arguments, **more)]
S = socket
stream = dict(type=S.SOCK_STREAM)
def own(text):
    assert text.startswith("127.87.0."), text
    return text
who = own(S.gethostbyname("who"))
other = own(S.gethostbyname("who.internal"))
assert who != other
assert ask("who", 80, **stream) == [(S.AF_INET, S.SOCK_STREAM, "", (who, 80))]
assert ask("who", "http", **stream) == [(S.AF_INET, S.SOCK_STREAM, "", (who, 80))]
assert ask("who", None, **stream) == [(S.AF_INET, S.SOCK_STREAM, "", (who, 0))]
assert {row[1] for row in ask("who", 80)} >= {S.SOCK_STREAM, S.SOCK_DGRAM}
for name in "who", "WHO.", "who.internal":
    (row,) = ask(name, 80, flags=S.AI_CANONNAME | S.AI_ADDRCONFIG, **stream)
    assert row[2] == name.rstrip("."), row
(row,) = ask("who", 80, S.AF_INET6, flags=S.AI_V4MAPPED, **stream)
assert row[3][:2] == ("::ffff:" + who, 80), row
def fails(error, *arguments, **more):
    try:
        found = ask(*arguments, **more)
    except S.gaierror as failed:
        assert failed.errno == error, failed
    else:
        raise AssertionError(found)
fails(S.EAI_NODATA, "who", 80, S.AF_INET6, **stream)
fails(S.EAI_NONAME, "who", 80, flags=S.AI_NUMERICHOST, **stream)
fails(S.EAI_SERVICE, "who", "no such service", **stream)
fails(S.EAI_NONAME, "whom.invalid", 80, **stream)
assert S.gethostbyname_ex("who.internal") == ("who.internal", [], [other])
assert ask("127.0.0.1", 80, **stream) == [(S.AF_INET, S.SOCK_STREAM, "", ("127.0.0.1", 80))]
assert ("127.0.0.1", 80) in [row[3] for row in ask("localhost", 80, S.AF_INET, **stream)]
def connect(name, port, family=S.AF_INET):
    with S.socket(family) as one:
        if family == S.AF_INET6:
            one.setsockopt(S.IPPROTO_IPV6, S.IPV6_V6ONLY, 0)
            name = "::ffff:" + S.gethostbyname(name)
        error = one.connect_ex((name, port))
        return error or one.getpeername()[:2]
assert connect("who", 1) == connect("who.internal", 8080) == ("127.0.0.1", PORT)
assert connect("who", 80, S.AF_INET6) == ("::ffff:127.0.0.1", PORT)
assert connect("who.internal", PORT) == errno.ECONNREFUSED
with S.socket() as fast:
    fast.sendto(b"GET / HTTP/1.0\\r\\n\\r\\n", S.MSG_FASTOPEN, ("who", 80))
    assert fast.getpeername() == ("127.0.0.1", PORT)
with S.socket() as fast:
    fast.sendmsg([b"GET / HTTP/1.0\\r\\n\\r\\n"], [], S.MSG_FASTOPEN, ("who", 80))
    assert fast.getpeername() == ("127.0.0.1", PORT)
import os
child = os.fork()
if child == 0:
    os._exit(0 if connect("who", 80) == ("127.0.0.1", PORT) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_names_are_answered_as_libc_answers(project):
    """Families, flags and services as getaddrinfo(3) has them; other names and numbers are as before; a port that has no entry is
    refused, even where somebody listens there."""
    project.write("filibuster.json", config([WHO], [asserting(NAMES.replace("PORT", "${port:who}"))]))
    run = project.filibuster("trace")
    assert run.exit_code == 0, run
    assert "of 'who.internal' is refused: no entry of 'hosts' has that port" in run.output + run.errors, run


def test_without_a_session_a_name_is_asked_as_it_is(project):
    project.write("filibuster.json", config([WHO], [asserting("pass")]))
    code = "import socket\ntry: print(socket.gethostbyname('who'))\nexcept socket.gaierror: print('unknown')"
    plain = subprocess.run([PYTHON, "-c", code], cwd=project.directory, stdout=subprocess.PIPE, check=True)
    with_library = {**os.environ, "LD_PRELOAD": str(PRELOAD)}
    assert subprocess.run([PYTHON, "-c", code], cwd=project.directory, env=with_library, stdout=subprocess.PIPE, check=True).stdout == plain.stdout


def test_names_are_shown_and_their_mistakes_have_a_place(project):
    services = [relay("back", hosts=["back.internal:8080", "back"]), relay("other", hosts=["other"])]
    project.write("filibuster.json", config(services, [probe(url("back"))]))
    checked = subprocess.run([FILIBUSTER, "config", "check"], cwd=project.directory, text=True, stdout=subprocess.PIPE)
    assert checked.returncode == 0 and "  back: started here, back=any, called back.internal:8080 back\n" in checked.stdout, checked
    services[1]["hosts"] = ["BACK"]
    project.write("filibuster.json", config(services, [probe(url("back"))]))
    run = project.filibuster("run")
    assert run.exit_code == 2 and re.search(r"filibuster.json:\d+:\d+: 'hosts': 'back' is a name of the services 'back' and 'other'", run.errors), run


def test_a_service_without_a_process_has_names(project):
    api = {"name": "api", "hosts": ["api.example.com"], "stubs": [{"path": "/rates", "answer": {"text": "7"}}]}
    project.write("filibuster.json", config([api], [{"name": "curl", "command": '[ "$(curl -sS http://api.example.com/rates)" = 7 ]'}], fault_test_calls=True,
                                             faults=[{"inject": ["refused", 503]}]))
    run = project.filibuster("run", "-j", "2")
    assert run.test["finished"] and run.executed == 3, run
    assert {fault["service"] for finding in run.test["findings"] for fault in finding["faults"]} == {"api"}, run


def test_a_service_that_somebody_else_starts_has_names(project, server):
    """The port that programs write is another one than the service has."""
    project.write("filibuster.json", config([{"name": "own", "ports": {"own": server}, "hosts": ["own:80"]}], [probe("http://own/")]))
    run = project.filibuster("trace")
    assert run.exit_code == 0 and list(calls(run).values()) == ["test -> own  GET"], run


class CalledByName(ByHand):
    """front calls back.invalid, which is no name but for a session."""

    def command(self, name, *arguments):
        return super().command(name, *(re.sub(r"127\.0\.0\.1:\d+", "back.invalid", argument) for argument in arguments))


def test_programs_that_were_started_by_hand_find_services_in_a_session(project):
    """They ask for the name while there is a session, before it and after it."""
    services = CalledByName(project.directory)
    try:
        with pytest.raises(urllib.error.HTTPError):
            services.get()
        made = services.configuration()
        made["services"][0]["hosts"] = ["back.invalid:80"]
        project.write("filibuster.json", made)
        run = project.filibuster("run")
        assert run.exit_code == 0 and run.executed > 3 and {case["name"].split()[0] for case in run.test["cases"] if case["name"]} >= {"front"}, run
        with pytest.raises(urllib.error.HTTPError):
            services.get()
    finally:
        services.end()


@pytest.fixture
def server():
    """The port of a server that is no part of any session."""
    import http.server
    import threading

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made.server_port
    made.shutdown()
    thread.join()
    made.server_close()


JAVA = """
import java.net.URI;
import java.net.http.*;
public class Ask {
    public static void main(String[] arguments) throws Exception {
        var plain = new java.net.URL("http://who.internal:8080/").openStream();
        System.out.print(new String(plain.readAllBytes()));
        var request = HttpRequest.newBuilder(URI.create("http://who/")).build();
        System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
"""
NODE = """
const http = require("http");
const read = stream => new Promise(done => { let all = ""; stream.on("data", d => all += d).on("end", () => done(all)); });
http.get("http://who.internal:8080/", async answer => {
    process.stdout.write(await read(answer) + await (await fetch("http://who/")).text());
});
"""
# runtime: the file with its program, how it is started. Each asks who.internal:8080, and then who.
RUNTIMES = {
    "python": ("ask.py", f"{PYTHON} ask.py", "import urllib.request as u\nfor a in 'http://who.internal:8080/', 'http://who/': print(u.urlopen(a).read().decode(), end='')"),
    "asyncio": ("ask.py", f"{PYTHON} ask.py", "import asyncio\nasync def ask(host, port):\n    r, w = await asyncio.open_connection(host, port)\n    w.write(b'GET / HTTP/1.0\\r\\n\\r\\n')\n    print((await r.read()).decode()[-6:], end='')\n    w.close()\nasync def all():\n    await ask('who.internal', 8080)\n    await ask('who', 80)\nasyncio.run(all())"),
    "node": ("ask.js", "node ask.js", NODE),
    "java": ("Ask.java", "java Ask.java", JAVA),
    "ruby": ("ask.rb", "ruby ask.rb", "require 'net/http'\nprint Net::HTTP.get(URI('http://who.internal:8080/')), Net::HTTP.get(URI('http://who/'))"),
    "php": ("ask.php", "php ask.php", "<?php echo file_get_contents('http://who.internal:8080/'), file_get_contents('http://who/');"),
    "curl": ("", "curl -sS http://who.internal:8080/ http://who/", ""),
    "perl": ("ask.pl", "perl ask.pl", "use IO::Socket::INET; for (['who.internal', 8080], ['who', 80]) { my $s = IO::Socket::INET->new(PeerAddr => $_->[0], PeerPort => $_->[1]) or die $@; print $s \"GET / HTTP/1.0\\r\\n\\r\\n\"; local $/; print substr(<$s>, -6); }"),
}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_runtimes_find_services_by_name(project, runtime):
    file, command, text = RUNTIMES[runtime]
    if not shutil.which(command.split()[0]):
        pytest.skip(f"NOT CHECKED: {command.split()[0]} is not installed")
    if file:
        (project.directory / file).write_text(text)
    project.write("filibuster.json", config([WHO], [{"name": runtime, "command": f'[ "$({command})" = "hello!hello!" ]'}]))
    run = project.filibuster("trace")
    assert run.exit_code == 0 and list(calls(run).values()) == ["test -> who  GET"] * 2, run


def named(application, names):
    """The application with names in the place of its addresses: {service: the name and port under which it is called}."""
    def by_name(env):
        return {key: re.sub(r"127\.0\.0\.1:\$\{port:([^}]*)\}", lambda found: names[found[1]], value) for key, value in env.items()}
    services = [{**service, "hosts": [names[service["name"]]], **({"env": by_name(service["env"])} if "env" in service else {})}
                for service in application["services"]]
    return {**application, "services": services, "tests": [{**test, "env": by_name(test["env"])} for test in application["tests"]]}


def test_grpc_clients_find_services_by_name(project):
    """gRPC's C core asks libc, as its variable says: clients in C++ and in Python, and redis-py."""
    real = in_place(CORPUS / "purchase" / "filibuster.json")
    project.write("filibuster.json", real)
    before = project.filibuster("trace")
    names = {service["name"]: f"{service['name']}s.shop:50051" for service in real["services"]}
    project.write("filibuster.json", named(real, names))
    after = project.filibuster("trace")
    assert before.exit_code == after.exit_code == 0, (before, after)
    assert len(calls(before)) > 5 and calls(before) == calls(after), (before, after)


def test_a_resolver_that_the_user_has_chosen_stays(project):
    test = {"name": "says", "command": 'echo "$GRPC_DNS_RESOLVER" > said', "env": {"GRPC_DNS_RESOLVER": "ares"}}
    project.write("filibuster.json", config([relay("back", hosts=["back"])], [test]))
    project.filibuster("trace")
    assert (project.directory / "said").read_text() == "ares\n"


def test_a_test_that_asks_for_names_is_forked(project):
    """Executions are forked as where a test calls addresses, and each of them finds its services."""
    services = [relay("back", hosts=["back"]), relay("front", "http://back/", hosts=["front.shop"])]
    project.write("filibuster.json", config(services, [probe("http://front.shop/", expected=ANY, python=True)], snapshots=True))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed > 3 and run.test["start"]["way"] == "reset", run
