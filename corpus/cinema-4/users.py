"""Users: answers a user's bookings as Bookings knows them; without Bookings the answer is 503. Asks IMDB first,
and does without it."""
import argparse
import os

import requests
from flask import Flask, jsonify

import advertising

app = Flask(__name__)

IMDB = os.environ.get("IMDB_URL", "http://127.0.0.1:5011")
BOOKINGS = os.environ.get("BOOKINGS_URL", "http://127.0.0.1:5003")
TIMEOUT = 4.0  # seconds: longer than Bookings waits for Fandango and for Movies
USERS = {"chris_rivers": {"name": "Chris Rivers"}}


def get_bookings(user):
    response = requests.get(f"{BOOKINGS}/bookings/{user}", timeout=TIMEOUT)
    response.raise_for_status()
    return response.json()


@app.errorhandler(requests.exceptions.RequestException)
def unavailable(error):
    return jsonify(error="bookings unavailable"), 503


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    if user not in USERS:
        return jsonify(error="no such user"), 404
    advertising.ask(IMDB)
    return jsonify(get_bookings(user))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
