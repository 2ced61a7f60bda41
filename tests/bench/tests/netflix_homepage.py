"""The functional test of corpus/netflix in Python (tests/bench/snapshot_bench.py): it expects what the native one expects."""
import os
import sys

import requests

sys.path.insert(0, os.environ["PREDICATES"])
from filibuster_predicates import was_fault_injected  # noqa: E402


def failed(service):
    return was_fault_injected(service=service)


def status_without(service):
    return 404 if was_fault_injected(service=service, fault="status:404") else 503


def check(answer):
    if failed("api-gateway"):
        assert answer.status_code == status_without("api-gateway")
        return
    if failed("user-profile"):
        if status_without("user-profile") == 404:
            assert answer.status_code == 404
        else:
            assert answer.status_code == 200 and answer.json()["signed-in"] is False
        return
    for service in ("trending", "my-list", "ratings"):
        if failed(service):
            assert answer.status_code == status_without(service)
            return
    assert answer.status_code == 200
    page = answer.json()
    assert page["user-profile"]["name"] == "Chris Rivers"
    assert page["my-list"] == ["Borgen", "Kingdom"] and page["ratings"][0]["stars"] == 5
    no_bookmarks, no_user, no_global = map(failed, ("bookmarks", "user-recommendations", "global-recommendations"))
    assert ("bookmarks" in page) != no_bookmarks
    assert page.get("recommendations") == (["1899"] if not no_user else ["Roma"] if not no_global else None)
    assert ("trending" in page) == (no_bookmarks or (no_user and no_global))


check(requests.get(os.environ["MOBILE_CLIENT_URL"] + "/netflix/homepage/users/chris_rivers", timeout=30))
