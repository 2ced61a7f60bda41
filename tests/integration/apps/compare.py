"""A functional test that passes whatever it sees: asks apps/forked.py once, and appends to SEEN one JSON line with what it
saw of each item and what the daemon says was injected there.

compare.py SEEN URL FAULT[,FAULT...]
"""
import json
import os
import sys
import urllib.request

from filibuster_predicates import was_fault_injected

file, url, faults = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with opener.open(url, timeout=30) as response:
    saw = json.load(response)
said = {item: [fault for fault in faults if was_fault_injected(service="back", path=f"/{item}", fault=fault)] for item in saw}
with open(file, "a") as out:
    out.write(json.dumps({"execution": os.environ["FILIBUSTER_EXECUTION"], "saw": saw, "said": said}) + "\n")
