"""A user sees the movies of their bookings as long as Movies and one replica of Bookings answer; else a 503."""
import os

import requests

from filibuster_predicates import was_fault_injected

response = requests.get(f"{os.environ['USERS_URL']}/users/chris_rivers/bookings", timeout=10)

if was_fault_injected(service="movies") or was_fault_injected(service="bookings-secondary"):
    # The secondary is asked only after the primary failed.
    assert response.status_code == 503, f"expected 503 under a fault, got {response.status_code}"
else:
    assert response.status_code == 200, f"expected 200, got {response.status_code}"
    assert [movie["title"] for movie in response.json()["20151201"]] == ["Creed"], response.text
