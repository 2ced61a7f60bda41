"""What the tests of the example applications share."""
import json

PUBLISHED_FAULTS = ["500", "502", "503", "504"]


def in_place(path):
    """The configuration at `path`, changed so that it may stand in any folder."""
    config = json.loads(path.read_text())
    for row in [*config["services"], *config["tests"]]:
        row["directory"] = str(path.parent)
    if "descriptors" in config:
        config["descriptors"] = str(path.parent / config["descriptors"])
    return config


def fault_options(faults):
    return [option for fault in faults for option in ("--fault", fault)]
