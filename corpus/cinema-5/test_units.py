"""Unit tests of Users' defaults."""
import requests

import users


class Answer:
    def __init__(self, body):
        self.body = body

    def json(self):
        return self.body

    def raise_for_status(self):
        pass


def with_answers(monkeypatch, **answers):
    """Users' answer when only the services named in `answers` give one."""
    asked = []

    def get(url, timeout):
        service = url.split("/")[3]
        asked.append(service)
        if service not in answers:
            raise requests.exceptions.ConnectionError()
        return Answer(answers[service])

    monkeypatch.setattr(users.requests, "get", get)
    response = users.app.test_client().get("/users/chris_rivers/bookings")
    assert response.status_code == 200
    return response.get_json(), asked


def test_all_is_asked_and_shown(monkeypatch):
    shown, asked = with_answers(monkeypatch, bookings={"20200101": ["1"]}, movies={"title": "Creed"})
    assert shown == {"20200101": [{"title": "Creed"}]} and asked == ["bookings", "movies"]


def test_without_bookings_the_default_booking_is_shown_with_its_movie(monkeypatch):
    shown, asked = with_answers(monkeypatch, movies={"title": "Creed"})
    assert shown == {"20151201": [{"title": "Creed"}]} and asked == ["bookings", "movies"]


def test_without_anything_the_defaults_are_shown(monkeypatch):
    shown, _ = with_answers(monkeypatch)
    assert shown == {"20151201": [users.DEFAULT_MOVIE]}
