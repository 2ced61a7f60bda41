"""`filibuster suite`: suites that exist already, under timeouts, errors and retries. The examples in the cloud need `make cloud-corpus`."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import jsonschema
import pytest

import pairs
from conftest import PYTHON, REPOSITORY
from documents import load
from small_apps import APPS, config, relay, url

PACKAGES = REPOSITORY / "build" / "tests" / "suites" / "node_modules"
CLOUDS = REPOSITORY / "build" / "corpus" / "albums" / "node_modules"
SCHEMA = jsonschema.Draft7Validator(load("suite-report"))

# In each language: pay() tries three times and does not look whether the first try was heard; a test that calls pay(), one that calls
# the shop by itself, one that calls nothing, one that fails.
PYTHON_SHOP = '''
import os, urllib.request
def pay():
    for left in (2, 1, 0):
        try:
            with urllib.request.urlopen(os.environ["SHOP_URL"] + "/ok", data=b"1", timeout=20) as response:
                return response.status
        except OSError:
            if left == 0:
                raise
'''
PYTHON_BODY = '''
import os, urllib.request, sys
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from shop import pay
'''
PYTEST = PYTHON_BODY + '''
def test_pay(): assert pay() == 200
def test_own(): urllib.request.urlopen(os.environ["SHOP_URL"] + "/ok").close()
def test_lonely(): pass
def test_broken(): assert pay() == 404
'''
UNITTEST = PYTHON_BODY + '''
import unittest
class Shop(unittest.TestCase):
    def test_pay(self): self.assertEqual(pay(), 200)
    def test_own(self): urllib.request.urlopen(os.environ["SHOP_URL"] + "/ok").close()
    def test_lonely(self): pass
    def test_broken(self): self.assertEqual(pay(), 404)
'''
NODE_SHOP = '''
exports.pay = async function pay() {
  for (let left = 2; ; --left) {
    try {
      const answer = await fetch(process.env.SHOP_URL + '/ok', { method: 'POST', body: '1', signal: AbortSignal.timeout(1000) });
      if (!answer.ok) throw new Error(`answer ${answer.status}`);
      return answer.status;
    } catch (error) {
      if (left === 0) throw error;
    }
  }
};
'''
MOCHA = '''
const assert = require('assert');
const { pay } = require('../shop.js');
it('pay', async () => assert.equal(await pay(), 200));
it('own', async () => { await (await fetch(process.env.SHOP_URL + '/ok')).text(); });
it('lonely', () => {});
it('broken', async () => assert.equal(await pay(), 404));
'''
CPP_SHOP = r'''
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
int post() {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(std::atoi(std::getenv("SHOP_PORT")));
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  timeval wait{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  const std::string request = "POST /ok HTTP/1.1\r\nHost: shop\r\nContent-Length: 1\r\n\r\n1";
  char answer[512] = "";
  const bool came = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
                    send(fd, request.data(), request.size(), 0) > 0 && recv(fd, answer, sizeof answer - 1, 0) > 12;
  close(fd);
  return came ? std::atoi(answer + 9) : 0;
}
int pay() {
  int status = 0;
  for (int i = 0; i < 3 && status != 200; ++i) status = post();
  if (status != 200) throw std::runtime_error("answer " + std::to_string(status));
  return status;
}
'''
GTEST = '''
#include <gtest/gtest.h>
int pay();
TEST(Shop, Pay) { EXPECT_EQ(pay(), 200); }
TEST(Shop, Lonely) {}
TEST(Shop, Broken) { EXPECT_EQ(pay(), 404); }
'''
JUNIT_PLATFORM = pathlib.Path("/usr/share/java/junit-platform-console-standalone.jar")
JAVA_SHOP = '''
import java.io.*;
import java.net.*;
class Shop {
  static HttpURLConnection open() throws IOException {
    return (HttpURLConnection) new URL(System.getenv("SHOP_URL") + "/ok").openConnection();
  }
  static int post() throws IOException {
    HttpURLConnection call = open();
    call.setReadTimeout(2000);
    call.setDoOutput(true);
    call.getOutputStream().write('1');
    int status = call.getResponseCode();
    call.disconnect();
    return status;
  }
  static int pay() throws IOException {
    for (int left = 2; ; --left) {
      try {
        int status = post();
        if (status != 200) throw new IOException("answer " + status);
        return status;
      } catch (IOException error) {
        if (left == 0) throw error;
      }
    }
  }
}
'''
JUNIT = '''
import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.Test;
class ShopTest {
  @Test void pay() throws Exception { assertEquals(200, Shop.pay()); }
  @Test void own() throws Exception { assertEquals(200, Shop.open().getResponseCode()); }
  @Test void lonely() {}
  @Test void broken() throws Exception { assertEquals(404, Shop.pay()); }
}
'''


def prepare(project, runner):
    """The entry of `tests`, and the last words of the names of its tests."""
    (project.directory / "tests").mkdir()
    if runner in ("pytest", "unittest"):
        project.write("shop.py", PYTHON_SHOP)
        project.write("tests/test_shop.py", PYTEST if runner == "pytest" else UNITTEST)
        return {"runner": runner, "path": "tests", "program": f"{PYTHON} -m pytest" if runner == "pytest" else PYTHON}
    if runner == "mocha":
        if not (PACKAGES / "mocha").exists():
            pytest.skip(f"NOT TESTED HERE: mocha is not installed below {PACKAGES} (make test-programs)")
        (project.directory / "node_modules").symlink_to(PACKAGES)
        project.write("shop.js", NODE_SHOP)
        project.write("tests/shop.test.js", MOCHA)
        return {"runner": "mocha", "path": "tests", "program": "node node_modules/mocha/bin/mocha.js"}
    if runner == "junit":
        if not JUNIT_PLATFORM.exists() or shutil.which("javac") is None:
            pytest.skip(f"NOT TESTED HERE: there is no {JUNIT_PLATFORM} (the package junit5), or no JDK")
        sources = [project.write("Shop.java", JAVA_SHOP), project.write("ShopTest.java", JUNIT)]
        subprocess.run(["javac", "-g", "-cp", JUNIT_PLATFORM, "-d", project.directory / "classes", *sources], check=True)
        return {"runner": "junit", "path": "classes", "program": f"java -cp {JUNIT_PLATFORM}:classes"}
    sources = [project.write("shop.cc", CPP_SHOP), project.write("shop_test.cc", GTEST)]
    subprocess.run(["g++", "-std=c++17", "-g", "-O0", *sources, "-o", project.directory / "shop_test", "-lgtest", "-lgtest_main", "-lpthread"],
                   check=True, cwd=project.directory)
    return {"runner": "gtest", "path": "shop_test"}


def read(run):
    report = json.loads((run.root / "suite.json").read_text())
    SCHEMA.validate(report)
    return report


def suite_of_shop(project, runner, *options):
    entry = prepare(project, runner)
    entry["env"] = {"SHOP_URL": "http://127.0.0.1:${port:shop}", "SHOP_PORT": "${port:shop}"}
    project.write("filibuster.json", config([{"name": "shop", "command": f"exec {PYTHON} {APPS}/retried.py ${{port:shop}}", "third_party": True}],
                                            [entry]))
    return project.filibuster("suite", *options)


# The cheapest one. How the suites of all runners are listed, and their tests run one by one, is in test_suites.py.
@pairs.only("runner", ["pytest"])
@pytest.mark.parametrize("runner", ["pytest", "unittest", "mocha", "gtest", "junit"])
def test_a_retry_that_repeats_a_payment_is_found_in_a_suite_of_each_runner(project, runner):
    run = suite_of_shop(project, runner, "--policy", "P1,P3")
    assert run.exit_code == 1, run
    report = read(run)
    (cluster,) = report["clusters"]
    assert (cluster["oracle"], cluster["label"], cluster["policy"], cluster["reproduced"]) == \
        ("possible-silent-violation", "silent semantic violation", "P1", True), cluster
    assert cluster["call_site"].lower().startswith("shop."), cluster
    # An error that nobody can hide is listed, and no bug.
    errors = [fault["oracle"] for fault in report["faults"] if fault["policy"] == "P3"]
    assert errors == ["consistent-exception"], report["faults"]
    left_out = {test["test"].lower().removesuffix("()"): test["left_out"] for test in report["tests"]}
    for word, why in [("lonely", "it makes no remote call"), ("broken", "it fails without any fault"),
                      ("own", "only its own code makes remote calls")][:3 if runner != "gtest" else 2]:
        (said,) = [text for name, text in left_out.items() if name.rsplit(" ", 1)[-1].rsplit(".", 1)[-1].endswith(word)]
        assert why in said, left_out
    for name in (cluster["counterexample"], str(cluster["number"])):
        replay = project.filibuster("replay", name)
        assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def configure(project, entry):
    entry["env"] = {"SHOP_URL": "http://127.0.0.1:${port:shop}"}
    project.write("filibuster.json", config([{"name": "shop", "command": f"exec {PYTHON} {APPS}/retried.py ${{port:shop}}", "third_party": True}],
                                            [entry]))


@pairs.only("runner", ["node"])
@pytest.mark.parametrize("runner", ["mocha", "jest", "node"])
def test_a_runner_of_node_does_not_hide_that_the_process_would_have_died(project, runner):
    """Exceptions and rejections in the background, one in a test that passes; and a process that ends itself, with success."""
    if runner != "node" and not (PACKAGES / runner).exists():
        pytest.skip(f"NOT TESTED HERE: {runner} is not installed below {PACKAGES} (make test-programs)")
    (project.directory / "node_modules").symlink_to(PACKAGES)
    project.write("package.json", "{}")
    project.write("shop.js", """
const post = async () => (await fetch(process.env.SHOP_URL + '/ok', { method: 'PUT', body: '1' }));
exports.parsed = (done) => { post().then(async (answer) => done(JSON.parse(answer.ok ? '"done"' : '{'))); };
exports.passed = () => new Promise((resolve) => { post().then((answer) => { setImmediate(resolve); if (!answer.ok) throw new Error(`answer ${answer.status}`); }); });
exports.thrown = (done) => { post().then((answer) => setImmediate(() => done(answer.ok ? 'done' : undefined.status))); };
exports.leaves = async () => { if (!(await post()).ok) process.exit(0); };
""")
    bodies = {"parsed": "(done) => shop.parsed(() => done())", "passed": "() => shop.passed()", "thrown": "(done) => shop.thrown(() => done())",
              "leaves": "() => shop.leaves()"}
    if runner == "node":
        bodies = {name: body.replace("(done)", "(_, done)") for name, body in bodies.items()}
    for name, body in bodies.items():
        it = "const { it } = require('node:test');\n" if runner == "node" else ""
        project.write(f"tests/{name}.test.js", f"{it}const shop = require('../shop.js');\nit('is {name}', {body});\n")
    # Two of these tests never end under jest, whose own limit is lifted unless the command gives one.
    configure(project, {"runner": runner, "path": "tests", "program": {
        "mocha": "node node_modules/mocha/bin/mocha.js", "jest": "node node_modules/jest/bin/jest.js --testTimeout=3000", "node": "node"}[runner]})
    run = project.filibuster("suite", "--policy", "P3")
    assert run.exit_code == 1, run
    said = {re.search(r"(\w+)\.test\.js", fault["test"])[1]: (fault["oracle"], fault["label"], fault["evidence"]) for fault in read(run)["faults"]}
    died = "nobody handles an exception, which ends a process outside of the test runner: "
    for test, evidence in (("parsed", died + "SyntaxError"), ("passed", died + "Error: answer 503"), ("thrown", died + "TypeError"),
                           ("leaves", "the runner ended without a result, although it says success")):
        assert said[test][:2] == ("process-died", "no handling") and said[test][2].startswith(evidence), run
    assert all(cluster["reproduced"] for cluster in read(run)["clusters"]) and len(read(run)["clusters"]) == 4, run
    for cluster in read(run)["clusters"]:
        if runner == "node" and cluster["test"] == "tests/leaves.test.js":
            continue  # Node says of the file that it passed, and a replay has nothing to compare that with
        replay = project.filibuster("replay", cluster["counterexample"])
        assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def test_a_service_that_dies_or_drops_its_caller_by_the_fault_has_done_so_by_the_fault(project):
    """The test's own call to the service ends without an answer, too. That is no client that gave up by itself."""
    project.write("tests/test_front.py", """
import os, urllib.request
def test_exit(): assert urllib.request.urlopen(os.environ["EXIT_URL"]).status == 200
def test_drop(): assert urllib.request.urlopen(os.environ["DROP_URL"]).status == 200
""")
    entry = {"runner": "pytest", "path": "tests", "program": f"{PYTHON} -m pytest",
             "env": {f"{way.upper()}_URL": url(way) for way in ("exit", "drop")}}
    bank = {"name": "bank", "command": f"exec {PYTHON} {APPS}/retried.py ${{port:bank}}", "third_party": True}
    project.write("filibuster.json", config(
        [bank, *(relay(way, url("bank", "/ok"), options=f"--on-failure {way}") for way in ("exit", "drop"))], [entry]))
    run = project.filibuster("suite", "--policy", "P3")
    faults = {fault["test"].rsplit("_", 1)[-1]: fault for fault in read(run)["faults"]}
    assert faults["exit"]["oracle"] == "process-died" and run.exit_code == 1, run
    assert faults["drop"]["oracle"] not in ("none", "process-died") and not faults["drop"]["skipped"], run


# The tests of Node above have one that ends so.
@pytest.mark.whole
def test_a_runner_that_ends_with_success_and_without_a_result_has_died(project):
    project.write("shop.py", PYTHON_SHOP + """
def pay_or_leave():
    try:
        return pay()
    except OSError:
        os._exit(0)
""")
    project.write("tests/test_shop.py", PYTHON_BODY.replace("import pay", "import pay_or_leave") + "def test_pay(): assert pay_or_leave() == 200\n")
    configure(project, {"runner": "pytest", "path": "tests", "program": f"{PYTHON} -m pytest"})
    run = project.filibuster("suite", "--policy", "P3")
    (cluster,) = read(run)["clusters"]
    assert (run.exit_code, cluster["oracle"], cluster["label"], cluster["reproduced"]) == (1, "process-died", "no handling", True), run


def test_a_plan_is_estimated_written_and_executed_later(project):
    run = suite_of_shop(project, "pytest", "--estimate", "--write-plan", "plan.json", "--coverage", "C3")
    assert run.exit_code == 0 and "nothing was faulted" in run.output, run
    assert [row["executions"] for row in read(run)["estimates"]] == [6, 6, 6, 6], run
    plan = json.loads((project.directory / "plan.json").read_text())
    jsonschema.Draft7Validator(load("suite-plan")).validate(plan)
    plan["faults"] = [fault for fault in plan["faults"] if fault["policy"] == "P1"] + [{**plan["faults"][0], "test": "gone"}]
    project.write("plan.json", json.dumps(plan))
    run = project.filibuster("suite", "--plan", "plan.json")
    assert run.exit_code == 1 and "which is not there now" in run.output, run
    assert [(fault["policy"], fault["oracle"]) for fault in read(run)["faults"]] == [("P1", "possible-silent-violation")], run
    assert read(run)["estimate_seconds"] == pytest.approx(sum(fault["estimate_seconds"] for fault in read(run)["faults"])), "as it was cut"
    for options, said in [(["--policy", "P9"], "there is no policy 'P9'; there are P1-reset, P1, P2-reset, P2, P3, P4"),
                          (["--plan", "filibuster.json"], "--plan: "), (["--runner", "nose", "--", "tests"], "'nose' is not known")]:
        refused = project.filibuster("suite", *options)
        assert refused.exit_code == 2 and said in refused.errors, refused


def test_a_suite_without_calls_has_no_conclusion(project):
    project.write("test_nothing.py", "def test_it(): pass\n")
    program = {"PATH": f"{pathlib.Path(PYTHON).parent}:{os.environ['PATH']}"}
    run = project.filibuster("suite", "--runner", "unittest", "--", ".", env={**os.environ, **program})
    assert run.exit_code == 3, run


DESK_TESTS = ["test_desk.py::TestAttachments::test_unit_an_attachment_can_be_read", "test_desk.py::TestInbox::test_unit_tickets_are_taken_in_their_order",
              "test_desk.py::TestInbox::test_unit_a_ticket_that_was_put_is_there", "test_desk.py::TestTickets::test_unit_texts_of_what_was_kept"]


# The four bugs. That nothing is found where nothing is wrong is in test_suite_own_errors.py, too.
@pairs.only("id", ["with its bugs"])
@pytest.mark.parametrize("bugs", [["conflict", "twice", "optimist", "careless"], []], ids=["with its bugs", "repaired"])
def test_the_bugs_of_the_desk_are_found_and_nothing_else(project, bugs):
    if not CLOUDS.exists() or shutil.which("node") is None:
        pytest.skip("NOT TESTED HERE: the emulators of the clouds are not installed (make cloud-corpus)")
    # Each of the four has a bug of its own; what has none is found by two of them in half of the time.
    chosen = [word for test in (DESK_TESTS if bugs else DESK_TESTS[1:3]) for word in ("--test", test)]
    run = project.filibuster("suite", "-c", REPOSITORY / "corpus/desk/filibuster.json", "--policy", "P1,P3", *chosen,
                             env={**os.environ, "DESK_BUGS": ",".join(bugs)})
    found = {(cluster["label"], cluster["policy"], cluster["call_site"].rsplit(" ", 1)[-1]) for cluster in read(run)["clusters"]}
    if not bugs:
        assert run.exit_code == 0 and found == set(), run
        return
    assert run.exit_code == 1, run
    assert ("unrelated exception", "P1", "(add)") in found, run
    assert {("silent semantic violation", "P1", "(put)"), ("silent semantic violation", "P1", "(take)")} & found, run
    assert ("state divergence", "P3", "(add)") in found, run
    assert ("no handling", "P3", "(text)") in found, run
    assert all(cluster["reproduced"] for cluster in read(run)["clusters"]), run
