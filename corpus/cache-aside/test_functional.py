"""The shop shows a product that the cache does not have: without the cache too, and only without the catalogue not."""
import json
import os
import urllib.error
import urllib.request

import redis

from filibuster_predicates import was_fault_injected

HOST, PORT = os.environ["CACHE"].rsplit(":", 1)


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


with redis.Redis(HOST, int(PORT)) as cache:
    cache.flushall()
status, answer = get(f"{os.environ['SHOP_URL']}/product/7")

if was_fault_injected(service="catalogue"):
    assert status == 503, f"expected 503 without the catalogue, got {status}"
else:
    assert status == 200, f"expected 200, got {status}"
    assert answer["product"] == {"id": 7, "name": "kettle", "price": 3900}, answer
    visits = None if was_fault_injected(service="cache") else 1
    assert answer["visits"] == visits, f"expected {visits} visits, got {answer['visits']}"
