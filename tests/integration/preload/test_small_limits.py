"""What the library needs of its host is little, and where it cannot have it the program goes on as without us."""
import os
import subprocess

import pytest

from conftest import FILIBUSTER, PRELOAD, PYTHON, wait_until
from processes import at_work_in
from small_apps import config, probe, relay, url

# One exchange of a process with itself, over a stream socket, before and after its argument is done.
TALK = r"""
import glob, os, signal, socket, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
def talk():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as served:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            print(served.recv(100), flush=True)
talk()
for path in sys.argv[1:]:
    for name in glob.glob(path):
        try:
            os.truncate(name, 0)
        except OSError as wrong:
            print(os.path.basename(name), wrong.strerror, file=sys.stderr)
talk()
"""
PAGES = "/dev/shm/filibuster-*/*"  # in a /dev/shm of its own


def in_shared_memory_of(size, command, fill=False):
    """The command with a /dev/shm of its own, of which no byte is left where `fill` says so."""
    full = f"head -c {size} /dev/zero > /dev/shm/full && ! head -c 1 /dev/zero 2> /dev/null > /dev/shm/one && rm /dev/shm/one"
    setup = f"mount -t tmpfs -o size={size} none /dev/shm && {full if fill else 'true'} && exec \"$@\""
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", setup, "sh", *map(str, command)]


def ended(command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout, result.stderr


def preloaded(*command):
    return ["env", f"LD_PRELOAD={PRELOAD}", *command]


def compared(surroundings, *command):
    """The program as it is and preloaded, without a daemon, in the same surroundings."""
    plain = ended(surroundings([*command]))
    assert plain[0] == 0, f"the program itself fails: {plain}"
    assert ended(surroundings(preloaded(*command))) == plain


def test_a_full_dev_shm_kills_no_program():
    compared(lambda command: in_shared_memory_of(4096, command, fill=True), PYTHON, "-c", TALK)


@pytest.mark.parametrize("size", [0, 1, 4095])
def test_a_limit_of_file_sizes_ends_no_program(size):
    compared(lambda command: in_shared_memory_of("1m", ["prlimit", f"--fsize={size}", *command]), PYTHON, "-c", TALK)


def test_a_page_that_is_cut_short_kills_no_program():
    def named(command):
        return in_shared_memory_of("1m", command)
    code, output, errors = ended(named(preloaded(PYTHON, "-c", TALK, PAGES)))
    assert (code, output) == ended(named([PYTHON, "-c", TALK, PAGES]))[:2], errors
    # The control: there is a name, which the program would have found.
    assert "control" in errors


def test_a_session_in_a_full_dev_shm_sees_what_it_sees_elsewhere(project):
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [probe(url("front"))]))
    command = [FILIBUSTER, "trace", "--root", project.root]
    code, output, errors = ended(["env", "-C", project.directory, *in_shared_memory_of(4096, command, fill=True)])
    assert code == 0, output + errors
    assert "front" in output and "back" in output, output


def test_a_session_whose_pages_are_cut_short_goes_on(project):
    """By the test itself, between two calls of a service that was there before."""
    cut = "for name in ${FILIBUSTER_DAEMON#unix:}; do : > ${name%/*}/control; done; "
    first, again = probe(url("front"))["command"], probe(url("front"))["command"]
    test = {"name": "cut", "command": first.replace("exec ", "") + " && { " + cut + again + "; }"}
    project.write("filibuster.json", config([relay("back"), relay("front", "back")], [test]))
    run = project.filibuster("trace")
    assert run.exit_code == 0, run
    assert run.output.count("front -> back") == 2, run


def test_a_service_that_may_not_write_files_is_seen(project):
    limited = relay("front", "back")
    limited["command"] = "ulimit -f 0; " + limited["command"]
    project.write("filibuster.json", config([relay("back"), limited], [probe(url("front"), expected="200,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert run.executed > 1, run


def test_a_daemon_that_may_not_write_files_says_so(project):
    project.write("filibuster.json", config([relay("back")], [probe(url("back"))]))
    command = [FILIBUSTER, "trace", "--root", project.root]
    code, output, errors = ended(["env", "-C", project.directory, "prlimit", "--fsize=0", *command])
    assert code == 3, output + errors
    assert "ulimit -f" in errors, errors
    wait_until(lambda: not at_work_in(project.directory), "the daemon has ended")
