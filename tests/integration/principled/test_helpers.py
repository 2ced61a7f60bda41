"""The helpers of principled tests in Python, Java and C++: each runs the same blocks against a daemon that follows a script, and has
to tell the same."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import PYTHON, REPOSITORY
from fake_daemon import FakeDaemon, begin, closure, end, finish, run

JUNIT_PLATFORM = pathlib.Path("/usr/share/java/junit-platform-console-standalone.jar")
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
PROGRAMS = pathlib.Path(__file__).parent / "programs"
WITHOUT, GET_USER = "without faults", "shop.UserService/GetUser: grpc:UNAVAILABLE"
USER, CART, PRICE = "shop.UserService/GetUser", "shop.CartService/GetCart", "shop.PricingService/GetPrice"
ALL = run("setup", "stub", "failure", "execute", "assert_test", "assert_stubs", "teardown")


def example(language):
    """The test of the manual, which calls the order service of each helper's folder."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", (REPOSITORY / "docs/principled-languages.md").read_text(), re.M | re.S)
    return text


class Python:
    form, test, source = "pytest", "test_shop.py::Test{}", "test_shop.py"
    expected = "assert 4 == 3"

    def __init__(self, folder):
        self.folder = folder
        shutil.copy(PROGRAMS / "shop.py", folder / "test_shop.py")
        (folder / "orders.py").write_text("class Order:\n    total = 9000\n\n\ndef place_order(session):\n    return Order()\n")
        (folder / "test_purchase.py").write_text(example("python"))

    def command(self, *names):
        """Of tests of the program, or of that of the manual (none)."""
        return [PYTHON, "-m", "pytest", "-p", "filibuster_principled", "-p", "no:cacheprovider", "-v", "--junit-xml=out.xml",
                *(map(self.test.format, names) if names else ["test_purchase.py"])]

    def environment(self):
        return {"PYTHONPATH": f"{REPOSITORY}/cli/python"}

    def listed(self, output):
        """What the runner lists, in order, and how each ended."""
        rows = re.findall(r"^test_shop\.py::(.*?) (PASSED|FAILED|SKIPPED)", output, re.M)
        assert [(row.get("name"), "FAILED" if row.find("failure") is not None else "PASSED" if row.find("skipped") is None else "SKIPPED")
                for row in xml.etree.ElementTree.parse(self.folder / "out.xml").iter("testcase")] == [(n.split("::")[-1], what) for n, what in rows]
        return [(re.sub(r"^Test\w+\[(.*)\]$", r"\1", name), what) for name, what in rows]

    def line(self, text):
        """The line of the program that is marked so."""
        (line,) = [number for number, line in enumerate((self.folder / self.source).read_text().splitlines(), 1) if line.endswith("HERE: " + text)]
        return line

    def run(self, names, environment):
        process = subprocess.run(self.command(*names), cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                                 env={**os.environ, **self.environment(), **environment})
        print(process.stdout)
        return process


class Java(Python):
    form, test, source, expected = "junit", "Shop${}", "Shop.java", "expected: <3> but was: <4>"

    def __init__(self, folder):
        if not shutil.which("javac") or not JUNIT_PLATFORM.exists():
            pytest.skip(f"NOT TESTED HERE: there is no {JUNIT_PLATFORM} (the package junit5), or no JDK")
        self.folder = folder
        shutil.copy(PROGRAMS / "Shop.java", folder)
        (folder / "Orders.java").write_text("class Orders {\n  static class Order {\n    long getTotal() {\n      return 9000;\n    }\n  }\n"
                                            "  static Order placeOrder(String session) {\n    return new Order();\n  }\n}\n")
        (folder / "PurchaseTest.java").write_text(example("java"))
        subprocess.run(["javac", "-Xlint:all", "-Werror", "--release", "8", "-Xlint:-options", "-cp", JUNIT_PLATFORM, "-d", "build/classes",
                        REPOSITORY / "cli/java/FilibusterPrincipled.java", "Shop.java", "Orders.java", "PurchaseTest.java"], cwd=folder, check=True, timeout=120)

    def command(self, *names):
        return ["java", *QUICK, "-jar", JUNIT_PLATFORM, "--class-path=build/classes", "--disable-banner", "--disable-ansi-colors",
                "--details=tree", "--details-theme=ascii", "--include-engine=junit-jupiter",
                *(f"--select-class={name}" for name in map(self.test.format, names))] + ([] if names else ["--select-class=PurchaseTest"])

    def environment(self):
        return {}

    def listed(self, output):
        return [(name, {"OK": "PASSED", "X": "FAILED"}[what]) for name, what in re.findall(r"^      [+']-- (.*?) \[(OK|X)\]", output, re.M)]


class Cpp(Java):
    form, test, source, expected = "gtest", "{}.principled", "shop.cc", "price_\n    Which is: 4\n  price\n    Which is: 3"

    def __init__(self, folder):
        self.folder = folder
        shutil.copy(PROGRAMS / "shop.cc", folder)
        (folder / "orders.h").write_text("struct Order {\n  int total = 0;\n};\ninline Order place_order(const char*) { return {9000}; }\n")
        (folder / "purchase_test.cc").write_text(example("cpp"))
        # One unit, since the headers of GoogleTest are most of the work.
        (folder / "all.cc").write_text('#include "shop.cc"\n#include "purchase_test.cc"\n')
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{REPOSITORY}/cli/c", "all.cc", "-o", "shop_test",
                        "-lgtest_main", "-lgtest", "-lpthread"], cwd=folder, check=True, timeout=240)

    def command(self, *names):
        return ["./shop_test", "--gtest_filter=" + ":".join(map(self.test.format, names or ["Purchase"]))]

    def listed(self, output):
        return [(name, what.upper()) for what, name in re.findall(r"^\[ +(passed|failed) \] \w+\.principled\[(.*)\]$", output, re.M)]


LANGUAGES = {"python": Python, "java": Java, "cpp": Cpp}
_made = {}


@pytest.fixture(params=LANGUAGES)
def helper(request, tmp_path_factory):
    if request.param not in _made:
        _made[request.param] = LANGUAGES[request.param](tmp_path_factory.mktemp(request.param))
    return _made[request.param]


def directed(helper, names, script, **arguments):
    with FakeDaemon(script, **arguments) as daemon:
        return daemon, helper.run(names, daemon.environment)


# Tests that one process of the runner runs, one after the other, and what the daemon says to each.
TOGETHER = {
    "Derived": [begin(0, WITHOUT), *ALL, end(0), begin(1, WITHOUT), end(1), finish()],
    "Misplaced": [begin(0, WITHOUT), *run("setup"), end(0), finish()],
    "Fresh": [step for number in (0, 1) for step in (begin(number, "one"), *run("execute", "assert_test"), end(number))] + [finish()],
    "Outside": [begin(0, WITHOUT), *run("execute", "teardown"), end(0), finish()]}
_together = {}


@pytest.fixture
def together(helper):
    """The results of the blocks of each, by name."""
    if helper not in _together:
        daemon, told = directed(helper, TOGETHER, [step for script in TOGETHER.values() for step in script])
        posts = {}
        for post in daemon.posts:
            if "hello" in post:
                posts[post["hello"]["test"]] = []
            elif "ran" in post:
                posts[next(reversed(posts))].append(post["ran"])
        assert list(posts) == [helper.test.format(name) for name in TOGETHER], told.stdout
        _together[helper] = dict(zip(TOGETHER, posts.values())), told
    return _together[helper]


def test_blocks_run_as_the_daemon_says_and_tell_what_they_called(helper):
    daemon, told = directed(helper, ["Whole"], [
        begin(0, WITHOUT), *ALL, end(0), {"do": "wait"}, begin(1, GET_USER), *run("setup", "stub", "failure", "execute"),
        closure("on_exception", 1), closure("on_fault", 0), *run("teardown"), end(1, "nobody said what happens\nremedy: say it"), finish()])
    hello = daemon.posts[0]["hello"]
    assert hello["form"] == helper.form and hello["test"] == helper.test.format("Whole")
    assert os.path.samefile(hello["file"], helper.folder / helper.source) and hello["line"] == helper.line('the test')
    assert [list(post)[0] for post in daemon.posts[1:]] == ["begun", *["ran"] * 7, "ended", "waiting", "begun", *["ran"] * 7, "ended"]
    assert [post["ran"]["block"] for post in daemon.posts if "ran" in post] == [
        *(instruction["block"] for instruction in ALL), "setup", "stub", "failure", "execute", "on_exception", "on_fault", "teardown"]
    assert {"begun": 1} in daemon.posts and daemon.posts[-1] == {"ended": 1}
    assert all(post["ran"]["passed"] and post["ran"]["message"] == "" for post in daemon.posts if "ran" in post)
    # The daemon is told of the outermost suspension, and of each group.
    assert [body for at, body in daemon.beside if at == 2] == [
        {"group": "pays"}, {"suspend": True}, {"suspend": False}, {"group": "twice"}, {"group": "pays"}, {"group": None}]

    def calls(block):
        (first, *_) = daemon.ran(block)
        for call in first["calls"]:
            file, line = call.pop("at").rsplit(":", 1)
            assert os.path.isabs(file) and os.path.samefile(file, helper.folder / helper.source), file
            call["line"] = int(line)
        lines = [call.pop("line") for call in first["calls"]]
        assert lines == sorted(set(lines)), lines  # each on its own line of the block
        return first["calls"]
    assert daemon.ran("stub")[0]["calls"][0]["at"].endswith(f":{helper.line('the stub')}")
    assert calls("stub") == [
        {"api": "stub_for", "service": "user", "stub": {"grpc": USER, "request": {"session_id": "s1"}, "answer": {"message": {"user_id": "ann"}}}},
        {"api": "stub_for", "service": "mail", "stub": {"method": "POST", "path": "/mails", "answer": [{"status": 503}, {"json": {"sent": True}}]}}]
    assert calls("failure") == [
        {"api": "assert_on_fault", "keys": [{"grpc": PRICE, "request": {"code": "DAILY"}}, {"grpc": PRICE, "fault": "timeout"}], "specification": 0},
        {"api": "assert_on_exception", "code": "UNAVAILABLE", "specification": 1},
        {"api": "assert_fault_throws", "keys": [{"grpc": USER}], "code": "UNAVAILABLE", "message": "no user"},
        {"api": "assert_fault_throws", "keys": [{"service": "mail", "fault": "status:503"}], "code": 409, "message": None},
        {"api": "assert_fault_propagates", "keys": [{"grpc": CART}]},
        {"api": "assert_fault_has_no_impact", "keys": [{"service": "mail"}]}]
    assert [call.get("specification") for call in daemon.ran("failure")[1]["calls"]] == [0, 1, None, None, None, None]  # of each execution
    assert calls("assert_stubs") == [{"api": "verify_that", "key": {"grpc": USER}, "times": 1}]
    assert calls("on_fault") == [{"api": "read_only_rpc", "key": {"grpc": CART}}]
    assert calls("on_exception") == [{"api": "side_effecting_rpc", "key": {"grpc": "shop.CartService/UpdateCart"}, "times": 0}]
    assert [ran["outcome"] for ran in daemon.ran("execute")] == [{"thrown": True, "code": "UNAVAILABLE", "message": "no user"}] * 2
    assert daemon.ran("setup")[0]["outcome"] is None
    rows = helper.listed(told.stdout)
    assert rows[:2] == [(WITHOUT, "PASSED"), (GET_USER, "FAILED")], told.stdout
    assert told.returncode != 0 and "remedy: say it" in told.stdout


def test_a_block_that_fails_tells_why_and_where(helper, together):
    """The block is inherited but for its end, which fails in a function of the base."""
    ran, told = together[0]["Derived"], together[1]
    (failed,) = [result for result in ran if not result["passed"]]
    assert failed["block"] == "assert_test" and helper.expected in failed["message"]
    assert failed["at"].endswith(f"{helper.source}:{helper.line('it fails')}") and os.path.isabs(failed["at"])
    assert helper.expected in failed["trace"] and helper.source in failed["trace"] and not re.search("filibuster_?principled", failed["trace"], re.I)
    assert [result["block"] for result in ran] == [instruction["block"] for instruction in ALL]
    assert told.returncode == 0, told.stdout  # the daemon says what it means


def test_calls_in_the_wrong_block_are_sent(together):
    (setup,) = together[0]["Misplaced"]
    assert [call["api"] for call in setup["calls"]] == [
        "stub_for", "verify_that", "assert_fault_throws", "assert_fault_propagates", "assert_fault_has_no_impact", "assert_on_fault",
        "assert_on_exception", "read_only_rpc", "side_effecting_rpc"]
    assert setup["passed"] and setup["calls"][1]["times"] == -1


def test_each_execution_has_an_instance_of_its_own(together):
    assert [ran["passed"] for ran in together[0]["Fresh"]] == [True] * 4


def test_a_call_outside_of_every_block_is_refused(together):
    execute, teardown = together[0]["Outside"]
    assert execute["passed"] and not teardown["passed"]
    assert re.search(r"verify_?[tT]hat\(\) was called outside of every block", teardown["message"])


@pytest.mark.parametrize("script, token, said", [
    ([], "another", "the token is wrong"),
    ([begin(0, WITHOUT), (409, "there is another session")], None, "there is another session"),
    ([begin(0, WITHOUT), *run("setup"), "gone"], None, "did not answer"),
    ([{"do": "dance"}], None, "different versions"),
    ([begin(0, WITHOUT), *run("execute"), end(0), finish("a specification never matched")], None, "a specification never matched")])
def test_what_ends_the_test_as_a_whole_stands_in_the_runners_output(helper, script, token, said):
    _, told = directed(helper, ["Whole"], script, **({"token": token} if token else {}))
    assert told.returncode != 0 and said in told.stdout


def test_a_suspension_that_the_daemon_refuses_ends_the_test_as_a_whole(helper):
    """Also where the test catches what is thrown."""
    daemon, told = directed(helper, ["Swallows"], [begin(0, WITHOUT), *run("setup")], beside={"suspend": (409, "the lane is not quiet")})
    assert told.returncode != 0 and "the lane is not quiet" in told.stdout and daemon.posts[-1] == {"begun": 0}


def test_an_execution_of_filibuster_run_says_what_runs_this(helper):
    told = helper.run(["Whole"], {"FILIBUSTER_URL": "http://127.0.0.1:9"})
    assert told.returncode != 0 and "`filibuster principled`" in told.stdout


# ---- started plainly ----

def plainly(helper, tmp_path, lines, last="exit 0"):
    """What the runner said, and the words with which it started a command `filibuster` that prints these lines."""
    program = tmp_path / "filibuster"
    program.write_text("#!/bin/sh\nfor word; do echo \"$word\"; done > " + str(tmp_path / "words") + "\ncat <<'END'\n"
                       + "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + f"\nEND\n{last}\n")
    program.chmod(0o755)
    (helper.folder / "filibuster.json").write_text("{}")
    told = helper.run(["Whole"], {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return told, (tmp_path / "words").read_text().splitlines()


def test_a_test_that_is_started_plainly_starts_filibuster(helper, tmp_path):
    told, words = plainly(helper, tmp_path, [begin(0, WITHOUT), end(0), begin(1, GET_USER), end(1, "nobody said\nremedy: say it"), finish()])
    assert helper.listed(told.stdout)[:2] == [(WITHOUT, "PASSED"), (GET_USER, "FAILED")], told.stdout
    assert "remedy: say it" in told.stdout and told.returncode != 0
    assert words[0] == "principled" and "--in-runner" in words[:words.index("--")]
    assert os.path.samefile(words[words.index("-c") + 1], helper.folder / "filibuster.json")
    # What it was told to start inside of the session is the same test.
    with FakeDaemon([begin(0, WITHOUT), *ALL, end(0), finish()]) as daemon:
        inner = subprocess.run(words[words.index("--") + 1:], cwd=helper.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=60, env={**os.environ, **helper.environment(), **daemon.environment})
    assert inner.returncode == 0 and daemon.posts[-1] == {"ended": 0} and len(daemon.posts) == 10, inner.stdout
    assert daemon.posts[0]["hello"]["test"] == helper.test.format("Whole")


def test_a_session_that_ends_too_early_is_shown(helper, tmp_path):
    told, _ = plainly(helper, tmp_path, [begin(0, WITHOUT)], "echo 'filibuster: the service cart did not start' >&2; exit 4")
    assert told.returncode != 0 and "the service cart did not start" in told.stdout and "exit status 4" in told.stdout


def test_what_finish_says_fails_a_test_that_was_started_plainly(helper, tmp_path):
    told, _ = plainly(helper, tmp_path, [begin(0, WITHOUT), end(0), finish("a specification never matched")])
    assert told.returncode != 0 and "a specification never matched" in told.stdout and helper.listed(told.stdout)[0] == (WITHOUT, "PASSED")


# ---- what a single language has ----

JARS = ["grpc-api", "grpc-context", "protobuf", "guava", "protobuf-util", "gson"]


def typed_python(folder, unused):
    shutil.copy(PROGRAMS / "typed.py", folder / "test_typed.py")
    return [PYTHON, "-m", "pytest", "-q", "-p", "filibuster_principled", "-p", "no:cacheprovider", "test_typed.py"]


def typed_java(unused, factory, jars=JARS):
    """Without JUnit's launcher: as `filibuster principled` starts it."""
    paths = [str(JUNIT_PLATFORM), *(str(JUNIT_PLATFORM.parent / f"{jar}.jar") for jar in jars)]
    missing = [path for path in paths if not os.path.exists(path)]
    if missing or not shutil.which("javac"):
        pytest.skip(f"NOT TESTED HERE: there is no {missing or 'JDK'}")
    if "typed" not in _made:
        _made["typed"] = factory.mktemp("typed")
        subprocess.run(["javac", "-cp", ":".join(paths), "-d", _made["typed"],
                        REPOSITORY / "cli/java/FilibusterPrincipled.java", PROGRAMS / "Typed.java"], check=True, timeout=120)
    return ["java", *QUICK, "-cp", ":".join([str(_made["typed"]), *paths]), "FilibusterPrincipled", "Typed"]


def typed(command, folder, script):
    with FakeDaemon(script) as daemon:
        told = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                              env={**os.environ, "PYTHONPATH": f"{REPOSITORY}/cli/python", **daemon.environment})
    print(told.stdout)
    return daemon, told


@pytest.mark.parametrize("command", [typed_python, typed_java])
def test_objects_of_grpc_and_protobuf_are_taken(command, tmp_path, tmp_path_factory):
    daemon, told = typed(command(tmp_path, tmp_path_factory), tmp_path, [begin(0, WITHOUT), *run("stub", "failure"), end(0), finish()])
    assert told.returncode == 0 and all(ran["passed"] for ran in daemon.ran("stub") + daemon.ran("failure")), daemon.posts
    user, cart = [call["stub"] for call in daemon.ran("stub")[0]["calls"]]
    assert user == {"grpc": USER, "request": {"session_id": "s1"}, "answer": {"message": {"user_id": "ann"}}}
    assert cart["answer"] == [{"code": "NOT_FOUND"}, {"message": {"cart_id": "c1"}}]
    (throws,) = daemon.ran("failure")[0]["calls"]
    assert throws["keys"] == [{"grpc": USER, "request": {"session_id": "s1"}}] and throws["code"] == "UNAVAILABLE"


def test_a_message_without_the_library_that_makes_it_json_says_what_to_add(tmp_path, tmp_path_factory):
    daemon, _ = typed(typed_java(tmp_path, tmp_path_factory, JARS[:-1]), tmp_path, [begin(0, WITHOUT), *run("stub"), end(0), finish()])
    assert not daemon.ran("stub")[0]["passed"] and "com.google.protobuf:protobuf-java-util" in daemon.ran("stub")[0]["message"]


def pytest_of(folder, *words, **environment):
    shutil.copy(PROGRAMS / "shop.py", folder / "test_shop.py")
    told = subprocess.run([PYTHON, "-m", "pytest", "-p", "no:cacheprovider", *words], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, env={**os.environ, "PYTHONPATH": f"{REPOSITORY}/cli/python", **environment})
    print(told.stdout)
    return told


COLLECTED = ["Whole", "Derived", "Misplaced", "Swallows", "Fresh", "Outside"]


def test_pytest_collects_what_has_an_execute_block_and_shows_what_it_wrote(tmp_path):
    script = []
    for _ in COLLECTED:
        script += [begin(0, "same"), *run("assert_test"), end(0, "a text of the daemon"), begin(1, "same"), end(1), finish()]
    script += [begin(0, WITHOUT), *run("setup"), end(0), finish()]
    with FakeDaemon(script) as daemon:
        # The other plugin of Filibuster has an option of the same name, and leaves these tests alone.
        told = pytest_of(tmp_path, "-p", "filibuster_pytest", "-p", "filibuster_principled", "--filibuster=some.json", "-v", **daemon.environment)
    rows = re.findall(r"^test_shop\.py::Test(\S+?)(?:\[(.*)\])? (PASSED|FAILED|SKIPPED)", told.stdout, re.M)
    assert rows == [row for name in COLLECTED
                    for row in ((name, "same", "FAILED"), (name, "same (2)", "PASSED"), (name, "", "PASSED"))] + [
        ("OfBases", WITHOUT, "PASSED"), ("OfBases", "", "PASSED"), ("Skipped", "", "SKIPPED")]
    assert [post["hello"]["test"].split("::Test")[1] for post in daemon.posts if "hello" in post] == [*COLLECTED, "OfBases"]
    assert daemon.ran("setup")[0]["message"] == "Skipped: not today" and not daemon.ran("setup")[0]["passed"]
    assert "Captured stdout call" in told.stdout and told.stdout.count("what was written") == 1, told.stdout


def test_pytest_without_the_plugin_passes_over_nothing(tmp_path):
    told = pytest_of(tmp_path, "-q")
    assert told.returncode != 0 and "pytest -p filibuster_principled" in told.stdout and "passed" not in told.stdout


@pytest.mark.parametrize("words, ini, named", [
    (["--filibuster=ci/one.json"], "", "ci/one.json"), ([], "filibuster_config = ci/two.json", "ci/two.json")])
def test_pytest_takes_the_configuration_that_is_named(tmp_path, words, ini, named):
    program = tmp_path / "filibuster"
    program.write_text("#!/bin/sh\necho \"started with $3\" >&2\n")
    program.chmod(0o755)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    told = pytest_of(tmp_path, "-q", "-p", "filibuster_principled", *words, "test_shop.py::TestWhole", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert f"started with {tmp_path / named}" in told.stdout


def test_a_test_without_a_configuration_says_where_it_looked(tmp_path):
    told = pytest_of(tmp_path, "-q", "-p", "filibuster_principled", "test_shop.py::TestWhole", PATH=str(tmp_path))
    assert "not on the PATH" in told.stdout
    program = tmp_path / "filibuster"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    told = pytest_of(tmp_path, "-q", "-p", "filibuster_principled", "test_shop.py::TestWhole", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert "there is no filibuster.json in the folder of" in told.stdout


def test_the_headers_of_googletest_stand_beside_each_other(tmp_path):
    """Under clang and as C++20; the tests above use g++ and C++17."""
    source = tmp_path / "both.cc"
    source.write_text('#include "filibuster_principled.h"\n#include "filibuster_gtest.h"\n#include "filibuster_predicates.h"\n')
    for compiler in list(filter(shutil.which, ("clang++-14", "g++")))[:1]:
        subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{REPOSITORY}/cli/c", source], check=True, timeout=120)


def test_the_examples_of_the_manual_are_the_same_test(helper):
    daemon, told = directed(helper, [], [begin(0, WITHOUT), *ALL, closure("on_exception", 0), end(0), finish()])
    assert told.returncode == 0 and all(post["ran"]["passed"] for post in daemon.posts if "ran" in post), daemon.posts
    calls = [{name: value for name, value in call.items() if name != "at"} for post in daemon.posts if "ran" in post for call in post["ran"]["calls"]]
    adjustment, update = "shop.PricingAdjustmentService/GetAdjustment", "shop.CartService/UpdateCart"
    assert [call["stub"]["answer"]["message"] for call in calls[:4]] == [
        {"user_id": "ann"}, {"cart_id": "c1", "merchant_id": "bob", "total": 10000}, {"percent": 10}, {"cart_id": "c1", "merchant_id": "bob", "total": 9000}]
    assert calls[2]["stub"]["fields"] == {"/code": "FIRST-TIME"}
    assert [(call["api"], call.get("message"), call.get("specification")) for call in calls[4:9]] == [
        ("assert_fault_throws", "the purchase could not be completed, try again: no user", None),
        ("assert_fault_throws", "the purchase could not be completed, try again: no cart", None),
        ("assert_on_exception", None, 0), ("assert_on_fault", None, 1), ("assert_on_fault", None, 2)]
    assert calls[9:13] == [{"api": "verify_that", "key": {"grpc": rpc}, "times": 1} for rpc in (USER, CART, adjustment, update)]
    assert calls[13:] == [{"api": "read_only_rpc", "key": {"grpc": CART}}, {"api": "read_only_rpc", "key": {"grpc": adjustment}},
                          {"api": "side_effecting_rpc", "key": {"grpc": update}, "times": 0}]
