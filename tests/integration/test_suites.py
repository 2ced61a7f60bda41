"""Suites that exist already: their runner lists the tests, and each is explored alone, by its name."""
import json
import pathlib
import shutil
import subprocess

import pytest

import pairs
from conftest import PYTHON, REPOSITORY
from small_apps import config, relay, url

PACKAGES = REPOSITORY / "build" / "tests" / "suites" / "node_modules"
STATUS = f'''
import os, urllib.request, urllib.error
def status():
    try:
        with urllib.request.urlopen("http://127.0.0.1:" + os.environ["PORT_FRONT"], timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
'''
# Each suite: strict() fails where front cannot reach back, tolerant() does not; lonely() calls nothing.
SUITES = {
    "pytest": ("tests/test_shop.py", STATUS + '''
import pytest
def test_strict():
    assert status() == 200
@pytest.mark.parametrize("expected", [(200, 503)], ids=["a b"])
def test_tolerant(expected):
    assert status() in expected
def test_lonely():
    assert True
@pytest.mark.skip(reason="needs a network")
def test_skipped():
    assert status() == 200
'''),
    "unittest": ("tests/test_shop.py", STATUS + '''
import unittest
class Shop(unittest.TestCase):
    def test_strict(self): self.assertEqual(status(), 200)
    def test_tolerant(self): self.assertIn(status(), (200, 503))
    def test_lonely(self): pass
'''),
}
JAVASCRIPT = '''
const assert = require('assert');
const http = require('http');
const status = () => new Promise((resolve, reject) => {
  http.get({ port: process.env.PORT_FRONT, agent: false }, (response) => { response.resume(); resolve(response.statusCode); }).on('error', reject);
});
'''
BODY = '''
describe('the shop (in $)', () => {
  it('is strict', async () => { assert.equal(await status(), 200); });
  it('is tolerant', async () => { assert.ok([200, 503].includes(await status())); });
  it('is strict and more', async () => { assert.ok([200, 503].includes(await status())); });
  it('is lonely', () => {});
});
'''


def explore(project, entry, *options, **members):
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [entry], faults=[{"inject": "503"}], **members))
    return project.filibuster("run", *options)


def explored(run):
    """{name: (executions, findings)}"""
    report = json.loads((run.root / "report.json").read_text())
    return {test["test"]: (test["counts"]["executed"], len(test["findings"])) for test in report["tests"]}


# Suites of pytest are in test_retry_aware.py and others.
@pairs.only("runner", ["unittest"])
@pytest.mark.parametrize("runner, names", [
    ("pytest", ["tests/test_shop.py::test_strict", "tests/test_shop.py::test_tolerant[a b]", "tests/test_shop.py::test_lonely",
                "tests/test_shop.py::test_skipped"]),
    ("unittest", ["test_shop.Shop.test_strict", "test_shop.Shop.test_tolerant", "test_shop.Shop.test_lonely"])])
def test_each_test_of_a_suite_is_explored_alone(project, runner, names):
    file, text = SUITES[runner]
    (project.directory / "tests").mkdir()
    project.write(file, text)
    program = {"pytest": f"{PYTHON} -m pytest", "unittest": PYTHON}[runner]
    run = explore(project, {"runner": runner, "path": "tests", "program": program})
    assert run.exit_code == 1, run
    assert explored(run) == {name: (2, 1) if "strict" in name else (2, 0) if "tolerant" in name else (0, 0) for name in names}, run
    notes = {test["test"]: test["notes"] for test in json.loads((run.root / "report.json").read_text())["tests"]}
    assert "nothing to explore: it makes no remote call" in notes[names[2]], notes
    if runner == "pytest":
        assert "nothing to explore: its runner skipped it: needs a network" in notes[names[3]], notes

    # The finding goes by the name of its test; so does its replay, and --test.
    (counterexample,) = run.counterexamples
    replay = project.filibuster("replay", counterexample)
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay
    only = project.filibuster("run", "--test", names[1])
    assert only.exit_code == 0 and explored(only) == {names[1]: (2, 0)}, only
    none = project.filibuster("run", "--test", "nobody")
    assert none.exit_code == 3 and "there is no test 'nobody'" in none.errors, none


# mocha is in test_silences_of_suites.py, and Node's own runner in test_retry_aware.py.
@pairs.only("runner", ["jest"])
@pytest.mark.parametrize("runner", ["mocha", "jest", "node"])
def test_each_test_of_a_javascript_suite_is_explored_alone(project, runner):
    node = shutil.which("node")
    if node is None or (runner != "node" and not (PACKAGES / runner).exists()):
        pytest.skip(f"NOT TESTED HERE: {runner} is not installed below {PACKAGES} (make test-programs)")
    if runner != "node":
        (project.directory / "node_modules").symlink_to(PACKAGES)
        project.write("package.json", "{}")
    file = project.directory / "test" / "shop.test.js"
    file.parent.mkdir()
    globals_ = "const { describe, it } = require('node:test');\n" if runner == "node" else ""
    file.write_text(globals_ + JAVASCRIPT + BODY)
    run = explore(project, {"runner": runner, "path": "test", "name": "web",
                            "program": {"mocha": "node node_modules/mocha/bin/mocha.js",
                                        "jest": "node node_modules/jest/bin/jest.js", "node": "node"}[runner]})
    assert run.exit_code == 1, run
    if runner == "node":
        assert {name: executed > 1 for name, (executed, _) in explored(run).items()} == {"web: test/shop.test.js": True}, run
        return
    name = "web: test/shop.test.js > the shop (in $) is "
    assert explored(run) == {name + "strict": (2, 1), name + "tolerant": (2, 0), name + "strict and more": (2, 0),
                             name + "lonely": (0, 0)}, run


GTEST = '''
#include <gtest/gtest.h>
#include <cstdlib>
int status() { return std::system("curl -s -o /dev/null -f http://127.0.0.1:$PORT_FRONT/"); }
TEST(Shop, IsStrict) { EXPECT_EQ(status(), 0); }
TEST(Shop, IsTolerant) { status(); }
TEST(Shop, DISABLED_Waits) { FAIL(); }
class Sizes : public testing::TestWithParam<int> {};
TEST_P(Sizes, AreTolerant) { status(); EXPECT_GT(GetParam(), 0); }
INSTANTIATE_TEST_SUITE_P(All, Sizes, testing::Values(1));
'''


def test_each_test_of_a_gtest_program_is_explored_alone(project):
    source = project.write("shop_test.cc", GTEST)
    subprocess.run(["g++", "-std=c++17", source, "-o", project.directory / "shop_test", "-lgtest", "-lgtest_main", "-lpthread"], check=True)
    run = explore(project, {"runner": "gtest", "path": "shop_test"})
    assert run.exit_code == 1, run
    assert explored(run) == {"Shop.IsStrict": (2, 1), "Shop.IsTolerant": (2, 0), "All/Sizes.AreTolerant/0": (2, 0)}, run


def test_two_commands_are_a_runner(project):
    curl = f"code=$(curl -s -o /dev/null -w '%{{http_code}}' {url('front')}); echo $FILIBUSTER_TEST $code"
    run = explore(project, {"list": "echo 'say 200'; echo say 503; echo this is no test >&2",
                            "each": f"{curl}; [ $FILIBUSTER_EXECUTION -ge 0 ] && case $code in 200) ;; ${{FILIBUSTER_TEST#say }}) ;; *) exit 1;; esac"})
    assert run.exit_code == 1 and explored(run) == {"say 200": (2, 1), "say 503": (2, 0)}, run


@pytest.mark.parametrize("entry, said", [
    ({"list": "echo boom >&2; exit 7", "each": "true"}, ["cannot be listed (exit status 7)", "boom"]),
    ({"list": "true", "each": "true"}, ["the suite with 'list' and 'each' has no tests"]),
    ({"list": "echo a; echo a", "each": "true"}, ["two tests are named 'a'"]),
    ({"runner": "pytest", "path": "broken", "program": f"{PYTHON} -m pytest"}, ["cannot be listed", "SyntaxError"]),
    ({"runner": "unittest", "path": "broken", "program": PYTHON}, ["the module 'test_broken' cannot be imported"]),
    ({"runner": "gtest", "path": "nowhere"}, ["cannot be listed (exit status 127)", "nowhere"])])
def test_a_suite_that_cannot_be_listed_says_why(project, entry, said):
    (project.directory / "broken").mkdir()
    project.write("broken/test_broken.py", "def test(:\n")
    run = explore(project, entry)
    assert run.exit_code == 3 and all(text in run.errors for text in said), run


@pytest.mark.parametrize("entry, said", [
    ({"runner": "nose"}, "'nose' is not known: expected pytest, unittest, jest, mocha, node, gtest, junit, or 'list' and 'each'"),
    ({"list": "true"}, "a suite with 'list' needs 'each', too"),
    ({"runner": "pytest", "list": "true", "each": "true"}, "a suite needs either 'runner', or 'list' and 'each'"),
    ({"runner": "pytest", "command": "pytest", "name": "x"}, "'command' runs one test: a suite has 'runner'"),
    ({"runner": "gtest"}, "a suite of gtest needs 'path'"),
    ({"runner": "junit"}, "a suite of junit needs 'path'"),
    ({"path": "tests"}, "a suite needs either 'runner', or 'list' and 'each'"),
    ({"name": "x"}, "a test needs 'command'")])
def test_an_entry_that_is_no_suite_is_refused_with_its_place(project, entry, said):
    run = explore(project, entry)
    assert run.exit_code == 2 and said in run.errors and "filibuster.json:" in run.errors, run


def test_a_counterexample_of_a_suite_from_elsewhere_needs_trust(project):
    run = explore(project, {"list": "echo one", "each": f"curl -sf {url('front')}", "name": "all"})
    assert run.exit_code == 1 and explored(run) == {"all: one": (2, 1)}, run
    (counterexample,) = run.counterexamples
    sent = pathlib.Path(project.directory / "sent.json")
    shutil.copy(counterexample, sent)
    (project.directory / "filibuster.json").unlink()
    replay = project.filibuster("replay", sent)
    assert replay.exit_code == 2 and '"each"' in replay.errors, replay
