"""What a running project tells: its processes, and the events of `filibuster run --json`."""
import contextlib
import json
import pathlib


def alive(pid):
    """Does the process run (a zombie does not)?"""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def children(pid):
    """Those that it has started and that have not been waited for. Nobody else's processes are looked at."""
    out = []
    for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            out += map(int, thread.read_text().split())
    return out


def at_work_in(directory):
    """The command lines of the processes whose working directory is in this folder: a test's own folder is the mark of its
    processes, whoever has started them."""
    out = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if (entry / "cwd").readlink().is_relative_to(directory):
                out.append((entry / "cmdline").read_text())
    return out


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
