"""Servers that import nothing but what they need (bare/): for GET /NAME they call BACK/NAME/0 and then BACK/NAME/1, so that a path
tells which request a call is made for."""
import glob
import importlib.util
import shutil

import pytest

from conftest import BUILD, PROGRAMS, PYTHON, TESTS

HERE = TESTS / "runtimes" / "bare"
JAVA = next(iter(sorted(glob.glob("/usr/lib/jvm/java-17-openjdk-*/bin/java"))), "java")


def gunicorn(options, application="wsgi:application"):
    return f"exec gunicorn --chdir {HERE} -b 127.0.0.1:${{port:web}} --timeout 60 {options} {application}"


def uvicorn(loop, application="asgi:application"):
    return (f"exec {PYTHON} -m uvicorn --app-dir {HERE} --lifespan off --log-level warning --loop {loop} --host 127.0.0.1 "
            f"--port ${{port:web}} {application}")


def python(name, *words):
    return f"exec {PYTHON} {HERE}/{name}.py {' '.join(words)} ${{port:web}}"


SERVERS = {
    "werkzeug": python("wsgi", "werkzeug"), "gevent": python("wsgi", "gevent"), "eventlet": python("wsgi", "eventlet"),
    "gunicorn-sync": gunicorn("-w 4"), "gunicorn-gthread": gunicorn("-k gthread --threads 16"),
    "gunicorn-gevent": gunicorn("-k gevent"), "gunicorn-eventlet": gunicorn("-k eventlet"),
    "uvicorn": uvicorn("asyncio"), "uvloop": uvicorn("uvloop"), "fastapi": uvicorn("asyncio", "on_fastapi:application"),
    "aiohttp": python("on_aiohttp"),
    "node": f"exec node {HERE}/server.mjs ${{port:web}}",
    "java": f"exec {JAVA} -cp {BUILD}/tests/java Bare ${{port:web}}",
    "ruby": f"exec ruby {HERE}/server.rb ${{port:web}}",
    "puma": f"exec puma -q -t 16:16 -b tcp://127.0.0.1:${{port:web}} {HERE}/config.ru",
    "php": f"PHP_CLI_SERVER_WORKERS=4 exec php -q -S 127.0.0.1:${{port:web}} {HERE}/index.php",
    "perl": f"exec perl {HERE}/loop.pl ${{port:web}}",
    "native": f"exec {PROGRAMS}/loop ${{port:web}} ${{port:back}}",
}
# One thread serves all requests, and nothing but the number of those that are open says which of them causes a call.
UNTOLD = ["uvloop", "perl", "native"]
TOLD = [name for name in SERVERS if name not in UNTOLD]


PROGRAM_OF = {"ruby": "ruby", "puma": "puma", "php": "php", "node": "node", "perl": "perl"}


def skip_without(name):
    """The calling test, where the program of the server is not installed."""
    if name in PROGRAM_OF and shutil.which(PROGRAM_OF[name]) is None:
        pytest.skip(f"no {PROGRAM_OF[name]}")
    if "eventlet" in name and importlib.util.find_spec("eventlet") is None:
        pytest.skip("no eventlet")


def server(name, spawn=""):
    # (eventlet starts in half the time without its own resolver.)
    return {"name": "web", "command": SERVERS[name],
            "env": {"BACK": "127.0.0.1:${port:back}", "SPAWN": spawn, "EVENTLET_NO_GREENDNS": "yes"}}
