"""Hello greets both names, or says that World is unavailable. HELLO_ROUNDS requests, one after the other
(default 1), of HELLO_N concurrent RPCs each (default 2)."""
import os
import urllib.error
import urllib.request

from filibuster_predicates import was_fault_injected

N = int(os.environ.get("HELLO_N", "2"))


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


for _ in range(int(os.environ.get("HELLO_ROUNDS", "1"))):
    status, text = get(f"{os.environ['HELLO_URL']}/hello?n={N}")
    if was_fault_injected(service="world"):
        assert status == 503, f"expected 503 under a fault, got {status}"
    else:
        assert status == 200, f"expected 200, got {status}: {text}"
        assert text.splitlines() == [f"hello {name}" for name in range(1, N + 1)], text
