"""Programs that the library cannot enter are named before they start, and in the report."""
import os
import pathlib
import subprocess

import pytest

from small_apps import config, probe, relay, url


NOBODY = 65534

STATIC_SERVER = r"""
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
  if (bind(fd, (struct sockaddr*)&at, sizeof at) != 0 || listen(fd, 16) != 0) return 1;
  const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
  char request[4096];
  for (;;) {
    const int c = accept(fd, NULL, NULL);
    if (c < 0) return 1;
    if (read(c, request, sizeof request) > 0 && write(c, answer, strlen(answer)) < 0) return 1;
    close(c);
  }
}
"""


def compile_server(directory, *flags):
    source = directory / "server.c"
    source.write_text(STATIC_SERVER)
    binary = directory / "server"
    subprocess.run(["gcc", "-O1", *flags, "-o", binary, source], check=True)
    return binary


def explore_native(project, **members):
    project.write("filibuster.json", config(
        [{"name": "native", "command": "exec ./server ${port:native}", **members}, relay("front", "native")],
        [probe(url("front"), expected="200,503")]))
    return project.filibuster("run")


def named_before_the_start(run, *words):
    warnings = [line for line in run.errors.splitlines() if line.startswith("warning: ")]
    (warning,) = [line for line in warnings if "'native'" in line]
    assert all(word in warning for word in words), run
    assert run.errors.index(warning) < run.errors.index("service native ready"), run
    assert any("'native'" in note and words[0] in note for note in run.test["notes"]), run.test


def test_a_static_program_is_named_before_it_starts_and_in_the_report(project):
    compile_server(project.directory, "-static")
    run = explore_native(project, hosts=["native"])
    assert run.exit_code == 0, run
    named_before_the_start(run, "static", "server", "does not find services by the names of `hosts`")
    assert run.executed == 6, "a call to it can still be faulted: its caller is preloaded"


def test_a_setuid_program_is_named_before_it_starts_and_in_the_report(project):
    if os.getuid() != 0:
        pytest.skip("needs root to make a program setuid to another user")
    binary = compile_server(project.directory)
    os.chown(binary, NOBODY, NOBODY)
    binary.chmod(0o4755)
    for parent in project.directory.parents:
        if parent.stat().st_uid == os.getuid() and parent != pathlib.Path("/") and parent != pathlib.Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    run = explore_native(project)
    assert run.exit_code == 0, run
    named_before_the_start(run, "setuid", "server")


def test_a_go_program_is_named_before_it_starts_and_in_the_report(project):
    # Go's linker leaves this section in every program (debug/buildinfo); no Go compiler is needed for it.
    binary = compile_server(project.directory)
    project.write("buildinfo", "\xff Go buildinf:")
    subprocess.run(["objcopy", "--add-section", ".go.buildinfo=buildinfo", binary], cwd=project.directory, check=True)
    run = explore_native(project)
    assert run.exit_code == 0, run
    named_before_the_start(run, "Go program", "server")
