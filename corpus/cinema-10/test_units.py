"""Unit tests of Users' defaults, the one thing that differs from cinema-2."""
import requests

import users

BOOKED = {"20151201": [{"id": "1", "title": "Creed"}]}


class Found:
    def __init__(self, body):
        self.body = body

    def json(self):
        return self.body

    def raise_for_status(self):
        pass


def page(monkeypatch, *answers):
    """What the page shows when `answers` come (None: no connection)."""
    left = list(answers)

    def get(url, timeout):
        answer = left.pop(0)
        if answer is None:
            raise requests.exceptions.ConnectionError()
        return Found(answer)

    monkeypatch.setattr(users.requests, "get", get)
    response = users.app.test_client().get("/users/chris_rivers/bookings")
    assert response.status_code == 200 and left == []
    return response.get_json()["20151201"]


def test_both_dependencies_are_asked(monkeypatch):
    assert page(monkeypatch, BOOKED, {"title": "Creed"}) == [{"title": "Creed"}]


def test_without_bookings_the_default_is_looked_up(monkeypatch):
    assert page(monkeypatch, None, {"title": "Creed"}) == [{"title": "Creed"}]


def test_without_movies_the_title_is_announced_later(monkeypatch):
    assert page(monkeypatch, BOOKED, None) == [{"id": "1", "title": "to be announced"}]
