"""Showtimes: which movies run on a day. No test of this application needs it."""
import argparse

from flask import Flask, jsonify

app = Flask(__name__)

SHOWTIMES = {"20151130": ["267eedb8-0f5d-42d5-8f43-72426b9fb3e6"]}


@app.get("/health")
def health():
    return "", 204


@app.get("/showtimes/<date>")
def showtimes(date):
    if date not in SHOWTIMES:
        return jsonify(error="nothing on that day"), 404
    return jsonify(date=date, movies=SHOWTIMES[date])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
