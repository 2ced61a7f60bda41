"""Users: answers a user's bookings, each with what Movies knows of the movie. Bookings has two replicas: the second
one is asked when the first one fails."""
import argparse
import os

import requests
from flask import Flask, jsonify

app = Flask(__name__)

BOOKINGS_PRIMARY = os.environ.get("BOOKINGS_PRIMARY_URL", "http://127.0.0.1:5003")
BOOKINGS_SECONDARY = os.environ.get("BOOKINGS_SECONDARY_URL", "http://127.0.0.1:5004")
MOVIES = os.environ.get("MOVIES_URL", "http://127.0.0.1:5001")
TIMEOUT = 1.0  # seconds
USERS = {"chris_rivers": {"name": "Chris Rivers"}}


def get_json(url):
    response = requests.get(url, timeout=TIMEOUT)
    response.raise_for_status()
    return response.json()


def get_bookings(user):
    try:
        return get_json(f"{BOOKINGS_PRIMARY}/bookings/{user}")
    except requests.exceptions.RequestException:
        return get_json(f"{BOOKINGS_SECONDARY}/bookings/{user}")


@app.errorhandler(requests.exceptions.RequestException)
def unavailable(error):
    return jsonify(error="unavailable"), 503


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    if user not in USERS:
        return jsonify(error="no such user"), 404
    result = {}
    for date, movie_ids in get_bookings(user).items():
        result[date] = [get_json(f"{MOVIES}/movies/{movie_id}") for movie_id in movie_ids]
    return jsonify(result)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
