"""Movies: information about one movie. Asks Rotten Tomatoes first, and does without it."""
import argparse
import os

from flask import Flask, jsonify

import advertising

app = Flask(__name__)

ROTTEN_TOMATOES = os.environ.get("ROTTEN_TOMATOES_URL", "http://127.0.0.1:5013")
MOVIES = {"267eedb8-0f5d-42d5-8f43-72426b9fb3e6": {"title": "Creed", "director": "Ryan Coogler", "rating": 8.8}}


@app.get("/health")
def health():
    return "", 204


@app.get("/movies/<movie_id>")
def movie(movie_id):
    if movie_id not in MOVIES:
        return jsonify(error="no such movie"), 404
    advertising.ask(ROTTEN_TOMATOES)
    return jsonify(id=movie_id, **MOVIES[movie_id])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
