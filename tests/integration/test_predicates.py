"""Helpers for tests in other languages: the predicates of each, a plugin for pytest and a header for GoogleTest."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, FILIBUSTER, PYTHON, REPOSITORY
from small_apps import config, relay, url

ASKS = {
    "python": [PYTHON, "-c", "import sys; sys.path.insert(0, '{repository}/cli/python'); import filibuster_predicates as p; "
               "print('yes' if p.was_fault_injected(service=sys.argv[1]) else 'no')"],
    "c": ["{build}/tests/programs/predicate"],
    "node": ["node", "-e", "require('{repository}/cli/node/filibuster_predicates.cjs').wasFaultInjected({{service: process.argv[1]}})"
             ".then((yes) => console.log(yes ? 'yes' : 'no'), (error) => {{ console.log(error.message); process.exitCode = 1; }})"],
    "java": ["java", "-cp", "{classes}", "Ask"],
}
ASK_JAVA = """public class Ask {
  public static void main(String[] a) {
    try {
      System.out.println(FilibusterPredicates.faultInjected().service(a[0]).ask() ? "yes" : "no");
    } catch (IllegalStateException error) {
      System.out.println(error.getMessage());
      System.exit(1);
    }
  }
}
"""


@pytest.fixture(scope="session")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predicates")
    (folder / "Ask.java").write_text(ASK_JAVA)
    subprocess.run(["javac", "-d", str(folder), str(folder / "Ask.java"), str(REPOSITORY / "cli/java/FilibusterPredicates.java")],
                   check=True, timeout=120)
    return folder


@pytest.fixture(params=ASKS)
def ask(request):
    names = {"repository": REPOSITORY, "build": BUILD}
    if request.param == "java":
        if not shutil.which("javac"):
            pytest.skip("javac is not there: the predicates of Java were not checked")
        names["classes"] = request.getfixturevalue("classes")
    return [word.format(classes=names.get("classes"), **{key: names[key] for key in ("repository", "build")}) for word in ASKS[request.param]]


def test_an_execution_answers_what_was_injected(project, ask):
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in ask)
    command = (f"status=$(curl -s -o /dev/null -w '%{{http_code}}' {url('front')}); back=$({quoted} back); other=$({quoted} nobody); "
               "echo $FILIBUSTER_EXECUTION $status $back $other >> seen; true")
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [{"name": "t", "command": command}],
                                            faults=[{"inject": ["503", "refused"]}]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    rows = {tuple(line.split()[1:]) for line in (project.directory / "seen").read_text().splitlines()}
    assert rows == {("200", "no", "no"), ("503", "yes", "no")}, run


def test_outside_of_filibuster_nothing_was_injected_and_no_answer_is_an_error(ask):
    def run(**environment):
        return subprocess.run([*ask, "back"], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    assert run().stdout == "no\n"
    dead = run(FILIBUSTER_URL="http://127.0.0.1:9", FILIBUSTER_TOKEN="x")
    assert dead.returncode != 0 and "did not answer" in dead.stdout + dead.stderr, dead


def test_the_header_is_plain_c():
    subprocess.run(["gcc", "-std=c99", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c",
                    str(REPOSITORY / "cli/c/filibuster_predicates.h")], check=True, timeout=60)


STATUS = """
import os, urllib.request, urllib.error
def status():
    try:
        with urllib.request.urlopen("http://127.0.0.1:" + os.environ["PORT_FRONT"], timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
def test_strict():
    assert status() == 200
def test_tolerant():
    assert status() in (200, 503)
"""


def suite(project, row):
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [row], faults=[{"inject": ["503"]}]))


def test_pytest_shows_each_execution_as_a_test(project):
    (project.directory / "tests").mkdir()
    project.write("tests/test_shop.py", STATUS)
    suite(project, {"runner": "pytest", "path": "tests/"})
    run = subprocess.run(
        [PYTHON, "-m", "pytest", "-p", "filibuster_pytest", "-p", "no:cacheprovider", "--filibuster", "-v", "tests"],
        cwd=project.directory, capture_output=True, text=True, timeout=240,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "cli/python"), "PATH": f"{FILIBUSTER.parent}:{os.environ['PATH']}"})
    rows = dict(re.findall(r"^(tests/test_shop\.py::.*?) (PASSED|FAILED|SKIPPED)", run.stdout, re.M))
    assert rows == {"tests/test_shop.py::test_strict[front -> back GET /: status:503]": "FAILED",
                    "tests/test_shop.py::test_strict": "FAILED",
                    "tests/test_shop.py::test_tolerant[front -> back GET /: status:503]": "PASSED",
                    "tests/test_shop.py::test_tolerant": "PASSED"}, run.stdout + run.stderr
    assert run.returncode == 1 and "run it again: filibuster replay" in run.stdout, run.stdout


def test_googletest_shows_each_execution_as_a_test(project):
    source = project.directory / "shop_test.cc"
    source.write_text('''#include "filibuster_gtest.h"
#include <cstdlib>
int status() { return std::system(("curl -sf http://127.0.0.1:" + std::string(std::getenv("PORT_FRONT")) + "/ -o /dev/null").c_str()); }
TEST(Shop, IsStrict) { EXPECT_EQ(status(), 0); }
TEST(Shop, IsTolerant) { status(); }
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return filibuster::run_all_tests(argc, argv);
}
''')
    subprocess.run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{REPOSITORY}/cli/c", source, "-o", project.directory / "shop_test",
                    "-lgtest", "-lpthread"], check=True, timeout=240)
    suite(project, {"runner": "gtest", "path": "shop_test"})
    run = subprocess.run(["./shop_test", "--filibuster"], cwd=project.directory, capture_output=True, text=True, timeout=240,
                         env={**os.environ, "PATH": f"{FILIBUSTER.parent}:{os.environ['PATH']}"})
    rows = dict((name, what) for what, name in re.findall(r"^\[ +(OK|FAILED) +\] (Shop\..*?) \(\d+ ms\)", run.stdout, re.M))
    assert rows == {"Shop.IsStrict.front -> back GET /: status:503": "FAILED", "Shop.IsStrict.findings": "FAILED",
                    "Shop.IsTolerant.front -> back GET /: status:503": "OK", "Shop.IsTolerant.findings": "OK"}, run.stdout + run.stderr
    assert run.returncode == 1 and "run it again: filibuster replay" in run.stdout, run.stdout
    assert json.loads((project.root / "report.json").read_text())["exit_code"] == 0  # of the last test
