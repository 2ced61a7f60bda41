"""What libfilibuster.so shows to and needs from the process that it lives in (docs/laws.md, law 6)."""
import os
import re
import subprocess

import pytest

from conftest import FILIBUSTER, PRELOAD, PYTHON, REPOSITORY

# Ends of the library's reach: what would touch the host's stdio, locale, environment or exit.
FORBIDDEN = re.compile(
    r"^(backtrace\w*|setenv|unsetenv|putenv|clearenv|setlocale|exit|_exit|_Exit|quick_exit|at_quick_exit"
    r"|v?f?printf|f?puts|f?putc|putchar|f?write_unlocked|fwrite|fflush|fopen(64)?|fdopen|fclose|perror"
    r"|__v?f?printf_chk|std(in|out|err)|_IO_\w+|_Unwind_\w+)$")


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, str(PRELOAD)], check=True, capture_output=True,
                          text=True).stdout


def dynamic_symbols():
    """(name without version, bind, section index) of each dynamic symbol."""
    symbols = []
    for line in readelf("--dyn-syms").splitlines():
        columns = line.split()
        if len(columns) >= 8 and columns[0].rstrip(":").isdigit():
            symbols.append((columns[7].split("@")[0], columns[4], columns[6]))
    assert len(symbols) > 50, "readelf shows the symbols as this test reads them"
    return symbols


def test_only_hooks_are_exported():
    exported = {name for name, _, section in dynamic_symbols() if section != "UND"}
    path = re.search(r"libc\.so\.6 => (\S+)", subprocess.run(["ldd", PRELOAD], capture_output=True, text=True).stdout).group(1)
    libc = subprocess.run(["readelf", "--dyn-syms", "--wide", path], capture_output=True, text=True).stdout
    hooked = {name for name in exported if re.search(rf"\b{name}@", libc)}
    assert {"send", "close", "poll", "fcntl64", "vfork"} <= hooked
    ours = {name for name in exported - hooked if re.match(r"(filibuster|grpc|SSL|gnutls|RAND|uuid)_|napi_register_module_v1$|_ZNSt13random_device9_M_getvalEv$", name)}
    assert exported == hooked | ours


def test_no_symbol_is_unique_across_the_process():
    unique = [name for name, bind, _ in dynamic_symbols() if bind in ("UNIQUE", "<OS")]
    assert unique == []


def test_only_the_c_library_is_needed():
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")))
    assert "libc.so.6" in needed
    assert needed <= {"libc.so.6", "libdl.so.2", "ld-linux-x86-64.so.2"}  # libdl: a part of libc of its own before glibc 2.34
    assert "(RPATH)" not in readelf("-d") and "(RUNPATH)" not in readelf("-d")


def test_the_needed_glibc_is_the_one_that_doctor_prints():
    versions = re.findall(r"\bGLIBC_(\d+(?:\.\d+)+)\b", readelf("--version-info"))
    highest = max(versions, key=lambda version: tuple(map(int, version.split("."))))
    doctor = subprocess.run([FILIBUSTER, "doctor"], capture_output=True, text=True).stdout
    printed = re.search(r"needs GLIBC_([\d.]+) or later", doctor).group(1)
    print(f"needs GLIBC_{highest}")
    assert printed == highest
    # Enters containers back to Debian 12's predecessors with a merged libpthread (2.34, August 2021).
    assert tuple(map(int, highest.split("."))) <= (2, 34)


def test_nothing_is_called_that_touches_the_host():
    undefined = {name for name, _, section in dynamic_symbols() if section == "UND"}
    assert "dlsym" in undefined
    # A test that is reset flushes its streams where exit(3) would have done so next (preload/snapshot/reset/reset.cc).
    assert sorted(name for name in undefined if FORBIDDEN.match(name)) == ["fflush"]


@pytest.fixture
def under_a_session(project):
    """Runs a command as the test of a session; returns what it printed."""
    def run(command):
        output = project.directory / "output"
        result = project.filibuster("trace", "--", "sh", "-c", f"{command} > {output} 2>&1")
        assert "no RPC" in result.output + result.errors, result
        return output.read_text()
    return run


def names_of(text):
    """The descriptors 0 to 9 and higher ones, as `ls -l /proc/self/fd` lists them."""
    return {int(match) for match in re.findall(r" (\d+) -> ", text)}


def test_a_program_without_sockets_maps_no_page_and_opens_no_descriptor(under_a_session):
    maps = under_a_session("cat /proc/self/maps")
    library = str(PRELOAD.resolve())
    assert library in maps, "the program is preloaded"
    shared = [line for line in maps.splitlines()
              if re.search(r"memfd|/dev/shm|/SYSV|filibuster(?!\.so)", line.replace(library, ""))]
    assert shared == []
    assert not re.search(r"^\S+ .w.s ", maps, re.M), "nothing is mapped shared and writable"
    assert "libunwind" not in maps
    descriptors = under_a_session("ls -l /proc/self/fd")
    assert names_of(descriptors) <= {0, 1, 2, 3}, descriptors


def test_the_first_socket_does_map_it(under_a_session):
    """The control of the test above: it can fail."""
    script = ("import socket; s = socket.socket(); "
              "print(open('/proc/self/maps').read())")
    maps = under_a_session(f'{PYTHON} -c "{script}"')
    assert re.search(r"^\S+ .w.s .*(memfd|/dev/shm)", maps, re.M), maps


def test_a_shell_starts_programs_as_without_us(tmp_path):
    environment = os.environ | {"LD_PRELOAD": str(PRELOAD), "FILIBUSTER_DAEMON": f"unix:{tmp_path}/no.sock"}
    command = ["sh", "-c", "echo a | tr a b; (exit 7); echo $?; ls -d /; env | grep -c ^LD_PRELOAD="]
    plain = subprocess.run(command, env=environment | {"LD_PRELOAD": ""}, capture_output=True, text=True)
    ours = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)
