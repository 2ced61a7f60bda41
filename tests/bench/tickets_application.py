"""corpus/tickets, asked in three ways: alone, in a session, and while it is recorded. What its requests take is what its client says."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TICKETS = REPOSITORY / "corpus/tickets"
WAYS = ("plain", "session", "record")
PYTHON = "/usr/bin/python3"


def configuration(language, build, traffic, **environment):
    """`traffic`: the arguments of traffic.py. `environment`: of the services."""
    config = json.loads((TICKETS / f"{language}.json").read_text())
    for row in [*config["services"], *config["tests"]]:
        row["directory"] = str(TICKETS)
        row["command"] = row["command"].replace("../../build", str(build))
        row["env"] = {**row.get("env", {}), **environment}
    config["tests"][0]["command"] += " " + " ".join(map(str, traffic))
    return config


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Application:
    """In a folder of its own, which must be empty."""

    def __init__(self, folder, build, language, traffic, **environment):
        self.folder, self.build = pathlib.Path(folder), pathlib.Path(build)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config = configuration(language, self.build, traffic, **environment)

    def filibuster(self, verb, *arguments, timeout=7200, **environment):
        (self.folder / "filibuster.json").write_text(json.dumps(self.config))
        return subprocess.run([self.build / "bin/filibuster", verb, "-c", "filibuster.json", *map(str, arguments)], cwd=self.folder,
                              env={**os.environ, **environment}, capture_output=True, text=True, timeout=timeout)

    def latencies(self, way):
        """Of the requests, in microseconds, without the first tenth."""
        file = self.folder / "latencies.json"
        file.unlink(missing_ok=True)
        self.config["tests"][0]["env"] |= {"LATENCIES": str(file)}
        if way == "plain":
            run = self.alone()
        else:
            shutil.rmtree(self.folder / "cases", ignore_errors=True)
            # A client that is not followed is the same in each way.
            command = self.config["tests"][0]["command"]
            self.config["tests"][0]["command"] = command if "LD_PRELOAD" in command else command.replace("exec ", "exec env -u LD_PRELOAD ")
            run = self.filibuster("trace", "-q") if way == "session" else \
                self.filibuster("record", "--service", "tickets", "--out", "cases", "--no-admission", "-q")
        if not file.exists():
            sys.exit(f"{way}: {run.stdout}{run.stderr}")
        found = json.loads(file.read_text())
        return found[len(found) // 10:]

    def alone(self):
        """The client beside the services, without the tool."""
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two, \
                socket.create_server(("127.0.0.1", 0)) as three:
            ports = {row["name"]: server.getsockname()[1] for row, server in zip(self.config["services"], (one, two, three), strict=True)}

        def start(row):
            def filled(text):
                return re.sub(r"\$\{port:(\w+)\}", lambda found: str(ports[found[1]]), text)

            environment = {name: filled(value) for name, value in row.get("env", {}).items()}
            return subprocess.Popen(["sh", "-c", filled(row["command"])], cwd=row["directory"], env={**os.environ, **environment},
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        services = [start(row) for row in self.config["services"]]
        try:
            until = time.monotonic() + 30
            while not all(accepts(port) for port in ports.values()):
                if time.monotonic() > until:
                    sys.exit("the services of corpus/tickets do not start")
                time.sleep(0.01)
            client = start(self.config["tests"][0])
            output, _ = client.communicate(timeout=3600)
            return subprocess.CompletedProcess([], client.returncode, output, "")
        finally:
            for service in services:
                service.send_signal(signal.SIGTERM)
            for service in services:
                service.communicate(timeout=30)
