"""Movies: information about one movie."""
import argparse

from flask import Flask, jsonify

app = Flask(__name__)

MOVIES = {
    "267eedb8-0f5d-42d5-8f43-72426b9fb3e6": {"title": "Creed", "director": "Ryan Coogler", "rating": 8.8},
    "7daf7208-be4d-4944-a3ae-c1c2f516f3e6": {"title": "Victor Frankenstein", "director": "Paul McGuigan", "rating": 6.4},
}


@app.get("/health")
def health():
    return "", 204


@app.get("/movies/<movie_id>")
def movie(movie_id):
    if movie_id not in MOVIES:
        return jsonify(error="no such movie"), 404
    return jsonify(id=movie_id, **MOVIES[movie_id])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
