"""Attaching and detaching under load, and what happens when the loader dies. The proxies have the library, but there is no
session."""
import http.client
import threading

import pytest

from conftest import PYTHON, wait_until
from machine import Loader
from small_apps import APPS
from test_proxy import running

pytestmark = pytest.mark.alone

FRONT_AND_BACK = {"back": [PYTHON, APPS / "kept.py", "{back}"], "front": [PYTHON, APPS / "kept.py", "{front}", "{back}"]}


class Load:
    """Clients that ask over and over, on connections that they keep. `failures`: what went wrong."""

    def __init__(self, port, number):
        self.port, self.failures, self.answered, self.over = port, [], [0] * number, False
        self.threads = [threading.Thread(target=self.ask, args=(n,)) for n in range(number)]

    def ask(self, n):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        while not self.over:
            path = f"/{n}/{self.answered[n]}"
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                got = (response.status, response.read().decode())
            except (OSError, http.client.HTTPException) as error:
                got = repr(error)
                connection.close()
            if got != (200, path):
                self.failures.append((path, got))
            self.answered[n] += 1

    def more(self, count):
        """Waits until each client was answered so many times more."""
        before = list(self.answered)
        wait_until(lambda: all(now - then >= count for now, then in zip(self.answered, before)), "requests are answered")

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join()


@pytest.fixture
def loader():
    made = Loader()
    yield made
    made.end()


def test_no_request_fails_when_an_attached_service_is_detached_under_load(loader):
    """Its clients and its own calls keep their connections; each ends by an answer that says so."""
    with running(**FRONT_AND_BACK) as (ports, processes):
        for _ in range(20):
            proxy = loader.attach("front", [processes["front"].pid], [ports["front"]])
            # What was open before does not count here: the load begins now.
            with Load(ports["front"], 8) as load:
                load.more(20)
                proxy.leave()
                load.more(20)
            assert load.failures == []


def test_a_proxy_without_traffic_leaves_at_once(loader):
    with running(**FRONT_AND_BACK) as (ports, processes):
        proxy = loader.attach("front", [processes["front"].pid], [ports["front"]])
        proxy.leave()
        connection = http.client.HTTPConnection("127.0.0.1", ports["front"], timeout=20)
        connection.request("GET", "/direct")
        assert connection.getresponse().read() == b"/direct"


def test_when_the_loader_is_killed_proxied_connections_are_reset_and_new_ones_go_direct(loader):
    with running(**FRONT_AND_BACK) as (ports, processes):
        proxy = loader.attach("front", [processes["front"].pid], [ports["front"]])
        kept = http.client.HTTPConnection("127.0.0.1", ports["front"], timeout=20)
        kept.request("GET", "/before")
        assert kept.getresponse().read() == b"/before"
        loader.process.kill()
        loader.process.wait()
        with pytest.raises(ConnectionResetError):
            kept.sock.recv(1)
        assert proxy.process.wait(timeout=30) == 0
        direct = http.client.HTTPConnection("127.0.0.1", ports["front"], timeout=20)
        direct.request("GET", "/after")
        answer = direct.getresponse()
        # The connection of front's thread went through the proxy. That of a new thread does not.
        assert (answer.status, answer.read()) == (200, b"/after")


def test_a_connect_where_nobody_listens_is_refused_as_ever(loader):
    with running(**FRONT_AND_BACK) as (ports, processes):
        loader.attach("front", [processes["front"].pid], [ports["front"]])
        processes["back"].kill()
        processes["back"].wait()
        connection = http.client.HTTPConnection("127.0.0.1", ports["front"], timeout=20)
        connection.request("GET", "/x")
        answer = connection.getresponse()
        assert answer.status == 500 and "ConnectionRefusedError" in answer.read().decode()
