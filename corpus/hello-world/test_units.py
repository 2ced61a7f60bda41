"""Unit tests of the Python services, over real sockets."""
import contextlib
import http.server
import importlib
import threading
import urllib.error
import urllib.request

import world


@contextlib.contextmanager
def served(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def get(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def test_world_greets_the_name():
    with served(world.Handler) as url:
        assert get(f"{url}/world?name=7") == "hello 7"


def test_hello_greets_every_name_in_order(monkeypatch):
    with served(world.Handler) as world_url:
        monkeypatch.setenv("WORLD_URL", world_url)
        hello = importlib.reload(importlib.import_module("hello"))
        with served(hello.Handler) as url:
            assert get(f"{url}/hello?n=5").splitlines() == [f"hello {name}" for name in range(1, 6)]


def test_hello_says_503_without_world(monkeypatch):
    with served(world.Handler) as world_url:
        monkeypatch.setenv("WORLD_URL", world_url)
    hello = importlib.reload(importlib.import_module("hello"))
    with served(hello.Handler) as url:
        try:
            get(f"{url}/hello?n=2")
            raise AssertionError("answered")
        except urllib.error.HTTPError as error:
            assert error.code == 503
