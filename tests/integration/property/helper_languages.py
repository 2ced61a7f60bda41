"""The helpers for models and clients: the files of each language, and a program that is asked in lines."""
import dataclasses
import json
import pathlib
import shutil
import subprocess
import threading
import typing

from conftest import PYTHON, REPOSITORY

PROGRAMS = pathlib.Path(__file__).parent / "programs"
# nlohmann's header takes seconds to compile. With the names of files in their folder, ccache knows a program again elsewhere.
CXX = [*(["ccache"] if shutil.which("ccache") else []), "g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror"]
JAVA = ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", "."]


@dataclasses.dataclass(frozen=True)
class Language:
    helper: pathlib.Path
    compiler: typing.Callable[[list[str]], list[str]]  # the command for these files, or none
    command: typing.Callable[[str], list[str]]  # of the program whose file has this name


LANGUAGES = {
    "python": Language(REPOSITORY / "cli/python/filibuster_property.py", lambda files: [], lambda file: [PYTHON, file]),
    "node": Language(REPOSITORY / "cli/node/filibuster_property.cjs", lambda files: [], lambda file: ["node", file]),
    "java": Language(REPOSITORY / "cli/java/FilibusterProperty.java",
                     lambda files: ["javac", "-Xlint:all,-serial", "-Werror", "FilibusterProperty.java", *files],
                     lambda file: [*JAVA, pathlib.Path(file).stem]),
    "cpp": Language(REPOSITORY / "cli/c/filibuster_property.h",
                    lambda files: ["sh", "-c", '"$@" -c -o program.o && g++ -o program program.o', "sh", *CXX, *files],
                    lambda file: ["./program"]),
}


def make(folder, language, *files):
    """These programs in this folder, with the helper beside them, as users have it."""
    shutil.copy(LANGUAGES[language].helper, folder)
    if compiler := LANGUAGES[language].compiler([str(file) for file in files]):
        made = subprocess.run(compiler, cwd=folder, capture_output=True, text=True, timeout=240)
        assert made.returncode == 0, made.stderr + made.stdout


class Program:
    """One that answers questions."""

    def __init__(self, command, folder, **options):
        self.process = subprocess.Popen(command, cwd=folder, text=True, encoding="utf-8",
                                        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def ask(self, line=None, **question):
        # One that does not answer is ended, so that the test fails.
        watch = threading.Timer(60, self.process.kill)
        watch.start()
        self.process.stdin.write((json.dumps(question, ensure_ascii=False) if line is None else line) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        watch.cancel()
        return json.loads(answer)

    def end(self):
        """What it printed to the standard error. It must end by itself when there are no more questions, and say nothing more."""
        out, said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0 and not out, (out, said)
        return said


def line_of(file, text):
    (number,) = [number for number, line in enumerate(file.read_text().splitlines(), 1) if text in line]
    return number
