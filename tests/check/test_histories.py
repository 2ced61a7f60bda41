"""The histories of the tree are those that their program makes, each with the verdict of a search of every order."""
import pathlib
import subprocess
import sys

MAKE = pathlib.Path(__file__).resolve().parents[1] / "histories" / "make.py"


def test_they_are_what_their_program_makes():
    made = subprocess.run([sys.executable, MAKE, "--check"], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stdout + made.stderr
