"""Unit tests of the monolith, and of the API server's attempts."""
import requests

import api
import monolith


class Answer:
    def __init__(self, status_code, body):
        self.status_code, self.body = status_code, body

    def json(self):
        return self.body


def with_answers(monkeypatch, *answers):
    """The API server's status, and how often it asked, when the monolith gives `answers` (None: no answer)."""
    left = list(answers)

    def get(url, timeout):
        answer = left.pop(0)
        if answer is None:
            raise requests.exceptions.ReadTimeout()
        return answer

    monkeypatch.setattr(api.requests, "get", get)
    status = api.app.test_client().get("/users/chris_rivers/bookings").status_code
    return status, len(answers) - len(left)


def test_the_monolith_joins_bookings_and_movies():
    client = monolith.app.test_client()
    assert client.get("/users/chris_rivers/bookings").get_json()["20151201"][0]["title"] == "Creed"
    assert client.get("/users/nobody/bookings").status_code == 404


def test_the_monolith_knows_its_days():
    client = monolith.app.test_client()
    assert client.get("/showtimes/20151130").get_json()["movies"] == ["Creed"]
    assert client.get("/showtimes/19700101").status_code == 404


def test_an_answer_is_passed_on(monkeypatch):
    assert with_answers(monkeypatch, Answer(200, {}), None) == (200, 1)
    assert with_answers(monkeypatch, Answer(404, {}), None) == (404, 1)


def test_one_failure_is_made_good(monkeypatch):
    assert with_answers(monkeypatch, None, Answer(200, {})) == (200, 2)
    assert with_answers(monkeypatch, Answer(500, {}), Answer(200, {})) == (200, 2)


def test_two_failures_are_final(monkeypatch):
    assert with_answers(monkeypatch, None, Answer(502, {})) == (503, 2)
