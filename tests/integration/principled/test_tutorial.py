"""docs/principled.md, step by step, on the order service of corpus/purchase: each diagnostic and each number of executions that the
page names."""
import json
import pathlib
import shutil

import pytest

import tutorial
from conftest import BUILD, CORPUS

FILES = CORPUS / "purchase" / "principled"
STEPS = tutorial.steps()
# What `make test` leaves out: steps whose kind of diagnostic another one has, too. An execution takes several processes and a call
# of gRPC, and a step begins with all the executions that hold already; the last one of the page has 32.
BETWEEN = {4, 7, 10, 12, 13, 14, 16, 17}


@pytest.mark.parametrize("number", [pytest.param(number, marks=[pytest.mark.whole] if number in BETWEEN else [])
                                    for number in range(len(STEPS))])
def test_each_step_says_what_the_page_says(project, number):
    if not shutil.which("redis-cli"):
        pytest.skip("NOT CHECKED: redis is not installed")
    config, expected = STEPS[number]
    for file in filter(pathlib.Path.is_file, FILES.iterdir()):  # and not what a session of the page has left there
        shutil.copy(file, project.directory)
    project.write("mine.json", json.dumps(config).replace("../../../build", str(BUILD)))
    run = project.filibuster("principled", "-c", "mine.json")
    assert tutorial.said(json.loads((project.root / "principled.json").read_text())) == expected, run
    assert run.exit_code == (0 if expected[0] == tutorial.HOLDS else 1), run
    assert expected[0] in run.output, run


@pytest.mark.parametrize("name, executions", [("order", 9), ("discounts", 32)])
def test_the_files_of_the_example_are_the_ends_of_the_tutorial(name, executions):
    end = json.loads((FILES / f"{name}.json").read_text())
    assert end in [config for config, said in STEPS if said == (tutorial.HOLDS, executions)]
    programs = json.loads((FILES / f"{name}_program.json").read_text())
    assert {**programs, "tests": []} == {**end, "tests": []}
