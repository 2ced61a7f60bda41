"""Unit tests of the services, without a network: dependencies are replaced by stand-ins."""
import pytest
import requests

import bookings
import movies
import showtimes
import users


class Answer:
    def __init__(self, status_code, body):
        self.status_code, self.body = status_code, body

    def json(self):
        return self.body

    def raise_for_status(self):
        if self.status_code >= 400:
            raise requests.exceptions.HTTPError(response=self)


def test_movies_knows_its_movies():
    client = movies.app.test_client()
    assert client.get("/movies/267eedb8-0f5d-42d5-8f43-72426b9fb3e6").get_json()["title"] == "Creed"
    assert client.get("/movies/unknown").status_code == 404


def test_showtimes_knows_its_days():
    client = showtimes.app.test_client()
    assert client.get("/showtimes/20151130").status_code == 200
    assert client.get("/showtimes/19700101").status_code == 404


def test_bookings_knows_its_users():
    client = bookings.app.test_client()
    assert "20151201" in client.get("/bookings/chris_rivers").get_json()
    assert client.get("/bookings/nobody").status_code == 404


def test_users_joins_bookings_and_movies(monkeypatch):
    answers = [Answer(200, {"20151201": ["1"]}), Answer(200, {"title": "Creed"})]
    monkeypatch.setattr(users.requests, "get", lambda url, timeout: answers.pop(0))
    response = users.app.test_client().get("/users/chris_rivers/bookings")
    assert response.get_json() == {"20151201": [{"title": "Creed"}]}


@pytest.mark.parametrize("failing", [0, 1])
def test_users_says_503_when_a_dependency_fails(monkeypatch, failing):
    answers = [Answer(200, {"20151201": ["1"]}), Answer(200, {"title": "Creed"})]
    answers[failing] = Answer(500, {})
    monkeypatch.setattr(users.requests, "get", lambda url, timeout: answers.pop(0))
    assert users.app.test_client().get("/users/chris_rivers/bookings").status_code == 503


def test_users_says_503_when_a_dependency_is_silent(monkeypatch):
    def silent(url, timeout):
        raise requests.exceptions.ReadTimeout()

    monkeypatch.setattr(users.requests, "get", silent)
    assert users.app.test_client().get("/users/chris_rivers/bookings").status_code == 503
