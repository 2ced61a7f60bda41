"""A user sees the movies of their bookings; one failure is made good by a second attempt, two are told by a 503."""
import os

import requests

from filibuster_predicates import was_fault_injected

response = requests.get(f"{os.environ['API_URL']}/users/chris_rivers/bookings", timeout=10)

assert response.status_code == 200 or (was_fault_injected() and response.status_code == 503), \
    f"unexpected {response.status_code}"
if response.status_code == 200:
    assert [movie["title"] for movie in response.json()["20151201"]] == ["Creed"], response.text
