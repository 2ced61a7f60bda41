"""A user sees the movies of their bookings; one failure is retried, two in a row are told by a 503."""
import os

import requests

from filibuster_predicates import was_fault_injected

response = requests.get(f"{os.environ['USERS_URL']}/users/chris_rivers/bookings", timeout=10)

# One failed attempt is made good by the second, so under a fault both answers are right; without
# one only the movies are.
assert response.status_code == 200 or (was_fault_injected() and response.status_code == 503), \
    f"unexpected {response.status_code}"
if response.status_code == 200:
    assert [movie["title"] for movie in response.json()["20151201"]] == ["Creed"], response.text
