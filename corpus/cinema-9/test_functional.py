"""A user sees the movies of their bookings. Bookings may fail once; what fails for good is told by a 503."""
import os

import requests

from filibuster_predicates import was_fault_injected

response = requests.get(f"{os.environ['USERS_URL']}/users/chris_rivers/bookings", timeout=10)

if was_fault_injected(service="movies"):
    assert response.status_code == 503, f"expected 503 without movies, got {response.status_code}"
elif was_fault_injected(service="bookings"):
    assert response.status_code in (200, 503), f"unexpected {response.status_code}"
else:
    assert response.status_code == 200, f"expected 200, got {response.status_code}"
if response.status_code == 200:
    assert [movie["title"] for movie in response.json()["20151201"]] == ["Creed"], response.text
