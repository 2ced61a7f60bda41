"""Every fault at clients whose connections go through filibuster-proxy, in a real session, without eBPF: the attached
client sees what a preloaded one would see, but that a refusal is a reset; the server received the request exactly when
the fault is one 'after effect'."""
import shutil

import pytest

import pairs
from conftest import PYTHON
from proxied import behind_proxy, out, own
from rpc_tree import observe
from small_apps import APPS, url
from test_faults import BODY, FAULTS, GIVEN, OBJECT, SERVED, assert_effects, counting, explore, statuses

# How a connection fails is seen by the library's exception. A refusal reaches an attached client as a reset.
CLIENTS = {
    "requests": ("reset ConnectionError", "timeout ReadTimeout"),
    "http.client": ("reset ConnectionResetError", "timeout TimeoutError"),
    "asyncio": ("reset ConnectionResetError", "timeout TimeoutError"),
}


def asked(project, client, **members):
    """What `client` printed under each fault, when the attached service front ran it for a request."""
    front = behind_proxy("front", "back", f"{PYTHON} {APPS}/asker.py {own('front')} {client}")
    _, seen = explore(project, [counting(), front], f"curl -sS {url('front')}", on={"service": "back"}, **members)
    return seen


def outputs(seen):
    return {fault: row["output"].strip().removesuffix(" exit 0").strip() for fault, row in seen.items()}


# What the proxy does is the same for each client.
@pairs.only("library", ["requests"])
@pytest.mark.parametrize("library", CLIENTS)
def test_libraries_of_python_see_each_fault_through_the_proxy(project, library):
    seen = asked(project, f"{PYTHON} {APPS}/caller.py {library} {out('front', '/x')}")
    reset, timeout = CLIENTS[library]
    assert outputs(seen) == {
        "": SERVED, "refused": reset, "reset": reset, "reset:after": reset, "timeout": timeout,
        "timeout:after": timeout, "status:429": GIVEN, **statuses(500, 502, 503),
        "status:503:after": "status 503, , Retry-After None"}
    assert_effects(seen)


# What the proxy does is the same for each client.
@pytest.mark.whole
@pytest.mark.skipif(not shutil.which("curl"), reason="NOT TESTED: curl not installed")
def test_curl_sees_each_fault_through_the_proxy(project):
    seen = asked(project, f"curl -sS --max-time 1 -w ' %{{http_code}}' {out('front', '/x')}")
    exits = {fault: int(row["output"].rsplit(" exit ", 1)[1]) for fault, row in seen.items()}
    resets = dict.fromkeys(["refused", "reset", "reset:after"], 56)
    silences = dict.fromkeys(["timeout", "timeout:after"], 28)
    assert exits == {**dict.fromkeys(seen, 0), **resets, **silences}
    assert outputs(seen)["status:429"] == f"{BODY} 429"
    assert_effects(seen)


# What the proxy does is the same for each client.
@pytest.mark.whole
@pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED: node not installed")
def test_fetch_of_node_sees_each_fault_through_the_proxy(project):
    script = ("fetch(process.argv[2], {signal: AbortSignal.timeout(1000)}).then("
              "async r => console.log('status ' + r.status + ' ' + await r.text()),"
              "e => console.log(e.name + ' ' + (e.cause && e.cause.code)))")
    seen = asked(project, f"node {project.write('ask.js', script)} {out('front', '/x')}")
    printed = outputs(seen)
    resets = {printed[fault] for fault in ("refused", "reset", "reset:after")}
    assert resets == {"TypeError ECONNRESET"}, printed
    assert {printed[fault] for fault in ("timeout", "timeout:after")} == {"TimeoutError undefined"}
    assert printed["status:503"].strip() == "status 503" and printed["status:429"] == f"status 429 {BODY}"
    assert_effects(seen)


def test_tls_passes_and_what_is_not_tested_of_it_is_listed(project, tls):
    """The proxy has no keys: all that a connection carries is one RPC (test_sealed.py has its faults)."""
    back = {"name": "back", "command": f"exec {PYTHON} {APPS}/relay.py ${{port:back}} --tls {tls}"}
    front = behind_proxy("front", "back", f"{PYTHON} {APPS}/asker.py {own('front')} curl -ksS https://127.0.0.1:${{port:front-out}}/")
    run = observe(project, [back, front], f"curl -sS {url('front')} | grep -q 'failed.: 0'", complete=False)
    assert [(rpc["service"], rpc["method"]) for rpc in run.test["reference"] if rpc["caller"] == "front"] == [("back", "TLS")]
    (row,) = [row for row in run.test["dependencies_not_tested"] if row["service"] == "front"]
    assert row["target_service"] == "back" and row["reason"].startswith("encrypted"), row
