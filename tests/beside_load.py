"""Runs a command beside N busy loops, which end with it: beside_load.py N COMMAND..."""
import ctypes
import multiprocessing
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1


def spin():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # whatever ends this program
    while True:
        pass


if __name__ == "__main__":
    loops = [multiprocessing.Process(target=spin, daemon=True) for _ in range(int(sys.argv[1]))]
    for loop in loops:
        loop.start()
    try:
        sys.exit(subprocess.run(sys.argv[2:]).returncode)
    finally:
        for loop in loops:
            loop.kill()
