"""Appendix A of the dissertation, step by step, in each form of a test: what `filibuster principled` says, beside what the text says.
Fails where they differ. The steps are those of docs/principled.md; in the programs they are made by STEP."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("BUILD", "build")
FILIBUSTER = BUILD / "bin" / "filibuster"
FILES = REPOSITORY / "corpus" / "purchase" / "principled"
JUNIT_PLATFORM = pathlib.Path("/usr/share/java/junit-platform-console-standalone.jar")
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "filibuster_principled"]
sys.path.insert(0, str(REPOSITORY / "tests" / "integration" / "principled"))
import tutorial  # noqa: E402

# What the text says at each step of docs/principled.md. It names no numbers but those of the end (11.3.3: 4 RPCs * 2 faults, and the
# execution without faults); the others follow from its order: it stops at the first fault that is not stated (11.1).
TEXT = [
    "A.1.2: a missing stub is named before anything else", "11.1, 1b: each stub has an exact count",
    "A.1.7: the first fault is at getUser, and nothing says that it throws", "A.1.7: the state on UNAVAILABLE has to be stated for it",
    "A.1.7: then the second code of getUser, and getCart", "A.1.7: then getAdjustment, which is soft",
    "11.2.1: without a discount updateCart is not called, which is to be said", "A.1.7: then updateCart", "11.3.3: 4 RPCs * 2 faults = 8, and 1",
    "A.2.1: the counts of three adjustments", "A.2.2: each in isolation first", "A.2.2: then compositions: nothing is derived",
    "A.2.2: with updateCart, too", "A.2.2: all three together", "A.2: all is stated",
    "A.3: the new dependency comes after the faults", "A.3: its own fault is to be stated", "A.3: compositions with it are inferred"]
PARTS = {"order": 0, "discounts": 9}  # the programs of each form, and their first steps


class Failed(Exception):
    pass


def programs(form, folder):
    """The command of each part, built there."""
    if form == "pytest":
        return {part: [*PYTEST, f"{part}_test.py"] for part in PARTS}
    if form == "gtest":
        for part in PARTS:
            subprocess.run(["g++", "-std=c++17", f"-I{REPOSITORY}/cli/c", f"{part}_test.cc", "-o", f"{part}_test", "-lgtest_main", "-lgtest", "-lpthread"],
                           cwd=folder, check=True)
        return {part: [f"./{part}_test"] for part in PARTS}
    if not shutil.which("javac") or not JUNIT_PLATFORM.exists():
        raise Failed(f"there is no {JUNIT_PLATFORM}, or no JDK: install the packages of make test-deps")
    classes = {part: f"{part.capitalize()}Test" for part in PARTS}
    subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-cp", JUNIT_PLATFORM, "-d", "classes", REPOSITORY / "cli/java/FilibusterPrincipled.java",
                    *(f"{name}.java" for name in classes.values())], cwd=folder, check=True)
    return {part: ["java", "-jar", str(JUNIT_PLATFORM), "--class-path=classes", f"--select-class={name}"] for part, name in classes.items()}


def told(folder, config, program=(), step=0):
    text = json.dumps(config).replace("../../../build", str(BUILD)).replace("../../../cli", f"{REPOSITORY}/cli")
    (folder / "config.json").write_text(text)
    run = subprocess.run([FILIBUSTER, "principled", "--root", "state", "-c", "config.json", *(["--", *program] if program else [])],
                         cwd=folder, env={**os.environ, "STEP": str(step)}, capture_output=True, text=True, timeout=600)
    try:
        return tutorial.said(json.loads((folder / "state" / "principled.json").read_text()))
    except (OSError, ValueError, AssertionError) as error:
        raise Failed(f"exit code {run.returncode}\n{run.stdout}{run.stderr}") from error
    finally:
        shutil.rmtree(folder / "state", ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--form", action="append", choices=["json", "pytest", "junit", "gtest"])
    forms = parser.parse_args().form or ["json", "pytest", "junit", "gtest"]
    steps, wrong = tutorial.steps(), 0
    assert len(steps) == len(TEXT), "docs/principled.md has other steps than this table"
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        for file in FILES.iterdir():
            if file.is_file():
                shutil.copy(file, folder)
        built = {form: programs(form, folder) for form in forms if form != "json"}
        tests = {part: json.loads((FILES / f"{part}_program.json").read_text())["tests"] for part in PARTS}
        print(f"{'step':>4}  {'form':6}  {'executions':>10}  {'diagnostic':45}  the text")
        for number, ((config, expected), text) in enumerate(zip(steps, TEXT)):
            part = [part for part, first in PARTS.items() if number >= first][-1]
            for form in forms:
                # The services and the faults are the page's in each form: some steps change them.
                kind, count = (told(folder, config) if form == "json" else
                               told(folder, {**config, "tests": tests[part]}, built[form][part], number))
                good = (kind, count) == expected
                wrong += not good
                print(f"{number:>4}  {form:6}  {count:>10}  {kind:45}  {text}" + ("" if good else f"  ! expected: {expected[0]}, {expected[1]}"), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"reproduce-principled: {error}")
