"""Applications whose services run already, without the library, when a session comes to them."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from conftest import accepts, free_port, wait_until
from processes import alive, children


class Running:
    """The services of a configuration (its commands, with their ports) as plain processes."""

    def __init__(self, directory, configuration):
        self.configuration, self.directory = configuration, directory
        self.ports = {name: free_port() for service in configuration["services"] for name in self.port_names(service)}
        self.processes = {}

    @staticmethod
    def port_names(service):
        return list(service.get("ports", [service["name"]])) if "command" in service else []

    def with_ports(self, text):
        return re.sub(r"\$\{port:([^}]*)\}", lambda match: str(self.ports[match[1]]), text)

    def start(self, *names):
        for service in self.configuration["services"]:
            if "command" in service and service["name"] in (names or self.ports):
                self.processes[service["name"]] = self.start_one(service)
        return self

    def start_one(self, service):
        plain = {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER_")}
        command = self.with_ports(service["command"])
        variables = {key: self.with_ports(value) for key, value in service.get("env", {}).items()}
        log = (self.directory / f"{service['name']}.log").open("ab")
        process = subprocess.Popen(["/bin/sh", "-c", command], cwd=service.get("directory", self.directory),
                                   env={**plain, **variables}, stdout=log, stderr=log)
        log.close()
        wait_until(lambda: accepts(self.ports[service["name"]]), f"{service['name']} accepts")
        return process

    def row(self, name, by="port"):
        """How the configuration says that the service runs already."""
        return {"name": name, "attach": {by: self.processes[name].pid if by == "pid" else self.ports[name]}}

    def attached(self, *names, by="port"):
        """The configuration with these services (none: all that run) attached, and with the ports that all have."""
        config = json.loads(self.with_ports(json.dumps(self.configuration)))
        config["services"] = [self.row(service["name"], by) if service["name"] in (names or self.processes) else
                              {**service, "ports": {service["name"]: self.ports[service["name"]]}}
                              if service["name"] in self.ports else service for service in config["services"]]
        return config

    @property
    def unharmed(self):
        return all(process.poll() is None for process in self.processes.values())

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def run_already(tmp_path):
    """Starts the services of a configuration, without the library; ends them."""
    started = []

    def start(configuration, *names):
        started.append(Running(tmp_path, configuration))
        return started[-1].start(*names)
    yield start
    for running in started:
        running.end()


def held_by(pids, kind):
    """Ids of the programs, maps or links (`kind` as the kernel calls it) whose descriptors these processes hold."""
    return {int(line.split()[1]) for pid in pids for file in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*")
            for line in file.read_text().splitlines() if line.startswith(f"{kind}_id:")}


def loaded(kind):
    """Ids of those that the kernel has. No id comes twice while the machine runs."""
    rows = json.loads(subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True, check=True).stdout)
    return {row["id"] for row in rows}


def name_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


class Session:
    """The loader and the proxies of the running session of a project."""

    def __init__(self, project):
        self.pids = [pid for pid in children(project.daemon()["pid"])
                     if name_of(pid) in ("filibuster-bpf", "filibuster-proxy")]

    def of(self, name):
        return [pid for pid in self.pids if name_of(pid) == name]

    def is_gone(self):
        return not any(alive(pid) for pid in self.pids)
