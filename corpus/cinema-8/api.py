"""The API server: passes questions on to the monolith, a second time when the first one failed; then it gives up
with 503."""
import argparse
import os

import requests
from flask import Flask, jsonify

app = Flask(__name__)

MONOLITH = os.environ.get("MONOLITH_URL", "http://127.0.0.1:5001")
TIMEOUT = 1.0  # seconds
ATTEMPTS = 2


def ask_monolith(path):
    for attempt in range(1, ATTEMPTS + 1):
        try:
            response = requests.get(f"{MONOLITH}{path}", timeout=TIMEOUT)
            response.raise_for_status()
            return response.json()
        except requests.exceptions.RequestException:
            if attempt == ATTEMPTS:
                raise


@app.errorhandler(requests.exceptions.RequestException)
def unavailable(error):
    return jsonify(error="unavailable"), 503


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    return jsonify(ask_monolith(f"/users/{user}/bookings"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
