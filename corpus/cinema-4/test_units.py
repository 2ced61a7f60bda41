"""Unit tests of the services, without a network."""
import pytest
import requests

import advertising
import bookings
import movies
import users


class Answer:
    def __init__(self, body):
        self.body = body

    def json(self):
        return self.body

    def raise_for_status(self):
        pass


def silent(url, timeout):
    raise requests.exceptions.ConnectionError()


@pytest.fixture(autouse=True)
def nobody_advertises(monkeypatch):
    monkeypatch.setattr(advertising.requests, "head", silent)


def test_advertising_is_not_missed():
    advertising.ask("http://imdb.example")


def test_movies_does_without_rotten_tomatoes():
    client = movies.app.test_client()
    assert client.get("/movies/267eedb8-0f5d-42d5-8f43-72426b9fb3e6").get_json()["title"] == "Creed"
    assert client.get("/movies/unknown").status_code == 404


def test_bookings_does_without_fandango(monkeypatch):
    monkeypatch.setattr(bookings.requests, "get", lambda url, timeout: Answer({"title": "Creed"}))
    response = bookings.app.test_client().get("/bookings/chris_rivers")
    assert response.get_json() == {"20151201": [{"title": "Creed"}]}


def test_bookings_says_503_without_movies(monkeypatch):
    monkeypatch.setattr(bookings.requests, "get", silent)
    assert bookings.app.test_client().get("/bookings/chris_rivers").status_code == 503


def test_users_does_without_imdb(monkeypatch):
    monkeypatch.setattr(users.requests, "get", lambda url, timeout: Answer({"20151201": []}))
    assert users.app.test_client().get("/users/chris_rivers/bookings").get_json() == {"20151201": []}


def test_users_says_503_without_bookings(monkeypatch):
    monkeypatch.setattr(users.requests, "get", silent)
    assert users.app.test_client().get("/users/chris_rivers/bookings").status_code == 503
