"""Node over TLS: where a call was made and for which request, and that what its helper adds reaches no stranger."""
import shutil
import subprocess

import pytest

import certificates
from rpc_tree import observe
from small_apps import relay, url
from strangers import fields_of_ours, stranger

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED: there is no node")

# Each request waits until the other one is there, so neither is the only one that is served when the calls are made.
FRONT = """
const waiting = [];
const ways = {
  fetch: path => fetch(process.argv[3] + path),  // site fetch
  https: path => new Promise((done, failed) => require('https').get(process.argv[3] + path, answer => { answer.resume(); answer.on('end', done); }).on('error', failed)),  // site https
};
require('http').createServer(async (request, response) => {
  if (request.url !== '/') {
    await new Promise(go => { waiting.push(go); if (waiting.length === 2) waiting.splice(0).forEach(each => each()); });
    await ways[process.argv[4]](request.url);
  }
  response.end();
}).listen(process.argv[2], '127.0.0.1');
"""
ASK = """
const urls = process.argv.slice(2);
Promise.all(urls.map(url => fetch(url))).then(answers => process.exit(answers.every(answer => answer.ok) ? 0 : 1));
"""
STRANGER = "fetch(process.argv[2] + '/fetch').then(() => require('https').get(process.argv[2] + '/https', answer => answer.resume()))"


def needs_openssl_inside():
    if subprocess.run(["node", "-p", "process.config.variables.node_shared_openssl"], capture_output=True, text=True).stdout.strip() != "false":
        pytest.skip("NOT TESTED: this node has its OpenSSL in a library of its own, where its calls over TLS have no call site")


@pytest.mark.parametrize("way", ["fetch", "https"])
def test_concurrent_calls_have_their_causes_and_call_sites(project, tls, way):
    needs_openssl_inside()
    front = project.write("front.js", FRONT)
    ask = project.write("ask.js", ASK)
    trust = certificates.trusted(tls)["NODE_EXTRA_CA_CERTS"]
    services = [relay("back", options=f"--tls {tls}"),
                {"name": "front", "command": f"exec env NODE_EXTRA_CA_CERTS={trust} node {front} ${{port:front}} https://localhost:${{port:back}} {way}"}]
    run = observe(project, services, f"exec node {ask} {url('front', '')}/1 {url('front', '')}/2")
    rpcs = {rpc["index"]: rpc for rpc in run.test["reference"]}
    inner = [rpc for rpc in rpcs.values() if rpc["caller"] == "front"]
    assert sorted(rpc["path"] for rpc in inner) == ["/1", "/2"], run
    line = next(number for number, text in enumerate(FRONT.splitlines(), 1) if text.endswith(f"// site {way}"))
    for rpc in inner:
        assert rpc["cause"] == "task" and rpcs[rpc["parent"]]["path"] == rpc["path"], inner
        assert f"front.js:{line} " in rpc["stack"][0], inner


@pytest.mark.parametrize("declared", [True, False])
def test_no_stranger_gets_our_field(project, tls, declared):
    program = project.write("stranger.js", STRANGER)
    trust = certificates.trusted(tls)["NODE_EXTRA_CA_CERTS"]
    with stranger(tls) as (port, heads):
        options = ["--third-party", f"stranger=127.0.0.1:{port}"] if declared else []
        run = project.filibuster("trace", *options, "--", "env", f"NODE_EXTRA_CA_CERTS={trust}", "node", str(program), f"https://localhost:{port}")
    assert "GET /fetch" in run.output and "GET /https" in run.output and len(heads) == 2, run
    assert fields_of_ours(heads) == [], heads
