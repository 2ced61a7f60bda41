"""Runs the unit tests of the services, which are written in their own language."""
import os
import pathlib
import subprocess

CLASSES = pathlib.Path(__file__).resolve().parents[2] / os.environ.get("BUILD", "build") / "corpus" / "mailchimp"


def test_units_in_java():
    run = subprocess.run(["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", str(CLASSES), "UnitTests"],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
