"""The API server: passes questions on to the monolith, a second time when the first one failed, then gives up with 503."""
import argparse
import os

import requests
from flask import Flask, jsonify

app = Flask(__name__)

MONOLITH = os.environ.get("MONOLITH_URL", "http://127.0.0.1:5001")
TIMEOUT = 1.0  # seconds
ATTEMPTS = 2


def ask_monolith(path):
    """The monolith's answer and its status; a status of 500 and more counts as no answer."""
    for _ in range(ATTEMPTS):
        try:
            response = requests.get(f"{MONOLITH}{path}", timeout=TIMEOUT)
        except requests.exceptions.RequestException:
            continue
        if response.status_code < 500:
            return jsonify(response.json()), response.status_code
    return jsonify(error="unavailable"), 503


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    return ask_monolith(f"/users/{user}/bookings")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
