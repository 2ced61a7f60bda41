#!/usr/bin/python3
"""What attaching costs (eBPF and a proxy; docs/attach.md), in interleaved rounds with a control. Nothing is preloaded but the proxies.

    requests    300 bytes one after the other on a kept connection, from a static client to a C++ server: with the server watched, with
                the client attached, and through filibuster-proxy alone, without eBPF and without the library
    insertion   the kernel adds `Connection: close` to the next answer of a connection that was open before
    watched     wrk against a server that `trace --follow` watches, in C++ and in Python
    beside      wrk against a server that is not attached, while another one is
    start       from the start of `trace --follow` until all is attached: one process, one service of 50, 50 services of one
The sessions are those of `filibuster trace --follow`, which need root or the capabilities that `filibuster doctor` names; without them
nothing is measured, and a line says so.
Options: the figures to measure (all), --rounds N (at least 30 for a verdict), --seconds S of each visit of wrk, --build DIR, --json FILE.
Exit code 1 if a bound is exceeded by the nearer end of its interval.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import load_bench
import stats

ADDED_BY_REDIRECT_US = 40
ADDED_BY_INSERTION_US = 20
WATCHED_RATE = 0.80
START_OF_50_S = 2
REQUESTS, CONNECTIONS, PROCESSES = 2000, 100, 50
CONTROL = "control (plain against itself)"


class Told:
    """A client that answers each line that it is told with a figure."""

    def __init__(self, build):
        self.process = subprocess.Popen([build / "tests/attach_client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        if not said:
            sys.exit(f"attach_client {words}: ended with {self.process.wait()}")
        return said

    def median(self, *words):
        return float(self(*words))


class Session:
    """`trace --follow` with these services attached. It has begun with its event `until`: all are attached ("session"), or a second
    has passed since, and the session is at rest ("calls", the first table)."""

    def __init__(self, build, attached, until="calls"):
        options = [word for name, what in attached.items() for word in ("--attach", f"{name}={what}")]
        self.root = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([build / "bin/filibuster", "trace", "--follow", "--json", "--root", self.root.name, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            if json.loads(line).get("type") == until:
                break
        else:
            sys.exit(f"trace --follow: {''.join(self.lines)}{self.process.stderr.read()}")
        self.seen = 0  # calls, by its last table
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            if event.get("type") == "calls":
                self.seen = sum(row["count"] for row in event["calls"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=120)
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        self.root.cleanup()


@contextlib.contextmanager
def ended(*processes):
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Bench:
    def __init__(self, given):
        self.build, self.rounds, self.seconds = load_bench.REPOSITORY / given.build, given.rounds, given.seconds
        self.report, self.missed = {}, []

    def server(self, language="C++"):
        if language == "C++":
            return load_bench.printing([self.build / "tests/programs/http_echo_server", "epoll", "0"], None)
        port = load_bench.free_port()
        command = ["/usr/bin/python3", load_bench.REPOSITORY / "tests/integration/apps/kept.py", str(port)]
        # It tells of each connection that wrk resets at the end of a visit.
        return load_bench.started(subprocess.Popen(command, stderr=subprocess.DEVNULL), port, "kept.py")

    def compare(self, figure, unit, times, names, base="plain", control="control"):
        """Prints how each of `names` compares with the base, and how the control does. Returns {name: comparison}."""
        against = stats.compare(CONTROL, times[base], times[control])
        print(f"{figure}: plain {against.base:.2f} {unit}, {self.rounds} rounds")
        print("  " + against.text(unit))
        found = {name: stats.compare(name, times[base], times[name]) for name in names}
        for each in found.values():
            print("  " + each.text(unit, against), flush=True)
        self.report[figure] = {"control": vars(against), **{name: vars(each) for name, each in found.items()}}
        return found, against

    def miss(self, exceeded, text):
        if exceeded:
            self.missed.append(text)

    def requests(self):
        names = ["plain", "control", "its server attached", "its client attached", "through the proxy alone"]
        servers = {name: self.server() for name in ("plain", "attached")}
        clients = {name: Told(self.build) for name in ("plain", "attached")}
        plain, steered = servers["plain"][1], servers["attached"][1]
        alone = subprocess.Popen([self.build / "lib/filibuster/filibuster-proxy", "--fixed", f"127.0.0.1:{plain}", "--inner",
                                  f"127.0.0.1:{plain}"], stdout=subprocess.PIPE, text=True)
        through = int(re.search(r"inbound=127.0.0.1:(\d+)", alone.stdout.readline())[1])
        ways = {"its server attached": ("plain", steered), "its client attached": ("attached", plain),
                "through the proxy alone": ("plain", through)}

        def visit(name):
            client, port = ways.get(name, ("plain", plain))
            return clients[client].median("requests", port, REQUESTS)
        with ended(alone, *(process for process, _ in servers.values()), *(client.process for client in clients.values())):
            with Session(self.build, {"server": f"port:{steered}", "client": f"pid:{clients['attached'].pid}"}) as session:
                times = stats.interleaved(names, self.rounds, visit)
        if session.seen < 2 * self.rounds * REQUESTS:
            sys.exit(f"of {2 * self.rounds * REQUESTS} requests the session saw {session.seen} only")
        found, _ = self.compare("requests", "us/request", times, names[2:])
        for name in names[2:4]:
            self.miss(found[name].added_low > ADDED_BY_REDIRECT_US,
                      f"a request, {name}: {found[name].added:.0f} us added, bound {ADDED_BY_REDIRECT_US} us")

    def insertion(self):
        server, port = self.server()
        client = Told(self.build)

        def visit(name):
            client("open", port, CONNECTIONS)
            if name != "inserted":
                return client.median("last", 0)
            with Session(self.build, {"server": f"port:{port}"}):
                return client.median("last", 1)
        with ended(server, client.process):
            times = stats.interleaved(["plain", "control", "inserted"], self.rounds, visit)
        found, _ = self.compare("insertion", "us/request", times, ["inserted"])
        self.miss(found["inserted"].added_low > ADDED_BY_INSERTION_US,
                  f"insertion in the kernel: {found['inserted'].added:.0f} us added, bound {ADDED_BY_INSERTION_US} us")

    def rate(self, port):
        return load_bench.Wrk().visit(port, self.seconds, 16)

    def watched(self):
        for language in ("C++", "Python"):
            self.watched_in(language)

    def watched_in(self, language):
        names = ["plain", "control", "watched"]
        servers = {name: self.server(language) for name in names}
        with ended(*(process for process, _ in servers.values())):
            with Session(self.build, {"watched": f"port:{servers['watched'][1]}"}) as session:
                rates = stats.interleaved(names, self.rounds, lambda name: self.rate(servers[name][1]))
        found, _ = self.compare(f"watched, {language}", "requests/s", rates, ["watched"])
        print(f"  the session saw {session.seen / self.seconds / sum(rates['watched']):.3f} of the requests", flush=True)
        self.miss(found["watched"].high < WATCHED_RATE,
                  f"a server in {language} that is watched: {found['watched'].ratio:.2f} of its plain rate, bound {WATCHED_RATE:.2f}")

    def beside(self):
        server, port = self.server()
        other, attached = self.server()

        def visit(name):
            if name != "another attached":
                return self.rate(port)
            with Session(self.build, {"other": f"port:{attached}"}):
                return self.rate(port)
        with ended(server, other):
            rates = stats.interleaved(["plain", "control", "another attached"], self.rounds, visit)
        found, control = self.compare("beside", "requests/s", rates, ["another attached"])
        lost = found["another attached"]
        self.miss(lost.high < 1 and not lost.overlaps(control),
                  f"a server beside an attached one: {lost.ratio:.3f} of its plain rate, bound: no loss that the control can resolve")

    def start(self):
        names = ["one process", "one process again", "a service of 50 processes", "50 services of one process"]
        with subprocess.Popen(["/bin/sh", "-c", f"for n in $(seq {PROCESSES - 1}); do sleep infinity & done; echo started; wait"],
                              stdout=subprocess.PIPE, text=True) as parent:
            parent.stdout.readline()
            children = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
            servers = [self.server() for _ in range(PROCESSES)]
            whole = {f"s{number}": f"pid:{process.pid}" for number, (process, _) in enumerate(servers)}
            attached = {"one process": {"s0": whole["s0"]}, "one process again": {"s0": whole["s0"]},
                        "a service of 50 processes": {"s": f"pid:{parent.pid}"}, "50 services of one process": whole}

            def visit(name):
                begin = time.monotonic()
                with Session(self.build, attached[name], until="session"):
                    return time.monotonic() - begin
            try:
                with ended(*(process for process, _ in servers)):
                    times = stats.interleaved(names, self.rounds, visit)
            finally:
                for child in children:
                    os.kill(int(child), signal.SIGKILL)
        found, _ = self.compare("start", "s", times, names[2:], *names[:2])
        for name in names[2:]:
            low, high = stats.bootstrap(times[name])
            print(f"  {name}: {statistics.median(times[name]):.2f} s [{low:.2f}, {high:.2f}]")
            self.miss(low > START_OF_50_S, f"{name}: attached after {found[name].value:.1f} s, bound {START_OF_50_S} s")


FIGURES = ("requests", "insertion", "watched", "beside", "start")


def refused(build):
    """What the kernel refuses of what attaching needs, or ""."""
    loader = build / "lib/filibuster/filibuster-bpf"
    if not loader.exists():
        return f"{loader.name} was not built (make attach says what is missing)"
    rows = json.loads(subprocess.run([loader, "probe"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    needed = ("capabilities", "BTF", "cgroup2 mount", "ring buffer", "cgroup/connect", "cgroup/getpeername", "sockops", "sk_lookup",
              "tp_btf processes", "sk_msg", "iter/tcp")
    return "; ".join(f"{row['feature']}: {row['answer']}. {row['what_to_do']}" for row in rows
                     if row["feature"] in needed and not row["works"])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("figures", nargs="*", metavar="FIGURE")
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--seconds", type=int, default=1)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--json")
    given = options.parse_args()
    if unknown := set(given.figures) - set(FIGURES):
        options.error(f"no such figure: {', '.join(unknown)}")
    bench = Bench(given)
    if why := refused(bench.build):
        print(f"NOT MEASURED: what attaching costs: {why}")
        sys.exit(0)
    for figure in given.figures or FIGURES:
        getattr(bench, figure)()
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(bench.report, indent=1))
    for line in bench.missed:
        print("missed: " + line)
    sys.exit(1 if bench.missed else 0)


if __name__ == "__main__":
    main()
