#!/usr/bin/python3
"""A server under load: plain, plain again (control), preloaded without a session.

    load_bench.py wrk       HTTP/1.1: the C++ keep-alive server
    load_bench.py h2load    HTTP/2: nghttpd
    load_bench.py nginx     HTTP/1.1 over TLS, by wrk: nginx
    load_bench.py httplib   HTTP/1.1 over TLS, by wrk: a C++ server of cpp-httplib

Each variant has its own server for the whole run; the load visits them in interleaved rounds.
Options: --rounds N (at least 30 for a verdict), --seconds S of each visit, --connections N,
--build DIR, --json FILE. Exit code 1 if the preloaded server loses what the control can resolve.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/integration"))
import certificates  # noqa: E402


def environment(preload, nowhere):
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith("FILIBUSTER_") and k != "LD_PRELOAD"}
    return clean if preload is None else clean | {
        "LD_PRELOAD": str(preload), "FILIBUSTER_DAEMON": f"unix:{nowhere}/agent.sock"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(process, port, name):
    """Waits until the server accepts connections; returns (process, port)."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, port
        except ConnectionRefusedError:
            if process.poll() is not None:
                sys.exit(f"{name} did not start")
            time.sleep(0.01)


def printing(command, environment):
    """A server that prints its port; returns (process, port)."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    found = re.search(r"listening on (\d+)", process.stdout.readline())
    if found is None:
        sys.exit("the server did not start")
    return process, int(found.group(1))


class Wrk:
    scheme = "http"

    def start(self, build, environment, _):
        """A server on a port of its own; returns (process, port)."""
        return printing([build / "tests/programs/http_echo_server", "epoll", "0"], environment)

    def visit(self, port, seconds, connections):
        """Requests per second."""
        text = output(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"{self.scheme}://127.0.0.1:{port}/"], seconds)
        found = re.search(r"Requests/sec:\s+([\d.]+)", text)
        if found is None or "Socket errors" in text or "Non-2xx" in text:
            sys.exit(f"wrk: {text}")
        return float(found.group(1))


NGINX = """
daemon off; master_process off; pid %(directory)s/nginx-%(port)d.pid; error_log stderr crit;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path %(directory)s; proxy_temp_path %(directory)s; fastcgi_temp_path %(directory)s;
  uwsgi_temp_path %(directory)s; scgi_temp_path %(directory)s; keepalive_requests 1000000000;
  ssl_certificate %(directory)s/tls/cert.pem; ssl_certificate_key %(directory)s/tls/key.pem;
  server { listen 127.0.0.1:%(port)d ssl; location / { return 200 "%(body)s"; } }
}
"""


def nginx_command(directory, port):
    """Its configuration is written into the directory, where the folder `tls` has the certificate."""
    conf = pathlib.Path(directory) / f"nginx-{port}.conf"
    conf.write_text(NGINX % {"directory": directory, "port": port, "body": "b" * 100})
    return [shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") or sys.exit("no nginx"), "-p", str(directory), "-c", str(conf)]


def nginx(environment, directory):
    port = free_port()
    return started(subprocess.Popen(nginx_command(directory, port), env=environment), port, "nginx")


class Nginx(Wrk):
    scheme = "https"

    def start(self, build, environment, directory):
        return nginx(environment, directory)


class Httplib(Wrk):
    scheme = "https"

    def start(self, build, environment, directory):
        return printing([build / "tests/tls_server", f"{directory}/tls/cert.pem", f"{directory}/tls/key.pem"], environment)


class H2load:
    def start(self, build, environment, _):
        port = free_port()
        process = subprocess.Popen(["nghttpd", "--no-tls", "--address=127.0.0.1", f"--htdocs={pathlib.Path(__file__).parent}",
                                    str(port)], env=environment, stdout=subprocess.DEVNULL)
        return started(process, port, "nghttpd")

    def visit(self, port, seconds, connections):
        text = output(["h2load", f"-c{connections}", "-m32", f"--duration={seconds}", f"http://127.0.0.1:{port}/stats.py"], seconds)
        found = re.search(r"finished in [\d.]+s, ([\d.]+) req/s", text)
        if found is None or not re.search(r" 0 failed, 0 errored", text):
            sys.exit(f"h2load: {text}")
        return float(found.group(1))


TOOLS = {"wrk": Wrk, "h2load": H2load, "nginx": Nginx, "httplib": Httplib}


def output(command, seconds):
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60).stdout


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("tool", choices=TOOLS)
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--seconds", type=int, default=1)
    options.add_argument("--connections", type=int, default=16)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--json")
    given = options.parse_args()
    build = REPOSITORY / given.build
    tool = TOOLS[given.tool]()
    preloads = {"plain": None, "control": None, "no session": build / "lib/libfilibuster.so"}
    servers = {}
    with tempfile.TemporaryDirectory() as nowhere:
        certificates.make(pathlib.Path(nowhere) / "tls")
        try:
            for name, preload in preloads.items():
                servers[name] = tool.start(build, environment(preload, nowhere), nowhere)
            rates = stats.interleaved(list(preloads), given.rounds, lambda name: tool.visit(
                servers[name][1], given.seconds, given.connections))
        finally:
            for process, _ in servers.values():
                process.terminate()
                process.wait()
    control = stats.compare("control (plain against itself)", rates["plain"], rates["control"])
    found = stats.compare("preloaded, no session", rates["plain"], rates["no session"])
    print(f"{given.tool}, {given.connections} connections: plain {control.base:.0f} requests/s, "
          f"{given.rounds} rounds of {given.seconds} s")
    print("  " + control.text("requests/s"))
    print("  " + found.text("requests/s", control))
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(
            {"control": vars(control), "no session": vars(found)}, indent=1))
    sys.exit(1 if found.high < 1 and not found.overlaps(control) else 0)


if __name__ == "__main__":
    main()
