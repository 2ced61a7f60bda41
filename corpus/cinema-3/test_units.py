"""Unit tests of Users' retry, the one thing that differs from cinema-2."""
import requests

import users


class Found:
    def json(self):
        return {"20151201": []}

    def raise_for_status(self):
        pass


def with_failures(monkeypatch, failures):
    attempts = []

    def get(url, timeout):
        attempts.append(url)
        if len(attempts) <= failures:
            raise requests.exceptions.ConnectionError()
        return Found()

    monkeypatch.setattr(users.requests, "get", get)
    return users.app.test_client().get("/users/chris_rivers/bookings").status_code, len(attempts)


def test_one_failure_is_retried(monkeypatch):
    assert with_failures(monkeypatch, 1) == (200, 2)


def test_two_failures_are_final(monkeypatch):
    assert with_failures(monkeypatch, 2) == (503, 2)
