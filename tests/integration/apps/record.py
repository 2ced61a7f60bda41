"""A functional test that passes whatever it sees: runs a command, and appends to SEEN one JSON line with the fault that
was injected in this execution, the exit code, the output, and what the services received meanwhile.

record.py SEEN RECEIVED[,RECEIVED...] FAULT[,FAULT...] COMMAND...
"""
import json
import os
import subprocess
import sys

from filibuster_predicates import was_fault_injected


def lines(path):
    with open(path) as file:
        return file.read().splitlines()


seen, received, faults = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")
before = {path: len(lines(path)) for path in received}
done = subprocess.run(sys.argv[4:], capture_output=True, text=True)
row = {"execution": os.environ["FILIBUSTER_EXECUTION"], "exit": done.returncode,
       "output": done.stdout.strip(), "errors": done.stderr.strip(),
       "faults": [fault for fault in faults if was_fault_injected(fault=fault)],
       "received": {path: lines(path)[before[path]:] for path in received}}
with open(seen, "a") as file:
    file.write(json.dumps(row) + "\n")
