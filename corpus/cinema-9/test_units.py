"""Unit tests of Users' second request, the one thing that differs from cinema-1."""
import requests

import users


class Found:
    def __init__(self, body):
        self.body = body

    def json(self):
        return self.body

    def raise_for_status(self):
        pass


def with_answers(monkeypatch, *answers):
    """Status of the page, and the URLs that were asked, when `answers` come (None: no connection)."""
    left, asked = list(answers), []

    def get(url, timeout):
        asked.append(url.split("/", 3)[3])
        answer = left.pop(0)
        if answer is None:
            raise requests.exceptions.ConnectionError()
        return Found(answer)

    monkeypatch.setattr(users.requests, "get", get)
    return users.app.test_client().get("/users/chris_rivers/bookings").status_code, asked


def test_a_failed_request_for_bookings_is_made_again(monkeypatch):
    assert with_answers(monkeypatch, None, {"20151201": ["1"]}, {"title": "Creed"}) == \
        (200, ["bookings/chris_rivers"] * 2 + ["movies/1"])


def test_two_failures_of_bookings_are_final(monkeypatch):
    assert with_answers(monkeypatch, None, None) == (503, ["bookings/chris_rivers"] * 2)


def test_movies_are_asked_for_once(monkeypatch):
    assert with_answers(monkeypatch, {"20151201": ["1"]}, None) == (503, ["bookings/chris_rivers", "movies/1"])
