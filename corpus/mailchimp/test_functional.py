"""A pretty URL leads to its campaign, and the page shows nothing else. If that cannot be, the user gets the page that
says so, never a raw error. Only Requestmapper, App Server and the last replica of the database can be in the way."""
import os
import urllib.error
import urllib.request

from filibuster_predicates import was_fault_injected

try:
    with urllib.request.urlopen(f"{os.environ['LOAD_BALANCER_URL']}/urls/spring-sale", timeout=20) as response:
        status, page = response.status, response.read().decode()
except urllib.error.HTTPError as error:
    status, page = error.code, error.read().decode()

if status == 503:
    assert page == "<h1>We will be back in a minute</h1>", page
    assert (was_fault_injected(service="app-server") or was_fault_injected(service="requestmapper")
            or was_fault_injected(service="db-secondary")), "unavailable although all that is needed answered"
else:
    assert (status, page) == (200, "campaigns/2021/17"), (status, page)
