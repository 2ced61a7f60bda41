"""Runs the body of a test again and again in one process: `repeat.py FILE TIMES`. What the file defines as test_… is called, if there is
any. Prints the median of the milliseconds."""
import pathlib
import runpy
import statistics
import sys
import time

FIRST = 5  # what is loaded and cached at first is not counted

path, times = pathlib.Path(sys.argv[1]), int(sys.argv[2])
code = compile(path.read_text(), str(path), "exec")
if "def test_" in path.read_text():
    functions = [function for name, function in runpy.run_path(str(path)).items() if name.startswith("test_")]
else:
    functions = [lambda: exec(code, {"__name__": "__main__"})]  # noqa: S102
taken = []
for _ in range(FIRST + times):
    begin = time.perf_counter()
    for function in functions:
        function()
    taken.append(1000 * (time.perf_counter() - begin))
print(statistics.median(taken[FIRST:]))
