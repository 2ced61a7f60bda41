"""Unit tests of the services that differ from cinema-1."""
import requests

import bookings
import users


def silent(url, timeout):
    raise requests.exceptions.ConnectionError()


def test_bookings_says_503_without_movies(monkeypatch):
    monkeypatch.setattr(bookings.requests, "get", silent)
    assert bookings.app.test_client().get("/bookings/chris_rivers").status_code == 503


def test_users_says_503_without_bookings(monkeypatch):
    monkeypatch.setattr(users.requests, "get", silent)
    assert users.app.test_client().get("/users/chris_rivers/bookings").status_code == 503


def test_unknown_users_are_404():
    assert bookings.app.test_client().get("/bookings/nobody").status_code == 404
    assert users.app.test_client().get("/users/nobody/bookings").status_code == 404
