"""Runs the unit tests of the services, which are written in their own language."""
import subprocess


def test_units_in_node():
    run = subprocess.run(["node", "--test", "test_units.mjs"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
