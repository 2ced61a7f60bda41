"""Call stacks of compiled programs: function and file:line, also where they were stripped; the same index wherever the
program is loaded and whatever is rebuilt around it."""
import shutil
import subprocess

import pytest

from conftest import REPOSITORY
from rpc_tree import observe
from small_apps import relay, url

RUST = REPOSITORY / "tests" / "programs" / "rust" / "http.rs"


def run_command(*words, cwd):
    subprocess.run([str(word) for word in words], cwd=cwd, check=True, capture_output=True, text=True)


def build_rust(project, *options):
    run_command("rustc", "-g", "-O", "--edition", "2021", *options, "-o", "http", RUST, cwd=project.directory)


def observe_rust(project, number=1):
    web = {"name": "web", "command": "exec ./http ${port:web} 127.0.0.1:${port:back} 127.0.0.1:${port:back}"}
    return observe(project, [relay("back"), web], "curl -sSf " + " ".join(url("web", f"/{n}") for n in range(number)))


def calls(run, caller="web"):
    return sorted((rpc["path"], rpc["index"], tuple(rpc["stack"])) for rpc in run.test["reference"]
                  if rpc["caller"] == caller)


def line_of(text, path):
    (number,) = [n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line]
    return number


# --- Rust -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mangling", ["legacy", "v0"])
def test_a_rust_program_is_shown_by_function_and_line(project, mangling):
    build_rust(project, *(["-C", "symbol-mangling-version=v0"] if mangling == "v0" else []))
    stacks = [stack for _, _, stack in calls(observe_rust(project))]
    assert len(stacks) == 2
    wanted = f"http.rs:{line_of('good &= call_dependency', RUST)} (http::serve)"
    for stack in stacks:
        assert any(frame.endswith(wanted) for frame in stack), stack
        assert any("(http::call_dependency)" in frame for frame in stack), stack


@pytest.mark.parametrize("place", ["beside it", "in .debug"])
def test_a_stripped_program_is_shown_by_its_debug_file(project, place):
    build_rust(project)
    run_command("objcopy", "--only-keep-debug", "http", "http.debug", cwd=project.directory)
    run_command("objcopy", "--strip-all", "--add-gnu-debuglink=http.debug", "http", cwd=project.directory)
    if place == "in .debug":
        (project.directory / ".debug").mkdir()
        shutil.move(project.directory / "http.debug", project.directory / ".debug")
    wanted = f"http.rs:{line_of('good &= call_dependency', RUST)} (http::serve)"
    for _, _, stack in calls(observe_rust(project)):
        assert any(frame.endswith(wanted) for frame in stack), stack


def test_a_debug_file_of_another_build_is_not_believed(project):
    build_rust(project, "-C", "opt-level=0")
    run_command("objcopy", "--only-keep-debug", "http", "http.debug", cwd=project.directory)
    build_rust(project)
    run_command("objcopy", "--strip-all", "--add-gnu-debuglink=http.debug", "http", cwd=project.directory)
    for _, _, stack in calls(observe_rust(project)):
        assert stack and not any("http.rs" in frame for frame in stack), stack
        assert all("+0x" in frame for frame in stack if "http" in frame), stack


# --- what an index depends on -----------------------------------------------------------------------------

SERVICE = r"""
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <string>
int unrelated(int);
namespace shop {
__attribute__((noinline)) bool call(int port, const std::string &path) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, reinterpret_cast<sockaddr *>(&to), sizeof to) != 0) return false;
  const std::string text = "GET " + path + " HTTP/1.1\r\nHost: back\r\nConnection: close\r\n\r\n";
  send(s, text.data(), text.size(), 0);
  char answer[4096];
  while (recv(s, answer, sizeof answer, 0) > 0) {}
  close(s);
  return true;
}
}
int main(int, char **words) {
  const int port = std::atoi(words[1]);
  bool good = shop::call(port, "/first");   // here
  good = shop::call(port, "/second") && good;
  return good && unrelated(1) == 2 ? 0 : 1;
}
"""


def build_cpp(project, unrelated="return x + 1;"):
    project.write("unrelated.cc", f"int unrelated(int x) {{ {unrelated} }}\n")
    run_command("g++", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", "libunrelated.so", "unrelated.cc",
                cwd=project.directory)
    if not (project.directory / "program").exists():
        project.write("program.cc", SERVICE)
        run_command("g++", "-O1", "-g", "-Wl,--build-id", "-o", "program", "program.cc", "-L.", "-lunrelated",
                    "-Wl,-rpath,$ORIGIN", cwd=project.directory)


def test_where_a_program_is_loaded_and_what_else_is_rebuilt_do_not_change_an_index(project):
    def indexes(command="./program ${port:back}"):
        return calls(observe(project, [relay("back")], command), "test")

    build_cpp(project)
    first = indexes()
    assert [path for path, _, _ in first] == ["/first", "/second"]
    for _, _, stack in first:
        assert any("(shop::call(int, std::" in frame for frame in stack), stack
    line = SERVICE.splitlines().index('  bool good = shop::call(port, "/first");   // here') + 1
    assert any(frame.endswith(f"program.cc:{line} (main)") for frame in first[0][2]), first[0][2]
    shutil.rmtree(project.root)
    assert indexes() == first, "address-space randomisation"
    shutil.rmtree(project.root)
    assert indexes("setarch -R ./program ${port:back}") == first, "none of it"
    shutil.rmtree(project.root)
    build_cpp(project, "int y = x * 3; for (int i = 0; i < x; ++i) y ^= i; return y == 3 ? x + 1 : x;")
    assert indexes() == first, "another library was rebuilt"
    shutil.rmtree(project.root)
    (project.directory / "elsewhere").mkdir()
    for name in ("program", "libunrelated.so"):
        shutil.copy(project.directory / name, project.directory / "elsewhere")
    moved = indexes("elsewhere/program ${port:back}")
    assert [(path, index) for path, index, _ in moved] == [(path, index) for path, index, _ in first]
