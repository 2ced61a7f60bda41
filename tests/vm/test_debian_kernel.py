"""What Debian 12's own kernel takes and lacks, and what the loader chooses there (`make test-bpf-vm`)."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests/integration"), str(REPOSITORY / "tests/integration/attach")]
import in_kernel  # noqa: E402
import loader_client  # noqa: E402
from attach_fixtures import caller, loader, probed, proxy, started  # noqa: E402, F401

# Programs whose place came with that version of Linux.
SINCE = {"fb_write_tp": (6, 16), "fb_read_length": (6, 3)}
RELEASE = tuple(map(int, os.uname().release.split(".")[:2]))
YOUNGER = {program for program, since in SINCE.items() if RELEASE < since}


@pytest.fixture(scope="module")
def programs():
    """What the kernel says of each program by itself; and what its verifier said, for whoever reads why."""
    done = subprocess.run([loader_client.LOADER, "probe", "--programs", "--verbose"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=True)
    return {row["program"]: row for row in json.loads(done.stdout)}, done.stderr


def test_the_kernel_takes_every_program_whose_place_it_has(programs):
    rows, said = programs
    refused = {name: row["answer"] for name, row in rows.items() if not row["works"]}
    assert refused == {name: os.strerror(3) for name in YOUNGER}, said


def test_what_the_kernel_lacks_is_named_and_all_else_works():
    lacking = {"tp_btf writes": "fb_write_tp", "tp_btf reads": "fb_read_length"}
    assert {name for name, row in probed().items() if not row["works"]} == \
        {feature for feature, program in lacking.items() if program in YOUNGER}, probed()


def test_of_the_ways_to_observe_the_first_that_the_kernel_allows_is_taken(caller, proxy, loader):  # noqa: F811
    reply = proxy.attach("users", [caller.pid])
    assert (reply.error, reply.text) == (0, "")
    shown = json.loads(subprocess.run([in_kernel.BPFTOOL, "-j", "prog", "show"], stdout=subprocess.PIPE, check=True).stdout)
    attached = {row["name"] for row in shown if row["id"] in loader.held["prog"]}
    assert {"fb_write_fentry", "fb_read_space"} <= attached
    assert not attached & {"fb_write_tp", "fb_write_msg", "fb_read_length"}
