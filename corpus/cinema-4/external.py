"""A stand-in for a web site of somebody else (IMDB, Fandango, Rotten Tomatoes): it answers every request."""
import argparse

from flask import Flask

app = Flask(__name__)


@app.get("/")
def home():
    return "welcome\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    app.run(host="127.0.0.1", port=parser.parse_args().port)
