"""What the kernel has of loaders, and of somebody else's eBPF."""
import contextlib
import ctypes
import json
import os
import shutil
import struct
import subprocess

from conftest import wait_until
from loader_client import KINDS, PIDFD_GETFD_CALL, Map, bpf, held_by, system_call

BPFTOOL = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin")
MAP_CREATE, PROG_LOAD, PROG_ATTACH = 0, 5, 8
SOCKHASH, SK_MSG, SK_MSG_VERDICT = 18, 16, 7


@contextlib.contextmanager
def sockmap_of_somebody_else(pid):
    """All connections of the process are in a sockhash whose program lets everything pass."""
    code = struct.pack("=BBhi", 0xb7, 0, 0, 1) + struct.pack("=BBhi", 0x95, 0, 0, 0)  # return SK_PASS
    text, license_text = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    program = bpf(PROG_LOAD, struct.pack("=IIQQIIQII16sII", SK_MSG, len(code) // 8, ctypes.addressof(text),
                                         ctypes.addressof(license_text), 0, 0, 0, 0, 0, b"somebody", 0, SK_MSG_VERDICT))
    sockets = bpf(MAP_CREATE, struct.pack("=IIII", SOCKHASH, 8, 8, 64))
    bpf(PROG_ATTACH, struct.pack("=IIII", sockets, program, SK_MSG_VERDICT, 0))
    process, put = os.pidfd_open(pid), 0
    for number in map(int, os.listdir(f"/proc/{pid}/fd")):
        copy = system_call(PIDFD_GETFD_CALL, process, number, 0)
        with contextlib.suppress(OSError):  # what is no connection is refused
            Map(sockets, 8).set(struct.pack("=Q", number), struct.pack("=Q", copy))
            put += 1
        os.close(copy)
    assert put, "the process has a connection"
    try:
        yield
    finally:
        for each in (process, sockets, program):
            os.close(each)


def rows_of_map(loader, name):
    """How many rows a map of the loader has."""
    shown = json.loads(subprocess.run([BPFTOOL, "-j", "map", "show"], stdout=subprocess.PIPE, check=True).stdout)
    (number,) = [row["id"] for row in shown if row.get("name") == name and row["id"] in held_by(loader.process.pid)["map"]]
    return len(json.loads(subprocess.run([BPFTOOL, "-j", "map", "dump", "id", str(number)], stdout=subprocess.PIPE, check=True).stdout))


def wait_until_nothing_is_held(loader):
    """It takes notice of the end of a proxy's connection in its own time."""
    wait_until(lambda: not any(held_by(loader.process.pid).values()), "the loader holds nothing")


def left_in_kernel(loaders, names=None):
    """What the kernel still has of these loaders, by name; `names`: what does not count. (Other loaders may run here.)"""
    left = []
    for kind in KINDS:
        mine = set().union(*(loader.held[kind] for loader in loaders))
        shown = subprocess.run([BPFTOOL, "-j", kind, "show"], stdout=subprocess.PIPE, check=True).stdout
        left += [row.get("name", kind) for row in json.loads(shown or b"[]") if row["id"] in mine]
    return sorted(set(left) - set(names or ()))


def wait_until_no_program_is_left(*loaders):
    """The maps of a slot live as long as its proxy has them."""
    slot = ("fb_ring", "fb_original", "fb_bypassed")
    wait_until(lambda: not left_in_kernel(loaders, slot), "no program of ours is left in the kernel")


def wait_until_nothing_is_left(*loaders):
    """The kernel frees maps and programs a moment after their last descriptor is closed."""
    wait_until(lambda: not left_in_kernel(loaders), "nothing of ours is left in the kernel")
