#!/usr/bin/python3
"""What a request over TLS costs with the library in its client, beside what it costs through a sidecar that decrypts it, adds a header
field and encrypts it again: HAProxy, and mitmproxy with a script. One client, one kept connection, requests of 300 bytes one after the
other, to nginx. Interleaved rounds with a control. In a session client and server are followed; else no server is preloaded.

    sidecar_bench.py                      plain, plain again (control), preloaded without a session, the sidecars
    SIDECAR_BENCH="--rounds 30 --output FILE" filibuster trace -c sidecar_bench.json
                                          in a session without faults too
    sidecar_bench.py --serve PORT         the server of the session
Options: --rounds N (at least 30 for a verdict), --build DIR, --port PORT of the session's server, --output FILE. No bound belongs to
it. If a sidecar is not there, a line says so in its place.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import load_bench
import preload_bench
import stats

BURSTS, BURST, PAUSE_MS = 5, 50, 10

HAPROXY = """
global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend front
  bind 127.0.0.1:%(port)d ssl crt %(directory)s/pair.pem alpn http/1.1
  http-request set-header x-filibuster 1-00000000-0000-00000000-0000000000000000-00000000000000000000000000000000
  default_backend back
backend back
  http-reuse always
  server back 127.0.0.1:%(server)d ssl verify none alpn http/1.1
"""

MITMPROXY = """
def request(flow):
    flow.request.headers["x-filibuster"] = "1-00000000-0000-00000000-0000000000000000-00000000000000000000000000000000"
"""


def haproxy(directory, server, environment):
    port = load_bench.free_port()
    conf = pathlib.Path(directory) / "haproxy.cfg"
    conf.write_text(HAPROXY % {"directory": directory, "port": port, "server": server})
    return load_bench.started(subprocess.Popen(["haproxy", "-db", "-f", conf], env=environment, stderr=subprocess.DEVNULL), port, "haproxy")


def mitmproxy(directory, server, environment):
    port = load_bench.free_port()
    script = pathlib.Path(directory) / "add_field.py"
    script.write_text(MITMPROXY)
    process = subprocess.Popen(
        ["mitmdump", "-q", "--mode", f"reverse:https://127.0.0.1:{server}", "--listen-host", "127.0.0.1", "--listen-port", str(port), "--ssl-insecure",
         "--certs", f"*={directory}/pair.pem", "--set", f"confdir={directory}/mitmproxy", "--set", "http2=false", "-s", script],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return load_bench.started(process, port, "mitmdump")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--session", action="store_true")
    options.add_argument("--port", type=int)
    options.add_argument("--serve", type=int)
    options.add_argument("--output", help="write the text there: a session keeps what its test prints")
    given = options.parse_args()
    if given.output:
        sys.stdout = open(given.output, "w", encoding="utf-8")
    if given.session and "FILIBUSTER_DAEMON" not in os.environ:
        sys.exit("--session: run this as a test of a session (filibuster trace -c sidecar_bench.json)")
    build = preload_bench.REPOSITORY / given.build
    if given.serve:
        directory = build / "tests/sidecar"
        load_bench.certificates.make(directory / "tls")
        command = load_bench.nginx_command(directory, given.serve)
        os.execv(command[0], command)
    servers = []
    with tempfile.TemporaryDirectory() as directory:
        tls = load_bench.certificates.make(pathlib.Path(directory) / "tls")
        (pathlib.Path(directory) / "pair.pem").write_text((tls / "cert.pem").read_text() + (tls / "key.pem").read_text())
        clients = preload_bench.environments(build / "lib/libfilibuster.so", given.session, directory)
        clients.pop("session, no stack", None)
        plain = clients["plain"]
        try:
            servers.append(load_bench.nginx(plain, directory))
            ports = dict.fromkeys(clients, servers[0][1])
            if given.session:
                ports["session"] = given.port
            sidecars = {"HAProxy, plain client": ("haproxy", haproxy), "mitmproxy, plain client": ("mitmdump", mitmproxy)}
            for name, (program, start) in sidecars.items():
                if shutil.which(program) is None:
                    print(f"not measured: {program} is not there")
                    continue
                servers.append(start(directory, servers[0][1], plain))
                ports[name], clients[name] = servers[-1][1], plain

            def visit(name):
                return preload_bench.run(build / "tests/tls_bench", "client", clients[name], BURSTS, BURST, PAUSE_MS, ports[name])["us_per_request"]

            times = stats.interleaved(list(ports), given.rounds, visit)
        finally:
            for process, _ in servers:
                process.terminate()
                process.wait()
    control = stats.compare("control (plain against itself)", times["plain"], times["control"])
    print(f"a request over TLS on a kept connection: plain {control.base:.1f} us, {given.rounds} rounds")
    print("  " + control.text("us"))
    for name in list(times)[2:]:
        print("  " + stats.compare(name, times["plain"], times[name]).text("us", control))


if __name__ == "__main__":
    main()
