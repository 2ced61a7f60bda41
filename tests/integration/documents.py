"""Every document that a test makes the tool write is held to its published schema (docs/schema)."""
import copy
import json
import pathlib
import xml.etree.ElementTree as xml

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema"


def strict(schema):
    """The schema for what this program writes: every member is there, and no other. (Readers take what older files do not
    have, and what later ones have besides.)"""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: strict(value) for key, value in schema.items()}
    if out.get("type") == "object" and "properties" in out and "allOf" not in out:
        out.setdefault("additionalProperties", False)
        out["required"] = list(out["properties"])
    return out


def load(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return schema


PUBLISHED = {name: jsonschema.Draft7Validator(load(name)) for name in ("report", "counterexample", "events", "baseline")}
WRITTEN = {name: jsonschema.Draft7Validator(strict(copy.deepcopy(published.schema))) for name, published in PUBLISHED.items()}


def check(kind, document):
    for error in WRITTEN[kind].iter_errors(document):
        place = "/".join(map(str, error.absolute_path))
        raise AssertionError(f"{kind} at {place}: {error.message[:500]}")


class Checked:
    """Looks at each file of a root once, unless it is written anew."""

    def __init__(self):
        self.seen = {}

    def is_new(self, path):
        try:
            status = path.stat()
        except OSError:
            return False
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        known, self.seen[path] = self.seen.get(path), stamp
        return known != stamp and path.is_file()

    def root(self, root):
        for kind, paths in (("report", [root / "report.json"]),
                            ("counterexample", [*root.glob("counterexamples/[0-9]*.json"), *root.glob("lint/[0-9]*.json")])):
            for path in paths:
                if self.is_new(path):
                    check(kind, json.loads(path.read_text()))
        if self.is_new(root / "junit.xml"):
            junit((root / "junit.xml").read_text())
        if self.is_new(root / "report.sarif"):
            sarif((root / "report.sarif").read_text())


def events(output):
    """The events of `--json`, each held to its schema."""
    out = [json.loads(line) for line in output.splitlines()]
    for event in out:
        check("events", event)
    return out


def junit(text):
    """The root of the document. Servers need counts that are right, and know a case by its class and name."""
    root = xml.fromstring(text)
    assert root.tag == "testsuites"
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in root:
        cases = suite.findall("testcase")
        own = {"tests": len(cases), "failures": len(suite.findall("testcase/failure")),
               "errors": len(suite.findall("testcase/error")), "skipped": len(suite.findall("testcase/skipped"))}
        assert own == {name: int(suite.get(name)) for name in own}
        names = [(case.get("classname"), case.get("name")) for case in cases]
        assert len(set(names)) == len(names), "two cases have one name"
        assert all(float(case.get("time")) >= 0 for case in cases)
        for name, number in own.items():
            counts[name] += number
    assert counts == {name: int(root.get(name)) for name in counts}
    return root


def sarif(text):
    """The only run of the document, held to the parts of the standard that it uses."""
    document = json.loads(text)
    assert document["version"] == "2.1.0" and "2.1.0" in document["$schema"]
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    bases = run.get("originalUriBaseIds", {})
    assert all(base["uri"].startswith("file:///") and base["uri"].endswith("/") for base in bases.values())

    def place(location):
        assert set(location) <= {"id", "message", "physicalLocation", "logicalLocations"}
        physical = location.get("physicalLocation")
        if physical:
            artifact = physical["artifactLocation"]
            assert set(physical) == {"artifactLocation", "region"} and physical["region"]["startLine"] >= 1
            assert set(artifact) <= {"uri", "uriBaseId"} and artifact.get("uriBaseId", "SRCROOT") in (bases or {"SRCROOT"})
            assert not set(artifact["uri"]) & set(' "<>\\^`{|}')

    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and result["message"]["text"]
        assert result["level"] in ("error", "warning", "note")
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            place(location)
        for stack in result.get("stacks", ()):
            for frame in stack["frames"]:
                place(frame["location"])
        for flow in result.get("codeFlows", ()):
            for thread in flow["threadFlows"]:
                assert thread["locations"]
                for step in thread["locations"]:
                    place(step["location"])
        for suppression in result.get("suppressions", ()):
            assert suppression["kind"] == "external" and suppression["status"] == "accepted"
    (invocation,) = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    return run
