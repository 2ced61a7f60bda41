"""Users: answers a user's bookings, each with what Movies knows of the movie.

A failed request to Bookings is marked and made once more later, by the same helper from another place.
Without bookings, or without Movies, the answer is 503.
"""
import argparse
import os

import requests
from flask import Flask, jsonify

app = Flask(__name__)

BOOKINGS = os.environ.get("BOOKINGS_URL", "http://127.0.0.1:5003")
MOVIES = os.environ.get("MOVIES_URL", "http://127.0.0.1:5001")
TIMEOUT = 1.0  # seconds
USERS = {"chris_rivers": {"name": "Chris Rivers"}}


def get_json(url):
    response = requests.get(url, timeout=TIMEOUT)
    response.raise_for_status()
    return response.json()


@app.errorhandler(requests.exceptions.RequestException)
def unavailable(error):
    return jsonify(error="a dependency is unavailable"), 503


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    if user not in USERS:
        return jsonify(error="no such user"), 404
    failed = False
    try:
        bookings = get_json(f"{BOOKINGS}/bookings/{user}")
    except requests.exceptions.RequestException:
        failed = True
    if failed:
        bookings = get_json(f"{BOOKINGS}/bookings/{user}")
    result = {}
    for date, movie_ids in bookings.items():
        result[date] = [get_json(f"{MOVIES}/movies/{movie_id}") for movie_id in movie_ids]
    return jsonify(result)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
