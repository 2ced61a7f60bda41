"""A user always sees bookings: theirs, or the default; with the movie, or the default in its place."""
import os

import requests

from filibuster_predicates import was_fault_injected

response = requests.get(f"{os.environ['USERS_URL']}/users/chris_rivers/bookings", timeout=10)

assert response.status_code == 200, f"expected 200, got {response.status_code}"
expected = "our movie of the month" if was_fault_injected(service="movies") else "Creed"
assert [movie["title"] for movie in response.json()["20151201"]] == [expected], response.text
