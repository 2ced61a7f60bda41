"""A service of HTTP and Redis in Node and in Python: the process finds that it caches what a failing dependency said, and all that the
repaired one does is stated to the end."""
import json
import pathlib
import shutil

import pytest

from conftest import PYTHON
from small_apps import url

PROGRAMS = pathlib.Path(__file__).parent / "programs"
RUNS = {"node": f"node {PROGRAMS}/profile.js", "python": f"{PYTHON} {PROGRAMS}/profile.py"}
USER, GET, SET = "GET /users/7", "GET profile", "SET profile"
STUBS = {"users": [{"method": "GET", "path": "/users/7", "answer": {"text": "Ada"}}],
         "cache": [{"method": "GET", "path": "profile", "answer": {"reply": None}},
                   {"method": "SET", "path": "profile", "answer": {"reply": {"status": "OK"}}}]}


@pytest.mark.parametrize("language", RUNS)
@pytest.mark.parametrize("repaired", ["", "repaired"], ids=["bug", "repaired"])
def test_what_is_cached(project, language, repaired):
    if language == "node" and not shutil.which("node"):
        pytest.skip("NOT TESTED HERE: there is no node")
    failure = [{"on": USER, "throws": 503, "message": "no user"},
               # Whenever there is no user, nothing is cached.
               {"on_exception": 503, "side_effecting": [{"on": SET, "times": 0}]},
               {"on": GET, "no_impact": True}, {"on": SET, "no_impact": True}]
    project.write("filibuster.json", {
        "version": 1, "default_faults": False, "faults": [{"on": {"caller": "profile"}, "inject": ["reset"]}],
        "services": [{"name": "users", "stubs": STUBS["users"]}, {"name": "cache", "protocol": "redis", "stubs": STUBS["cache"]},
                     {"name": "profile", "command": f"exec {RUNS[language]} ${{port:profile}} ${{port:cache}} ${{port:users}} {repaired}"}],
        "tests": [{"name": "profile", "principled": {
            "execute": f"exec curl -sS -o answer {url('profile')}", "assert_test": "exec grep -qx Ada answer", "failure": failure,
            "assert_stubs": [{"on": each, "times": 1} for each in (USER, GET, SET)]}}]})
    run = project.filibuster("principled")
    (test,) = json.loads((project.root / "principled.json").read_text())["tests"]
    found = [execution["diagnostic"] for execution in test["executions"] if execution["diagnostic"]]
    if repaired:
        # Without faults, three faults alone, GET with the user, and GET with SET.
        assert run.exit_code == 0 and found == [] and len(test["executions"]) == 6, run
        return
    (diagnostic,) = found
    assert run.exit_code == 1 and diagnostic["kind"] == "assertions-did-not-hold-under-error-response", run
    assert diagnostic["text"] == "SET profile is to be called never, and was called once", run
