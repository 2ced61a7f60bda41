"""Which request caused an RPC, in programs that import nothing but their framework: no module that the test happens to load may be
what makes a runtime known. (test_matrix.py has the ways in which handlers run code elsewhere.)"""
import pytest

import bare_servers
import pairs
from bare_servers import HERE, TOLD, UNTOLD
from conftest import PYTHON
from rpc_tree import attributions, observe
from small_apps import relay, url

NUMBER, ROUNDS = 8, 4


def attributed(project, name, spawn=""):
    bare_servers.skip_without(name)
    command = f"exec {PYTHON} {HERE.parent}/clients.py {NUMBER} {ROUNDS} {url('web', '')}"
    found = attributions(observe(project, [relay("back"), bare_servers.server(name, spawn)], command, complete=False))
    assert sum(map(len, found)) == 2 * NUMBER * ROUNDS, found
    return found


# Each framework by itself; the workers of gunicorn, fastapi and puma are in test_matrix.py.
@pairs.only("name", ["werkzeug", "gevent", "eventlet", "gunicorn-sync", "uvicorn", "aiohttp", "node", "java", "ruby", "php"])
@pytest.mark.parametrize("name", TOLD)
def test_every_call_has_the_request_that_caused_it(project, name):
    right, unknown, wrong = attributed(project, name)
    assert wrong == [] and unknown == [], (wrong, unknown, right)


@pytest.mark.parametrize("name", UNTOLD)
def test_what_nothing_tells_is_not_guessed(project, name):
    _, _, wrong = attributed(project, name)
    assert wrong == []


# One way of each framework stays.
@pairs.only("server, spawn", [("gevent", "gevent"), ("eventlet", "spawn_n")])
@pytest.mark.parametrize("server, spawn", [("gevent", "gevent"), ("gevent", "thread"), ("eventlet", "spawn"),
                                           ("eventlet", "spawn_n"), ("eventlet", "thread")])
def test_a_greenlet_that_a_handler_starts_works_for_its_request(project, server, spawn):
    right, unknown, wrong = attributed(project, server, spawn)
    assert wrong == [] and unknown == [], (wrong, unknown, right)
