"""Users: answers a user's bookings, each with what Movies knows of the movie.

Goes on whatever fails: without Bookings with the bookings below, without Movies with the title below.
"""
import argparse
import os

import requests
from flask import Flask, jsonify

app = Flask(__name__)

BOOKINGS = os.environ.get("BOOKINGS_URL", "http://127.0.0.1:5003")
MOVIES = os.environ.get("MOVIES_URL", "http://127.0.0.1:5001")
TIMEOUT = 2.5  # seconds: longer than Bookings waits for Movies
USERS = {"chris_rivers": {"name": "Chris Rivers"}}
DEFAULT_BOOKINGS = {"20151201": [{"id": "267eedb8-0f5d-42d5-8f43-72426b9fb3e6"}]}
DEFAULT_TITLE = "to be announced"


def get_bookings(user):
    try:
        response = requests.get(f"{BOOKINGS}/bookings/{user}", timeout=TIMEOUT)
        response.raise_for_status()
        return response.json()
    except requests.exceptions.RequestException:
        return DEFAULT_BOOKINGS


def get_movie(movie_id):
    try:
        response = requests.get(f"{MOVIES}/movies/{movie_id}", timeout=TIMEOUT)
        response.raise_for_status()
        return response.json()
    except requests.exceptions.RequestException:
        return {"id": movie_id, "title": DEFAULT_TITLE}


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    if user not in USERS:
        return jsonify(error="no such user"), 404
    bookings = get_bookings(user)
    return jsonify({date: [get_movie(movie["id"]) for movie in movies] for date, movies in bookings.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
