"""What a running project tells: its processes, and the events of `filibuster run --json`."""
import json
import pathlib


def alive(pid):
    """Does the process run (a zombie does not)?"""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def owned(project):
    """{name: pid} of the processes that the daemon of the project started."""
    try:
        rows = json.loads((project.root / "processes.json").read_text())["processes"]
    except (OSError, ValueError):
        return {}
    return {row["name"]: row["pid"] for row in rows}


def events(process):
    for line in process.stdout:
        yield json.loads(line)


def executed_ids(lines):
    return [tuple(sorted(event["faults"])) for event in lines if event["type"] == "execution"]
