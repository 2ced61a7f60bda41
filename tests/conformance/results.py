"""What the suites of others print, as {name of a test: outcome}."""
import re
import xml.etree.ElementTree


def of_junit(path):
    """JUnit XML, as CPython's own runner writes it."""
    found = {}
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        problems = {child.tag for child in case} & {"failure", "error", "skipped"}
        # A test may skip a part of itself and fail in another.
        found[case.get("name")] = next((tag for tag in ("error", "failure", "skipped") if tag in problems), "passed")
    return found


def of_tinytest(path):
    """libevent's regress: "http/basic: OK", "ssl/x: [forking] ... FAILED", "util/y: SKIPPED"."""
    found, name = {}, None
    for line in path.read_text(errors="replace").splitlines():
        begun = re.match(r"([\w+]+(?:/[\w+-]+)+): ", line)
        if begun:
            name = begun[1]
        if name is None:
            continue
        for word, outcome in (("OK", "passed"), ("SKIPPED", "skipped"), ("DISABLED", "skipped"), ("FAILED", "failure"), ("LOST", "failure")):
            if re.search(rf"\b{word}\b", line):
                # A failure is said again below.
                if found.get(name) != "failure":
                    found[name] = outcome
    return found
