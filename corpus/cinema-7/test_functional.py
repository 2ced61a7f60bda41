"""A user sees the movies of their bookings although a replica of Bookings is not well; when a replica that is said to
be well does not answer, or Movies does not, they are told so by a 503."""
import os

import requests

from filibuster_predicates import was_fault_injected

response = requests.get(f"{os.environ['USERS_URL']}/users/chris_rivers/bookings", timeout=10)

if was_fault_injected(path="/bookings/*") or was_fault_injected(service="movies"):
    assert response.status_code == 503, f"expected 503 under a fault, got {response.status_code}"
else:
    assert response.status_code == 200, f"expected 200, got {response.status_code}"
    assert [movie["title"] for movie in response.json()["20151201"]] == ["Creed"], response.text
