"""What the tests of the example applications share."""
import json

from conftest import CORPUS

PUBLISHED_FAULTS = ["500", "502", "503", "504"]


def applications():
    """{name: configuration} of the example applications that the library alone explores, by a test of their own: not those that are
    attached by eBPF (attach/test_go.py), nor those whose tests are suites that know nothing of faults."""
    found = {}
    for path in sorted(CORPUS.glob("*/filibuster.json")):
        config = json.loads(path.read_text())
        attached = any(service.get("interpose") == "bpf" or "attach" in service for service in config["services"])
        if not attached and all("command" in test for test in config["tests"]):
            found[path.parent.name] = path
    return found


def in_place(path):
    """The configuration at `path`, changed so that it may stand in any folder."""
    config = json.loads(path.read_text())
    for row in [*config["services"], *config["tests"]]:
        if "stubs" not in row:
            row["directory"] = str(path.parent)
    if "descriptors" in config:
        config["descriptors"] = str(path.parent / config["descriptors"])
    return config


def fault_options(faults):
    return [option for fault in faults for option in ("--fault", fault)]
