"""Bookings: which movies a user has booked."""
import argparse

from flask import Flask, jsonify

app = Flask(__name__)

BOOKINGS = {"chris_rivers": {"20151201": ["267eedb8-0f5d-42d5-8f43-72426b9fb3e6"]}}


@app.get("/health")
def health():
    return "", 204


@app.get("/bookings/<user>")
def bookings(user):
    if user not in BOOKINGS:
        return jsonify(error="no such user"), 404
    return jsonify(BOOKINGS[user])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
