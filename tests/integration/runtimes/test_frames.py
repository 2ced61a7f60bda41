"""`index.frames`: what counts as a frame of a call stack, in every runtime. Each program calls `back` through code of a
helper of its own; the lists leave the helper out, or let a library count."""
import glob
import os
import shutil
import subprocess

import pytest

from conftest import PYTHON
from rpc_tree import observe
from small_apps import relay

JAVAC = next(iter(sorted(glob.glob("/usr/lib/jvm/java-17-openjdk-*/bin/javac"))), "javac")
NODE = shutil.which("node")


def stack(project, command, frames=None):
    """Of the only call of the test."""
    shutil.rmtree(project.root, ignore_errors=True)
    index = {"index": {"frames": frames}} if frames else {}
    run = observe(project, [relay("back")], command, **index)
    (rpc,) = [rpc for rpc in run.test["reference"] if rpc["caller"] == "test"]
    return rpc["stack"], rpc["index"]


def has(frames, text):
    return any(text in frame for frame in frames)


def check(project, command, helper, deny, program):
    """A frame with `helper` counts unless `deny` names it; one with `program` always does."""
    usual, index = stack(project, command)
    assert has(usual, helper) and has(usual, program), usual
    denied, other = stack(project, command, {"deny": deny})
    assert not has(denied, helper) and has(denied, program), denied
    assert other != index, "another stack is another index"
    both, same = stack(project, command, {"allow": [deny], "deny": "*"})
    assert has(both, helper) and not has(both, program), f"allow beats deny: {both}"
    assert same not in (index, other)


def test_cpython(project):
    project.write("lib/fetching.py", "import http.client\n\ndef get(address):\n"
                  "    c = http.client.HTTPConnection(address)\n    c.request('GET', '/')\n"
                  "    assert c.getresponse().status == 200\n")
    project.write("main.py", "import sys\nsys.path.insert(0, 'lib')\nimport fetching\n\n"
                  "def program():\n    fetching.get(sys.argv[1])\n\nprogram()\n")
    command = f"exec {PYTHON} main.py 127.0.0.1:${{port:back}}"
    check(project, command, "fetching.py", "fetching", "(program)")
    library, _ = stack(project, command, {"allow": "http.client"})
    assert has(library, "client.py"), library


@pytest.mark.skipif(NODE is None, reason="no node on the PATH")
def test_node(project):
    project.write("node_modules/fetching/index.js", "exports.get = function fetchIt(url) {\n"
                  "  require('http').get(url, (r) => r.resume());\n};\n")
    project.write("own.js", "exports.get = function own(url) { require('fetching').get(url); };\n")
    project.write("main.js", "function program() { require('./own.js').get(process.argv[2]); }\nprogram();\n")
    command = f"exec {NODE} main.js http://127.0.0.1:${{port:back}}/"
    check(project, command, "own.js", "own.js", "(program)")
    library, _ = stack(project, command, {"allow": ["fetching"]})
    assert has(library, "(exports.get)") or has(library, "fetchIt"), library


def test_native(project):
    def build(*words):
        subprocess.run(["g++", "-O0", "-g", "-Wl,--build-id", *words], cwd=project.directory, check=True)

    project.write("fetching.cc", r"""
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstring>
bool fetch(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, reinterpret_cast<sockaddr *>(&to), sizeof to) != 0) return false;
  const char *text = "GET / HTTP/1.1\r\nHost: back\r\nConnection: close\r\n\r\n";
  send(s, text, strlen(text), 0);
  char answer[4096];
  while (recv(s, answer, sizeof answer, 0) > 0) {}
  return true;
}
""")
    project.write("main.cc", "#include <cstdlib>\nbool fetch(int);\n"
                  "int main(int, char **words) { return fetch(std::atoi(words[1])) ? 0 : 1; }\n")
    build("-shared", "-fPIC", "-o", "libfetching.so", "fetching.cc")
    build("-o", "program", "main.cc", "-L.", "-lfetching", "-Wl,-rpath,$ORIGIN")
    check(project, "exec ./program ${port:back}", "(fetch(int))", "libfetching.so*", "(main)")


def test_jvm(project):
    project.write("src/acme/util/Fetching.java", """
package acme.util;
public class Fetching {
  public static void fetch(String url) throws Exception {
    if (((java.net.HttpURLConnection) new java.net.URL(url).openConnection()).getResponseCode() != 200) throw new Error();
  }
}
""")
    project.write("src/acme/Main.java", """
package acme;
public class Main {
  public static void main(String[] words) throws Exception { acme.util.Fetching.fetch(words[0]); }
}
""")
    subprocess.run([JAVAC, "-g", "-d", "classes", "src/acme/Main.java", "src/acme/util/Fetching.java"],
                   cwd=project.directory, check=True)
    java = os.path.join(os.path.dirname(JAVAC), "java")
    command = f"exec {java} -cp classes acme.Main http://127.0.0.1:${{port:back}}/"
    check(project, command, "Fetching.fetch", "acme.util", "Main.main")
    library, _ = stack(project, command, {"allow": "sun.net.www"})
    assert has(library, "HttpURLConnection"), library
