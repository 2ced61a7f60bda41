"""The suites: how each is run, and what it says."""
import dataclasses
import pathlib
import typing

import results


@dataclasses.dataclass
class Suite:
    name: str
    command: str  # of a shell; writes to the file {out}
    read: typing.Callable
    suffix: str = ".txt"


PYTHON_SUITES = ("test_ssl", "test_httplib", "test_urllib2_localnet", "test_asyncio")


def of_cpython(name):
    return Suite(f"cpython/{name}", f"/usr/bin/python3.11 -m test --timeout 120 --junit-xml {{out}} {name}", results.of_junit, ".xml")


def of_libevent(build):
    """Its tests of sockets, buffers on them, HTTP, DNS and TLS, each in a process of its own."""
    regress = pathlib.Path(build) / "conformance/libevent/build/bin/regress"
    groups = "http/.. ssl/.. bufferevent/.. listener/.. evbuffer/.. main/.. rpc/.. thread/.."
    return Suite("libevent", f"EVENT_NOWAFFLES=1 {regress} {groups} > {{out}} 2>&1", results.of_tinytest)


def all_suites(build):
    return [*map(of_cpython, PYTHON_SUITES), of_libevent(build)]
