"""A small service with two dependencies, and what `filibuster principled` tells of it under statements."""
import json

import pytest

from conftest import PYTHON, TESTS
from small_apps import url

# Asks for the user, which it needs, and reserves, which it does not.
SHOP = """
def answer(call):
    if call("users", "GET", "/users/7")[0] != 200:
        return 503, "no user"
    return 200, "bought" if call("items", "POST", "/reserve", {"user": 7})[0] == 200 else "bought later"
"""
# The same, and needs nothing.
CALM = """
def answer(call):
    call("users", "GET", "/users/7")
    call("items", "POST", "/reserve", {"user": 7})
    return 200, "bought"
"""
# Asks each of `kinds`; says which of them failed.
ASKS = """
def answer(call):
    failed = [kind for kind in "abc"[:{count}] if call("items", "POST", "/reserve", {{"kind": kind}})[0] != 200]
    return {answer}
"""
USERS = [{"method": "GET", "path": "/users/7", "answer": {"json": {"name": "Ada"}}}]
ITEMS = [{"method": "POST", "path": "/reserve", "answer": {"text": "yes"}}]
USER, ITEM = "GET /users/7", "POST /reserve"
COUNTS = [{"on": USER, "times": 1}, {"on": ITEM, "times": 1}]
HARD = [{"on": USER, "throws": 503, "message": "no user"}]
ON_503 = [{"on_exception": 503, "side_effecting": [{"on": ITEM, "times": 0}]}]
SOFT = [{"on": ITEM, "assert": "exec grep -qx 'bought later' answer"}]
FREE = [{"on": USER, "no_impact": True}, {"on": ITEM, "no_impact": True}]


def kind_of(letter):
    return {"method": "POST", "path": "/reserve", "fields": {"/kind": letter}}


def said(text):
    return f"exec grep -qx '{text}' answer"


class Told:
    """What one run of `filibuster principled` has said."""

    def __init__(self, run):
        self.run, self.exit_code = run, run.exit_code
        self.document = json.loads((run.root / "principled.json").read_text())
        (self.test,) = self.document["tests"]
        self.executions = [execution for execution in self.test["executions"] if not execution["ahead"]]
        self.diagnostics = [execution["diagnostic"] for execution in self.executions if execution["diagnostic"]]
        self.diagnostics += self.test["diagnostics"] + self.document["diagnostics"]

    def __repr__(self):
        return repr(self.run)

    @property
    def kinds(self):
        return [diagnostic["kind"] for diagnostic in self.diagnostics]

    @property
    def only(self):
        (diagnostic,) = self.diagnostics
        return diagnostic

    @property
    def remedies(self):
        return [remedy["snippet"] for remedy in self.only["remedies"]]


@pytest.fixture
def principled(project):
    """principled(SOURCE, failure=[...], ...) runs the service against stubs, and returns what was told."""

    def go(source=SHOP, *, users=USERS, items=ITEMS, more=(), faults=(503,), options=(), members=None, env=None, shop=None, **blocks):
        project.write("shop.py", source)
        services = [{"name": "users", "stubs": users}, {"name": "items", "stubs": items}, *more]
        ports = {f"PORT_{service['name'].upper()}": f"${{port:{service['name']}}}" for service in services}
        services.append({"name": "shop", "command": f"exec {PYTHON} -SE {TESTS}/principled/service.py ${{port:shop}} shop.py",
                         "env": {**ports, **(env or {})}, **(shop or {})})
        test = {"execute": f"exec curl -sS -o answer {url('shop')}", "assert_test": said("bought"), "assert_stubs": COUNTS, **blocks}
        project.write("filibuster.json", {"version": 1, "services": services, "default_faults": False,
                                          "faults": [{"on": {"caller": "shop"}, "inject": list(faults)}],
                                          "tests": [{"name": "buy", "principled": test}], **(members or {})})
        return Told(project.filibuster("principled", *options))

    return go
