"""Users: answers a user's bookings, each with what Movies knows of the movie. Who does not answer is replaced by a
default, and the next request happens all the same."""
import argparse
import os

import requests
from flask import Flask, jsonify

app = Flask(__name__)

BOOKINGS = os.environ.get("BOOKINGS_URL", "http://127.0.0.1:5003")
MOVIES = os.environ.get("MOVIES_URL", "http://127.0.0.1:5001")
TIMEOUT = 1.0  # seconds
USERS = {"chris_rivers": {"name": "Chris Rivers"}}
DEFAULT_BOOKINGS = {"20151201": ["267eedb8-0f5d-42d5-8f43-72426b9fb3e6"]}
DEFAULT_MOVIE = {"id": "267eedb8-0f5d-42d5-8f43-72426b9fb3e6", "title": "our movie of the month"}


def get_json_or(url, default):
    try:
        response = requests.get(url, timeout=TIMEOUT)
        response.raise_for_status()
        return response.json()
    except requests.exceptions.RequestException:
        return default


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    if user not in USERS:
        return jsonify(error="no such user"), 404
    result = {}
    for date, movie_ids in get_json_or(f"{BOOKINGS}/bookings/{user}", DEFAULT_BOOKINGS).items():
        result[date] = [get_json_or(f"{MOVIES}/movies/{movie_id}", DEFAULT_MOVIE) for movie_id in movie_ids]
    return jsonify(result)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
