"""A hotel is shown with reviews: by relevance, else the newest first, else the user is told by a 503."""
import json
import os
import urllib.error
import urllib.request

from filibuster_predicates import was_fault_injected

try:
    with urllib.request.urlopen(f"{os.environ['GATEWAY_URL']}/hotels/7", timeout=10) as response:
        status, body = response.status, json.load(response)
except urllib.error.HTTPError as error:
    status, body = error.code, None

if was_fault_injected(service="review-ml") and was_fault_injected(service="review-time"):
    assert status == 503, status
elif was_fault_injected(service="review-ml"):
    assert status == 200 and body["reviews"]["order"] == "time", (status, body)
else:
    assert status == 200 and body["reviews"]["order"] == "relevance", (status, body)
