"""Unit tests of the monolith, and of the API server's attempts."""
import requests

import api
import monolith


class Answer:
    def __init__(self, status_code):
        self.status_code = status_code

    def json(self):
        return {}

    def raise_for_status(self):
        if self.status_code >= 400:
            raise requests.exceptions.HTTPError(response=self)


def with_answers(monkeypatch, *statuses):
    """The API server's status, and how often it asked, when the monolith answers so (None: not at all)."""
    left = list(statuses)

    def get(url, timeout):
        status = left.pop(0)
        if status is None:
            raise requests.exceptions.ReadTimeout()
        return Answer(status)

    monkeypatch.setattr(api.requests, "get", get)
    status = api.app.test_client().get("/users/chris_rivers/bookings").status_code
    return status, len(statuses) - len(left)


def test_the_monolith_joins_bookings_and_movies():
    client = monolith.app.test_client()
    assert client.get("/users/chris_rivers/bookings").get_json()["20151201"][0]["title"] == "Creed"
    assert client.get("/users/nobody/bookings").status_code == 404


def test_the_monolith_knows_its_days():
    client = monolith.app.test_client()
    assert client.get("/showtimes/20151130").get_json()["movies"] == ["Creed"]
    assert client.get("/showtimes/19700101").status_code == 404


def test_an_answer_is_passed_on(monkeypatch):
    assert with_answers(monkeypatch, 200, None) == (200, 1)


def test_one_failure_is_made_good(monkeypatch):
    assert with_answers(monkeypatch, None, 200) == (200, 2)
    assert with_answers(monkeypatch, 500, 200) == (200, 2)


def test_two_failures_are_final(monkeypatch):
    assert with_answers(monkeypatch, None, 502) == (503, 2)
