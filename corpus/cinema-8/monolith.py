"""The monolith: users, bookings, movies and showtimes in one program."""
import argparse

from flask import Flask, jsonify

app = Flask(__name__)

USERS = {"chris_rivers": {"name": "Chris Rivers"}}
BOOKINGS = {"chris_rivers": {"20151201": ["267eedb8-0f5d-42d5-8f43-72426b9fb3e6"]}}
MOVIES = {"267eedb8-0f5d-42d5-8f43-72426b9fb3e6": {"title": "Creed", "director": "Ryan Coogler", "rating": 8.8}}
SHOWTIMES = {"20151130": ["267eedb8-0f5d-42d5-8f43-72426b9fb3e6"]}


@app.get("/health")
def health():
    return "", 204


@app.get("/users/<user>/bookings")
def user_bookings(user):
    if user not in USERS:
        return jsonify(error="no such user"), 404
    booked = BOOKINGS.get(user, {})
    return jsonify({date: [MOVIES[movie_id] for movie_id in movie_ids] for date, movie_ids in booked.items()})


@app.get("/showtimes/<date>")
def showtimes(date):
    if date not in SHOWTIMES:
        return jsonify(error="nothing on that day"), 404
    return jsonify(date=date, movies=[MOVIES[movie_id]["title"] for movie_id in SHOWTIMES[date]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
