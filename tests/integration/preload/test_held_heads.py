"""The head of a request is held until its body is there; a client that waits for what its head sets off does not wait in vain."""
from conftest import PYTHON
from rpc_tree import chains, observe_and_compare
from small_apps import APPS

WAITS = ["accept", "busy", "condition", "epoll", "join", "poll", "polling", "read", "recv", "select", "sigtimedwait", "sleep",
         "system", "usleep", "waitpid"]


def test_whatever_the_client_does_between_head_and_body(project):
    web = {"name": "web", "command": f"exec {PYTHON} {APPS}/head_first.py serve ${{port:web}}"}
    run = observe_and_compare(project, [web],
                              f"{PYTHON} {APPS}/head_first.py ${{port:web}} {' '.join(WAITS)}",
                              complete=False)  # what the server sends besides is not HTTP
    assert (project.directory / "printed").read_text() == "\n", "no client waited in vain"
    assert chains(run) == [f"test>web POST /{kind} 200" for kind in WAITS]
