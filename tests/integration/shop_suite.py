"""A suite of pytest, and its configuration, for the tests of `filibuster suite`."""
import json

import jsonschema

from conftest import PYTHON
from documents import load
from small_apps import APPS, config

PYTEST = f"{PYTHON} -m pytest"
SCHEMA = jsonschema.Draft7Validator(load("suite-report"))
IMPORTS = "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\n"

# get() is asked for whatever path its caller wants, and tried twice. (A silence does not last as long as that.)
GETTER = '''
import os, urllib.request
def get(path="/ok", left=1):
    try:
        with urllib.request.urlopen(os.environ["SHOP_URL"] + path, timeout=20) as answer:
            return answer.status
    except OSError:
        if left == 0:
            raise
        return get(path, left - 1)
'''


def write_suite(project, tests, services=(), entry=None, bounds=None, **files):
    """Writes the file `tests` of pytest, these modules beside it, and a configuration."""
    for name, text in files.items():
        project.write(f"{name}.py", text)
    project.write("test_shop.py", IMPORTS + tests)
    entry = dict(entry or {})
    if "runner" not in entry and "list" not in entry:
        entry.update({"runner": "pytest", "path": "test_shop.py", "program": PYTEST})
    entry["env"] = {"SHOP_PORT": "${port:shop}", "SHOP_URL": "http://127.0.0.1:${port:shop}"} if services else {}
    project.write("filibuster.json", config(list(services), [entry], **({"bounds": bounds} if bounds else {})))


def suite(project, tests, *options, env=None, **members):
    """`filibuster suite` over it."""
    write_suite(project, tests, **members)
    return project.filibuster("suite", *options, env=env)


def shop(**members):
    return [{"name": "shop", "command": f"exec {PYTHON} {APPS}/retried.py ${{port:shop}}", "third_party": True, **members}]


def report(run):
    return read(run.root)


def read(root):
    out = json.loads((root / "suite.json").read_text())
    SCHEMA.validate(out)
    return out
