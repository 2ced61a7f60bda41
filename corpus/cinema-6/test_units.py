"""Unit tests of Users' use of the two replicas."""
import pytest
import requests

import users


class Answer:
    def __init__(self, body):
        self.body = body

    def json(self):
        return self.body

    def raise_for_status(self):
        pass


def with_failing(monkeypatch, *failing):
    """The status of Users' answer, and whom it asked, when the URLs that begin with `failing` give no answer."""
    asked = []

    def get(url, timeout):
        asked.append(url.rsplit("/", 2)[0])  # without the path, which has two segments
        if asked[-1] in failing:
            raise requests.exceptions.ReadTimeout()
        return Answer({"title": "Creed"} if asked[-1] == users.MOVIES else {"20151201": ["1"]})

    monkeypatch.setattr(users.requests, "get", get)
    return users.app.test_client().get("/users/chris_rivers/bookings").status_code, asked


def test_the_secondary_is_left_alone_while_the_primary_answers(monkeypatch):
    assert with_failing(monkeypatch) == (200, [users.BOOKINGS_PRIMARY, users.MOVIES])


def test_the_secondary_stands_in_for_the_primary(monkeypatch):
    assert with_failing(monkeypatch, users.BOOKINGS_PRIMARY) == (
        200, [users.BOOKINGS_PRIMARY, users.BOOKINGS_SECONDARY, users.MOVIES])


@pytest.mark.parametrize("failing", [(users.BOOKINGS_PRIMARY, users.BOOKINGS_SECONDARY), (users.MOVIES,)])
def test_without_both_replicas_or_without_movies_the_answer_is_503(monkeypatch, failing):
    assert with_failing(monkeypatch, *failing)[0] == 503
