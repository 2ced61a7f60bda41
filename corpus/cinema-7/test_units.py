"""Unit tests of Users' question after the primary's health."""
import requests

import users


class Answer:
    def __init__(self, body, ok=True):
        self.body, self.ok = body, ok

    def json(self):
        return self.body

    def raise_for_status(self):
        if not self.ok:
            raise requests.exceptions.HTTPError()


def with_health(monkeypatch, health):
    """The status of Users' answer, and the replica whose bookings it asked for."""
    replicas = []

    def get(url, timeout):
        if url.endswith("/health"):
            assert url.startswith(users.BOOKINGS_PRIMARY)
            return health()
        if "/bookings/" in url:
            replicas.append(url.split("/bookings/")[0])
            return Answer({"20151201": ["1"]})
        return Answer({"title": "Creed"})

    monkeypatch.setattr(users.requests, "get", get)
    return users.app.test_client().get("/users/chris_rivers/bookings").status_code, replicas


def silent():
    raise requests.exceptions.ReadTimeout()


def test_a_primary_that_is_well_is_asked(monkeypatch):
    assert with_health(monkeypatch, lambda: Answer({})) == (200, [users.BOOKINGS_PRIMARY])


def test_a_primary_that_says_it_is_not_well_is_left_alone(monkeypatch):
    assert with_health(monkeypatch, lambda: Answer({}, ok=False)) == (200, [users.BOOKINGS_SECONDARY])


def test_a_primary_that_is_silent_is_left_alone(monkeypatch):
    assert with_health(monkeypatch, silent) == (200, [users.BOOKINGS_SECONDARY])
