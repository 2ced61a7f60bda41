"""Bookings: a user's bookings, each with what Movies knows of the movie. Asks Fandango first, and does without it."""
import argparse
import os

import requests
from flask import Flask, jsonify

import advertising

app = Flask(__name__)

FANDANGO = os.environ.get("FANDANGO_URL", "http://127.0.0.1:5012")
MOVIES = os.environ.get("MOVIES_URL", "http://127.0.0.1:5001")
TIMEOUT = 2.0  # seconds: longer than Movies waits for Rotten Tomatoes
BOOKINGS = {"chris_rivers": {"20151201": ["267eedb8-0f5d-42d5-8f43-72426b9fb3e6"]}}


def get_movie(movie_id):
    response = requests.get(f"{MOVIES}/movies/{movie_id}", timeout=TIMEOUT)
    response.raise_for_status()
    return response.json()


@app.errorhandler(requests.exceptions.RequestException)
def unavailable(error):
    return jsonify(error="movies unavailable"), 503


@app.get("/health")
def health():
    return "", 204


@app.get("/bookings/<user>")
def bookings(user):
    if user not in BOOKINGS:
        return jsonify(error="no such user"), 404
    advertising.ask(FANDANGO)
    return jsonify({date: [get_movie(m) for m in movie_ids] for date, movie_ids in BOOKINGS[user].items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
