"""The commands of README.md and docs, as they stand there, on an application as the README describes it: each ends with a verdict
(exit code 0 or 1). tests/check/test_documents.py sees to it that no block of commands is without a test."""
import json
import os
import re
import shutil
import socket
import stat
import subprocess

import pytest

from conftest import BUILD, FILIBUSTER, PYTHON, REPOSITORY, free_port, wait_until

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]

SERVER = """
import argparse, os, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, body = 200, answer()
        except OSError:
            status, body = 503, b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
port = parser.parse_args().port or int(os.environ["PORT"])
"""
MOVIES = "#!/usr/bin/python3" + SERVER + """
def answer():
    return b"Creed"

ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
USERS = SERVER + """
movies = os.environ.get("MOVIES_URL") or "http://127.0.0.1:" + os.environ["PORT_MOVIES"]

def answer():
    with urllib.request.urlopen(movies + "/movies", timeout=1) as response:
        return response.read()

ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
TEST = """
import os, urllib.request

def test_home():
    url = os.environ.get("USERS_URL") or "http://127.0.0.1:" + os.environ["PORT_USERS"]
    with urllib.request.urlopen(url, timeout=30) as response:
        assert response.status == 200
"""
CLIENT = """
import os, urllib.request

def movies():
    with urllib.request.urlopen("http://127.0.0.1:%s/movies" % os.environ["PORT"], timeout=1) as response:
        return response.read()
"""
SUITE = """
from client import movies

def test_movies():
    assert movies() == b"Creed"
"""


def blocks(page, language):
    return re.findall(rf"^(?:<!-- (.*?) -->\n)?```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def commands_of(test):
    """The lines of the blocks that name this test as theirs."""
    mark = f"run by tests/integration/cli/test_documents.py::{test}"
    lines = [line for page in PAGES for marker, text in blocks(page, "sh") if marker == mark for line in text.splitlines()]
    assert lines, f"no document has a block that is '{mark}'"
    return lines


@pytest.fixture
def shop(tmp_path):
    """The application of README.md, in a folder of its own, and what runs a line of a shell in there."""
    return Shop(tmp_path)


class Shop:
    def __init__(self, folder):
        self.folder = folder / "shop"
        tools = folder / "tools"
        for made in (self.folder / "tests", tools):
            made.mkdir(parents=True)
        self.write("movies", MOVIES).chmod(0o755)
        self.write("users.py", USERS)
        self.write("test_home.py", TEST)
        # A file with one function needs nothing of pytest, which takes half a second to start, in each execution.
        self.tool(tools / "pytest", f"[ \"$*\" != '-q test_home.py' ] || exec {PYTHON} -S -c 'import test_home; test_home.test_home()'\n"
                                    f"exec {PYTHON} -m pytest -p no:cacheprovider \"$@\"")
        self.tool(tools / "python3", f"exec {PYTHON} \"$@\"")
        self.environment = {**os.environ, "PATH": f"{FILIBUSTER.parent}:{tools}:{os.environ['PATH']}", "BROWSER": "true"}
        for display in ("DISPLAY", "WAYLAND_DISPLAY"):
            self.environment.pop(display, None)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    @staticmethod
    def tool(path, line):
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def configure(self, page):
        """The configuration that stands in this page, as it stands there."""
        (text,) = [text for _, text in blocks(REPOSITORY / page, "json") if '"test_home.py' in text or "pytest -q test_home.py" in text]
        self.write("filibuster.json", text)

    def __call__(self, line):
        run = subprocess.run(["sh", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=240)
        print(f"$ {line}\nexit code {run.returncode}\n{run.stdout}\n{run.stderr}")
        assert run.returncode in (0, 1), f"{line}: exit code {run.returncode}\n{run.stdout}\n{run.stderr}"
        return run

    def findings(self):
        return json.loads((self.folder / ".filibuster/report.json").read_text())["tests"][0]["findings"]


def test_the_first_commands(shop):
    shop.write("Procfile", "movies: ./movies --port $PORT\nweb: python3 users.py --port $PORT\n")
    first, *others = commands_of("test_the_first_commands")
    shop(first)
    assert {service["name"] for service in json.loads(without_comments(shop.folder / "filibuster.json"))["services"]} == {"movies", "web"}
    shop.configure("README.md")
    runs = {line.split("#")[0].strip(): shop(line) for line in others}
    assert runs["filibuster run"].returncode == 1 and shop.findings()
    assert runs["filibuster replay 1"].returncode == 1
    assert "report.html" in runs["filibuster open"].stdout


def without_comments(path):
    return re.sub(r"^\s*//.*$|\s//.*$", "", path.read_text(), flags=re.M)


def test_the_demonstration():
    """`make demo`, without the build."""
    run = subprocess.run(["sh", str(REPOSITORY / "corpus/demo.sh")], env={**os.environ, "BUILD": str(BUILD)},
                         capture_output=True, text=True, timeout=240)
    assert run.returncode == 0 and "replay" in run.stdout, run


def in_the_future(line):
    """The last day of an acceptance is to come, whenever this runs."""
    return re.sub(r"--until \S+", "--until 2999-12-31", line)


@pytest.mark.whole
def test_the_verbs_of_the_guide(shop):
    """Seven commands, most of them a session of their own."""
    shop.configure("docs/guide.md")
    suites = []
    for line in commands_of("test_the_verbs_of_the_guide"):
        if line.startswith("filibuster suite"):
            suites.append(line)
        else:
            shop(in_the_future(line))
    assert json.loads((shop.folder / "accepted.json").read_text())["accepted"]
    (suite,) = suites  # its tests call a server that runs already
    shop.write("client.py", CLIENT)
    shop.write("tests/test_movies.py", SUITE)
    port = str(free_port())
    shop.environment.update({"PORT": port, "PYTHONPATH": str(shop.folder)})
    server = subprocess.Popen([PYTHON, shop.folder / "movies", "--port", port])
    try:
        wait_until(lambda: listens(int(port)), "the server listens")
        assert "test_movies" in shop(suite).stdout
    finally:
        server.kill()
        server.wait()


def listens(port):
    with socket.socket() as looked:
        return looked.connect_ex(("127.0.0.1", port)) == 0


def test_an_application_without_a_file(shop):
    (line,) = commands_of("test_an_application_without_a_file")
    assert shop(line).returncode == 1 and shop.findings()


@pytest.fixture
def explored(shop):
    """The application after a run, with three findings or more in its report."""
    shop.configure("README.md")
    document = json.loads((shop.folder / "filibuster.json").read_text())
    shop.write("filibuster.json", json.dumps({**document, "baseline": "accepted.json"}))
    shop("filibuster run")
    assert len(shop.findings()) >= 3
    return shop


def test_a_finding_is_accepted_and_replayed_elsewhere(explored):
    accept, replay = commands_of("test_a_finding_is_accepted_and_replayed_elsewhere")
    shutil.copy(explored.folder / ".filibuster/counterexamples/3.json", explored.folder)
    explored(in_the_future(accept))
    assert explored(replay).returncode == 1


# The same options are in test_ci_results.py.
@pytest.mark.whole
def test_a_bounded_run_of_what_has_changed(explored):
    git = "git -c user.name=somebody -c user.email=somebody@example.org"
    explored(f"git init -q && git add . && {git} commit -qm one && git update-ref refs/remotes/origin/main HEAD && echo >> users.py")
    (line,) = commands_of("test_a_bounded_run_of_what_has_changed")
    assert explored(line).returncode == 1


def test_pages_are_opened(explored):
    (explored.folder / "results").mkdir()
    for name in ("report.json", "report.html"):
        shutil.copy(explored.folder / ".filibuster" / name, explored.folder / "results")
    for line in commands_of("test_pages_are_opened"):
        assert "report.html" in explored(line).stdout


def test_lanes(shop):
    shop.configure("README.md")
    for line in commands_of("test_lanes"):
        assert shop(line).returncode == 1


def test_lints(shop):
    shop.configure("README.md")
    for line in commands_of("test_lints"):
        shop(line)
    assert json.loads((shop.folder / "filibuster.sarif").read_text())["version"] == "2.1.0"


def test_rules_are_proposed(shop):
    shop.configure("README.md")
    for line in commands_of("test_rules_are_proposed"):
        shop(line)
    assert json.loads((shop.folder / "proposed.json").read_text())["faults"]


def test_rules_are_proposed_until_nothing_new_comes(shop):
    shop.configure("README.md")
    for line in commands_of("test_rules_are_proposed_until_nothing_new_comes"):
        shop(line.replace("&&", ";"))  # a run that finds something does not end with 0
    assert json.loads((shop.folder / "proposed-2.json").read_text())["faults"]


# --- what is named within a text ----------------------------------------------------------------


def said(*words):
    run = subprocess.run([str(FILIBUSTER), "help", *words], capture_output=True, text=True, timeout=30)
    return run.stdout if run.returncode == 0 else ""


@pytest.fixture(scope="module")
def options():
    """The options of each verb, and of the verbs of verbs, as `help` shows them."""
    verbs = re.findall(r"^  ([a-z][a-z-]*)  ", said(), re.M)
    return {verb: set(re.findall(r"--[a-z][a-z-]*", said(verb))) for verb in verbs}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_and_options_are_those_of_the_tool(page, options):
    text = page.read_text()
    lines = [line for _, block in blocks(page, "sh") for line in block.splitlines()] + re.findall(r"`((?:[A-Z_]+=\S* )*filibuster [^`\n]*)`", text)
    wrong = []
    for line in lines:
        for verb, rest in re.findall(r"(?:^|[\s;&(])filibuster ([a-z][a-z-]*)([^|;&]*)", re.sub(r"\s#.*", "", line)):
            ours = rest.split(" -- ")[0]
            named = {word for word in re.findall(r"(?<=\s)--[a-z][a-z-]*", re.sub(r"'[^']*'|\"[^\"]*\"", "", ours))}
            if verb not in options or named - options[verb]:
                wrong.append(line)
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_whole_configurations_are_valid(page, tmp_path):
    for number, (_, text) in enumerate(blocks(page, "json")):
        if '"version"' not in text or not {'"services"', '"tests"'} & set(re.findall('"[a-z]+"', text)):
            continue  # a part, or another document
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        run = subprocess.run([str(FILIBUSTER), "config", "check", str(path)], capture_output=True, text=True, timeout=30)
        assert run.returncode == 0, run.stdout + run.stderr
