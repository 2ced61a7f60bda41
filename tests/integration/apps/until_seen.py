"""until_seen.py PATH: the end of a test that waits until the running execution has an RPC with this path."""
import json
import os
import sys
import time
import urllib.request

request = urllib.request.Request(os.environ["FILIBUSTER_URL"] + "/v1/trace",
                                 headers={"Authorization": "Bearer " + os.environ["FILIBUSTER_TOKEN"]})
deadline = time.monotonic() + 30
while time.monotonic() < deadline:
    with urllib.request.urlopen(request, timeout=30) as answer:
        if any(rpc["path"] == sys.argv[1] for rpc in json.load(answer)["rpcs"]):
            sys.exit(0)
    time.sleep(0.01)
sys.exit(f"no RPC {sys.argv[1]} was seen")
