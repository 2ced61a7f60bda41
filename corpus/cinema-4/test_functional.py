"""A user sees the movies of their bookings, whatever the web sites of others do; without Bookings or Movies they are
told so by a 503."""
import json
import os
import urllib.error
import urllib.request

from filibuster_predicates import was_fault_injected

try:
    with urllib.request.urlopen(f"{os.environ['USERS_URL']}/users/chris_rivers/bookings", timeout=20) as response:
        status, body = response.status, json.load(response)
except urllib.error.HTTPError as error:
    status, body = error.code, None

if was_fault_injected(service="bookings") or was_fault_injected(service="movies"):
    assert status == 503, f"expected 503 under a fault, got {status}"
else:
    assert status == 200, f"expected 200, got {status}"
    assert [movie["title"] for movie in body["20151201"]] == ["Creed"], body
