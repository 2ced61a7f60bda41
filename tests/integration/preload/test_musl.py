"""Programs that are linked with musl start as if the library were not there, however they are started, and are named. What
they start, and what static programs start, has the library."""
import os
import shutil
import subprocess

import pytest

from conftest import PRELOAD, PYTHON
from rpc_tree import chains, observe
from small_apps import config, probe, relay, url

pytestmark = pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="NOT TESTED: musl-gcc not installed")

# Says whether it has the library, and goes on as the program that its arguments name.
CHAIN = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern char** environ;
int main(int argc, char** argv) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  const char* const name = strrchr(argv[0], '/');
  int found = 0;
  for (char line[4096]; fgets(line, sizeof line, maps);) found |= strstr(line, "/libfilibuster.so\n") != NULL;
  fclose(maps);
  if (getenv("QUIET") == NULL) printf("%s %s\n", name ? name + 1 : argv[0], found ? "with" : "without");
  fflush(stdout);
  if (argc == 1 || strstr(argv[1], "script") != NULL) return 0;
  execve(argv[1], argv + 1, environ);
  perror(argv[1]);
  return 9;
}
"""

SERVER = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int status_of(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const char request[] = "GET /item HTTP/1.1\r\nHost: back\r\nConnection: close\r\n\r\n";
  char answer[4096] = "";
  if (connect(fd, (struct sockaddr*)&at, sizeof at) != 0 || write(fd, request, strlen(request)) < 0) return close(fd), 500;
  const long size = read(fd, answer, sizeof answer - 1);
  close(fd);
  return size < 12 ? 500 : atoi(answer + 9);
}
int main(int argc, char** argv) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr*)&at, sizeof at) != 0 || listen(listener, 50) != 0) return 1;
  for (;;) {
    const int fd = accept(listener, NULL, NULL);
    char text[4096];
    if (read(fd, text, sizeof text) > 0) {
      const int size = snprintf(text, sizeof text, "HTTP/1.1 %d X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                                argc > 2 ? status_of(atoi(argv[2])) : 200);
      if (write(fd, text, size) != size) return 1;
    }
    close(fd);
  }
}
"""

# Starts `words` in each of the ways that the library follows, one after the other, in the folder of the programs.
WAYS = r"""
import ctypes, os, subprocess, sys
here = ctypes.CDLL(None, use_errno=True)
folder, words = sys.argv[1], sys.argv[2:]
program = os.path.join(folder, words[0])
words = [program, *words[1:]]
os.chdir(folder)
os.environ["PATH"] = "/nowhere:" + folder + ":" + os.environ["PATH"]

def texts(given):
    return (ctypes.c_char_p * (len(given) + 1))(*[text.encode() for text in given], None)

def block(**more):
    return texts([f"{key}={value}" for key, value in {**os.environ, **more}.items()])

def in_child(action):
    child = os.fork()
    if child == 0:
        action()
        os._exit(9)
    os.waitpid(child, 0)

def spawned(name, path, folder=None, **more):
    pid, actions = ctypes.c_int(), (ctypes.c_char * 512)()
    here.posix_spawn_file_actions_init(actions)
    if folder:
        here.posix_spawn_file_actions_addchdir_np(actions, folder.encode())
    failed = getattr(here, name)(ctypes.byref(pid), path.encode(), actions if folder else None, None, texts(words), block(**more))
    if failed:
        print(os.strerror(failed), flush=True)
    else:
        os.waitpid(pid.value, 0)

plain, name = [word.encode() for word in words], words[0].rsplit("/", 1)[1]
first = os.environ["LD_PRELOAD"]
ways = {
    "execve": lambda: in_child(lambda: here.execve(words[0].encode(), texts(words), block())),
    "execv": lambda: in_child(lambda: here.execv(words[0].encode(), texts(words))),
    "execvp": lambda: in_child(lambda: here.execvp(name.encode(), texts(words))),
    "execvpe": lambda: in_child(lambda: here.execvpe(name.encode(), texts(words), block())),
    "execl": lambda: in_child(lambda: here.execl(plain[0], *plain, None)),
    "execlp": lambda: in_child(lambda: here.execlp(name.encode(), *plain, None)),
    "execle": lambda: in_child(lambda: here.execle(plain[0], *plain, None, block())),
    "fexecve": lambda: in_child(lambda: here.fexecve(os.open(program, os.O_RDONLY), texts(words), block())),
    "execveat": lambda: in_child(lambda: here.execveat(os.open(folder, os.O_RDONLY), name.encode(), texts(words), block(), 0)),
    "relative": lambda: in_child(lambda: here.execv(f"./{name}".encode(), texts(words))),
    "posix_spawn": lambda: spawned("posix_spawn", program),
    "posix_spawnp": lambda: spawned("posix_spawnp", name),
    "spawned elsewhere": lambda: (os.chdir("/"), spawned("posix_spawn", f"./{name}", folder), os.chdir(folder)),
    "subprocess": lambda: subprocess.run(words),
    "forked": lambda: subprocess.run(words, preexec_fn=lambda: None),
    "system": lambda: os.system(" ".join(words)),
    "shell": lambda: subprocess.run(["/bin/sh", "-c", "true; " + " ".join(words)]),
    "script": lambda: subprocess.run(["./script"]),
    "search in a shell": lambda: subprocess.run(["/bin/sh", "-c", " ".join([name, *words[1:]]) + "; true"]),
    "beside others": lambda: spawned("posix_spawn", program, LD_PRELOAD=f"libm.so.6:{first} libdl.so.2"),
    "large environment": lambda: spawned("posix_spawn", program, **{f"MANY_{n}": str(n) for n in range(300)}),
    "long variable": lambda: spawned("posix_spawn", program, LD_PRELOAD=f"{first}:" + ":".join(["libm.so.6"] * 80)),
    "not found": lambda: in_child(lambda: here.execv(b"/nowhere/program", texts(words))),
}
for way, start in ways.items():
    print("==", way, flush=True)
    start()
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with the program CHAIN as `musl`, `static` and `glibc`, and the musl program SERVER as `server`."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "chain.c").write_text("#include <stdlib.h>\n" + CHAIN)
    (folder / "server.c").write_text(SERVER)
    for name, *command in [("musl", "musl-gcc", "chain.c"), ("static", "gcc", "-static", "chain.c"), ("glibc", "gcc", "chain.c"),
                           ("server", "musl-gcc", "server.c")]:
        subprocess.run([*command, "-O1", "-o", name], cwd=folder, check=True)
    return folder


def said(programs, *words):
    """What the programs say that are started in each way, one after the other, without any session."""
    script = programs / "script"
    script.write_text(f"#!{programs}/{words[0]} {programs}/{words[1]}\n")
    script.chmod(0o755)
    paths = [words[0], *[str(programs / word) for word in words[1:]]]
    run = subprocess.run([PYTHON, "-c", WAYS, str(programs), *paths], text=True, capture_output=True, timeout=120,
                         env={**os.environ, "LD_PRELOAD": str(PRELOAD)})
    assert run.returncode == 0 and not run.stderr, run
    parts = [part.split("\n", 1) for part in run.stdout.split("== ")[1:]]
    return {way: text.splitlines() for way, text in parts}


@pytest.mark.parametrize("first", ["musl", "static"])
def test_a_program_without_the_library_starts_and_what_it_starts_has_it(programs, first):
    """The static one starts one of musl, which nothing of ours can see: so it is handed what that one ignores."""
    words = [first, "musl", "glibc"] if first == "static" else ["musl", "glibc"]
    expected = [f"{word} {'with' if word == 'glibc' else 'without'}" for word in words]
    ways = said(programs, *words)
    assert ways.pop("not found") == []
    # The kernel gives the interpreter of a script one argument at most, and the script behind it.
    assert ways.pop("script") == expected[:2]
    assert ways == {way: expected for way in ways}


def the_warning(run, *words):
    (warning,) = [line for line in run.errors.splitlines() if line.startswith("warning: ") and words[0] in line]
    assert all(word in warning for word in words), run
    assert any(words[0] in note for note in run.test["notes"]), run.test["notes"]


def explored(project, programs, command):
    project.write("filibuster.json", config(
        [relay("back"), {"name": "front", "command": f"{command} ${{port:front}} ${{port:back}}", "directory": str(programs)},
         relay("entry", "front")], [probe(url("entry"), expected="200,500,503")]))
    run = project.filibuster("run")
    assert run.exit_code == 0, run
    assert run.executed > 2, run
    return run


def test_a_service_linked_with_musl_is_started_and_named(project, programs):
    run = explored(project, programs, "./server")
    the_warning(run, "'front'", "musl", "server", '"interpose": "bpf"')


def test_it_is_named_by_whoever_executes_it(project, programs):
    """The first program of the command does not say so."""
    run = explored(project, programs, "cd . && ./server")
    the_warning(run, "'front'", "musl", "./server", '"interpose": "bpf"')


def test_it_is_named_where_nothing_of_ours_executes_it(project, programs):
    run = explored(project, programs, "QUIET=1 ./static ./server")
    warnings = [line for line in run.errors.splitlines() if line.startswith("warning: ") and "'front'" in line]
    assert "statically linked" in warnings[0] and run.errors.index(warnings[0]) < run.errors.index("service front ready"), run


def test_what_a_musl_program_starts_is_followed(project, programs):
    started = relay("front", "back")
    started["command"] = f"QUIET=1 exec {programs}/musl " + started["command"].removeprefix("exec ")
    run = observe(project, [relay("back"), started], f"curl -sS --max-time 20 {url('front')}")
    assert chains(run) == ["test>front GET / 200", "test>front GET / 200 / front>back GET / 200"]
