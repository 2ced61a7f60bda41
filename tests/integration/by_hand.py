"""An application whose services nobody but the test starts: front -> back, under the preload, in a directory, with
environment variables."""
import json
import os
import pathlib
import subprocess
import urllib.request

from conftest import PRELOAD, PYTHON, free_port, wait_until
from small_apps import APPS, config, probe, url


def listens(port):
    """Without a connection: where the service comes to it late, it meets a session that has begun meanwhile. The port is
    the caller's own (free_port), and so is who listens there."""
    sockets = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(words[3] == "0A" and words[1].endswith(f":{port:04X}") for words in sockets)


class ByHand:
    def __init__(self, directory, **environment):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.environment = directory, environment
        self.ports = {"back": free_port(), "front": free_port()}
        self.processes = []
        self.restart()

    def command(self, name, *arguments):
        return [PYTHON, APPS / "relay.py", str(self.ports[name]), *arguments]

    def restart(self):
        self.end()
        back = f"http://127.0.0.1:{self.ports['back']}/"
        self.processes = [self.start("back"), self.start("front", "--call", back)]
        for port in self.ports.values():
            wait_until(lambda: listens(port), "the service listens")

    def start(self, name, *arguments):
        plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
        return subprocess.Popen(
            self.command(name, *arguments), cwd=self.directory,
            env={**plain, "LD_PRELOAD": str(PRELOAD), "FILIBUSTER_SERVICE": name, "PORT_BACK": str(self.ports["back"]),
                 **self.environment})

    def get(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['front']}/", timeout=30) as response:
            return json.load(response)

    @property
    def joined(self):
        """Do they take part in a session? (A lane's memory and a ring are mapped then.)"""
        maps = [pathlib.Path(f"/proc/{process.pid}/maps").read_text() for process in self.processes]
        return ["/memfd:filibuster-ring" in text for text in maps]

    def configuration(self, before=""):
        """They, and a test that calls front after `before`."""
        test = probe(url("front"), expected="200,503")
        test["command"] = before + test["command"]
        return config([{"name": name, "ports": {name: port}} for name, port in self.ports.items()], [test])

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
