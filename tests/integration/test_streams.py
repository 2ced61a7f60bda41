"""Requests whose body comes in pieces: their index is preliminary while RPCs are already made under it."""
import os

from conftest import PYTHON
from rpc_tree import observe
from small_apps import APPS, config, url

PIECES = ["one", "two", "three"]


def elements(name, fifo="-", to=None):
    command = f"exec {PYTHON} {APPS}/elements.py ${{port:{name}}} {fifo}" + (f" '{to}'" if to else "")
    return {"name": name, "command": command}


def stream(*pieces):
    return {"name": "stream", "command": f"exec {PYTHON} {APPS}/stream_client.py {url('front', '/stream')} done "
            + " ".join(pieces)}


def traced(project, services, *pieces):
    """The RPCs of one execution, all of them finished under final indexes."""
    rpcs = observe(project, services, stream(*pieces)["command"]).test["reference"]
    assert all(rpc["status"] == 200 for rpc in rpcs), rpcs
    assert len({rpc["index"] for rpc in rpcs}) == len(rpcs), "RPCs share an index"
    return rpcs


def to(rpcs, service):
    return [rpc for rpc in rpcs if rpc["service"] == service]


def two_levels():
    return [elements("back"), elements("front", "done", url("back"))]


def three_levels():
    return [elements("back"), elements("middle", "-", url("back")), elements("front", "done", url("middle", "/stream"))]


def test_what_an_open_stream_causes_is_counted_under_its_final_index(project):
    os.mkfifo(project.directory / "done")
    rpcs = traced(project, two_levels(), *PIECES)
    (outer,) = to(rpcs, "front")
    inner = to(rpcs, "back")
    assert [rpc["parent"] for rpc in inner] == [outer["index"]] * 3
    assert [rpc["count"] for rpc in inner] == [1, 2, 3]


def test_streams_have_the_same_indexes_each_time_and_others_for_other_elements(project):
    os.mkfifo(project.directory / "done")
    first, again = (traced(project, two_levels(), *PIECES) for _ in range(2))
    assert [rpc["index"] for rpc in first] == [rpc["index"] for rpc in again]
    other = traced(project, two_levels(), "one", "two", "four")
    assert {rpc["index"] for rpc in first}.isdisjoint(rpc["index"] for rpc in other)


def test_streams_in_streams_are_rewritten_down_to_the_last_rpc(project):
    os.mkfifo(project.directory / "done")
    rpcs = traced(project, three_levels(), *PIECES)
    (outer,), middle, back = to(rpcs, "front"), to(rpcs, "middle"), to(rpcs, "back")
    assert [rpc["parent"] for rpc in middle] == [outer["index"]] * 3
    # "one", "two" and "three" are different payloads: each is the first of its own.
    assert [rpc["count"] for rpc in middle] == [1, 1, 1]
    assert [rpc["parent"] for rpc in back] == [rpc["index"] for rpc in middle for _ in range(2)]
    assert [rpc["count"] for rpc in back] == [1, 2] * 3
    again = traced(project, three_levels(), *PIECES)
    assert [rpc["index"] for rpc in rpcs] == [rpc["index"] for rpc in again]


def test_faults_hit_what_an_open_stream_causes(project):
    os.mkfifo(project.directory / "done")
    project.write("filibuster.json", config(two_levels(), [stream(*PIECES)]))
    run = project.filibuster("run", "--fault", "503", "--no-reduction")
    assert run.exit_code == 0 and run.test["finished"], run
    assert run.test["skipped"] == [], run  # no plan was missed
    assert run.executed == 2 ** 3, run  # any of the three calls, alone and together


UPLOADS = """
import http.client, sys
statuses = []
for size in (10, 300_000, 20, 400_000):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
    connection.request("PUT", "/upload", b"u" * size)
    statuses.append(connection.getresponse().status)
sys.exit(0 if statuses == [200] * 4 else f"{statuses}")
"""


def test_long_requests_are_faulted_beside_short_ones_of_their_call_site(project):
    """Those go out before their body is known."""
    project.write("uploads.py", UPLOADS)
    project.write("filibuster.json", config(
        [elements("back")], [{"name": "uploads", "command": f"exec {PYTHON} uploads.py ${{port:back}}"}], default_faults=False,
        faults=[{"on": {"caller": "test"}, "inject": "status:503"}], bounds={"max_faults": 1, "reference_executions": 1}))
    run = project.filibuster("run")
    assert run.executed == 1 + 4 and len(run.counterexamples) == 4 and "WITHOUT A CONCLUSION" not in run.output, run
