"""docs/property-libraries.md: the tests of hypothesis and fast-check, and what becomes of them, as they stand there."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, CORPUS, PYTHON, REPOSITORY, accepts, free_port, wait_until
from helper_languages import make

PAGE = (REPOSITORY / "docs/property-libraries.md").read_text()
FAST_CHECK = BUILD / "tests/fast_check/node_modules"
has_hypothesis = subprocess.run([PYTHON, "-c", "import hypothesis"], stderr=subprocess.DEVNULL).returncode == 0


def write_blocks(folder, test):
    """The blocks that name this test, each under the name in its first line."""
    mark = f"run by tests/integration/property/test_property_libraries.py::{test}"
    blocks = re.findall(rf"^<!-- {mark} -->\n```\w+\n(?:#|//) (\S+)\n(.*?)^```", PAGE, re.M | re.S)
    assert blocks, f"the page has no block that is '{mark}'"
    for name, text in blocks:
        (folder / name).write_text(text)
    return [name for name, _ in blocks]


@pytest.fixture
def web():
    """The environment of a test of the job queue, which runs without Filibuster."""
    queue_port, web_port = free_port(), free_port()
    environment = {**os.environ, "QUEUE_URL": f"http://127.0.0.1:{queue_port}", "WEB_URL": f"http://127.0.0.1:{web_port}"}
    started = [subprocess.Popen([PYTHON, program, str(port)], cwd=CORPUS / "job-queue", env=environment, stderr=subprocess.DEVNULL)
               for program, port in (("ticket_queue.py", queue_port), ("web.py", web_port))]
    wait_until(lambda: accepts(queue_port) and accepts(web_port), "the job queue listens")
    yield environment
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.skipif(not has_hypothesis, reason="python3-hypothesis is not there: the example before was NOT RUN")
def test_hypothesis_before(tmp_path, web):
    (name,) = write_blocks(tmp_path, "test_hypothesis_before")
    run = subprocess.run([PYTHON, name], cwd=tmp_path, env=web, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and "Ran 1 test" in run.stderr, run


@pytest.mark.skipif(not (FAST_CHECK / "fast-check").exists(), reason="fast-check is not there (make test-programs): the example before was NOT RUN")
def test_fast_check_before(tmp_path, web):
    (name,) = write_blocks(tmp_path, "test_fast_check_before")
    (tmp_path / "node_modules").symlink_to(FAST_CHECK)
    run = subprocess.run(["node", name], cwd=tmp_path, env=web, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and not run.stderr, run


def property_of(project, test, language, interpreter):
    """A run of the blocks that name this test."""
    folder = project.directory / "jobs"
    shutil.copytree(CORPUS / "job-queue", folder, ignore=shutil.ignore_patterns("__pycache__", "*.cc", "*.json", "model.py", "client.py"))
    model, client = write_blocks(folder, test)
    make(folder, language)
    document = json.loads((CORPUS / "job-queue/filibuster.json").read_text())
    document["tests"][0]["property"] = {"model": f"exec {interpreter} {model}", "client": f"exec {interpreter} {client}"}
    (folder / "filibuster.json").write_text(json.dumps(document))
    outcome = project.filibuster("property", "-c", folder / "filibuster.json", "--seed", "3", "--tests", "12")
    (result,) = json.loads((outcome.root / "property.json").read_text())["tests"]
    assert outcome.exit_code == 0 and result["executed"] == 12 and result["fired"], outcome
    for command in ("write ok", "write fail", "read ok"):
        assert result["commands"][command] > 0, outcome


def test_hypothesis_after(project):
    property_of(project, "test_hypothesis_after", "python", PYTHON)


def test_fast_check_after(project):
    property_of(project, "test_fast_check_after", "node", "node")
