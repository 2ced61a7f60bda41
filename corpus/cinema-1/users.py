"""Users: answers a user's bookings, each with what Movies knows of the movie.

Both dependencies are hard: without them the answer is 503.
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

# The planted bug of the demonstration: a movie that does not come in time is forgotten about.
FORGET_MOVIE_TIMEOUT = os.environ.get("PLANTED_BUG") == "movie-timeout"


class Unavailable(Exception):
    """A dependency gave no usable answer."""


def get_json(url):
    try:
        response = requests.get(url, timeout=TIMEOUT)
        response.raise_for_status()
        return response.json()
    except requests.exceptions.RequestException as error:
        raise Unavailable(url) from error


def get_movie(movie_id):
    if FORGET_MOVIE_TIMEOUT:
        response = requests.get(f"{MOVIES}/movies/{movie_id}", timeout=TIMEOUT)
        if response.status_code != 200:
            raise Unavailable("movies")
        return response.json()
    return get_json(f"{MOVIES}/movies/{movie_id}")


@app.errorhandler(Unavailable)
def unavailable(error):
    return jsonify(error=f"unavailable: {error}"), 503


@app.errorhandler(requests.exceptions.ConnectionError)
def connection_error(error):
    return jsonify(error="unavailable"), 503


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    if user not in USERS:
        return jsonify(error="no such user"), 404
    result = {}
    for date, movie_ids in get_json(f"{BOOKINGS}/bookings/{user}").items():
        result[date] = [get_movie(movie_id) for movie_id in movie_ids]
    return jsonify(result)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
