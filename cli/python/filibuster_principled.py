"""Principled tests: a test in blocks, which says what the service does under each fault. One file, pytest and the
standard library only: copy it.

    from filibuster_principled import PrincipledTest, key

    class TestPurchase(PrincipledTest):
        def stub_block(self):
            self.stub_for("user", grpc="shop.UserService/GetUser", message={"user_id": "ann"})

        def failure_block(self):
            self.assert_fault_throws("shop.UserService/GetUser", "UNAVAILABLE")
            self.assert_on_exception("UNAVAILABLE", lambda: self.read_only_rpc("shop.CartService/GetCart"))

        def execute_block(self):
            self.response = place_order()

        def assert_test_block(self):
            assert self.response.total == 9000

        def assert_stub_block(self):
            self.verify_that("shop.UserService/GetUser", 1)

    pytest -p filibuster_principled test_purchase.py

The daemon directs: it says which block runs, in which execution, and what each execution proves. This file runs the blocks,
tells what they called, and shows each execution as a test: test_purchase.py::TestPurchase[without faults]. Started plainly, it
starts `filibuster principled` with the filibuster.json that is nearest to the test, or with that of --filibuster=CONFIG.
"""
import contextlib
import inspect
import json as _json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request

import pytest
from _pytest.reports import TestReport
from _pytest.runner import runtestprotocol

__all__ = ["PrincipledTest", "key"]

_DEFAULT = "filibuster.json"
_TRACE_BYTES = 64 * 1024
_ABSENT = object()  # where None is a value, too
_THIS_FILE = (lambda: None).__code__.co_filename

_BLOCKS = {"setup": "setup_block", "stub": "stub_block", "failure": "failure_block", "execute": "execute_block",
           "assert_test": "assert_test_block", "assert_stubs": "assert_stub_block", "teardown": "teardown_block"}

# The daemon listens on loopback, so a proxy that the environment names must not be used.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class _Failure(Exception):
    """The test as a whole fails with this text, without a traceback."""


# ---- keys, stubs and other values of the protocol ----

def _plain(value):
    """The value as JSON has it. A message of protobuf becomes its fields, by the names of the .proto file."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "DESCRIPTOR") and hasattr(value, "SerializeToString"):
        from google.protobuf import json_format
        return json_format.MessageToDict(value, preserving_proto_field_name=True)
    return value


def _code(code):
    """A status of HTTP is a number; a code of gRPC is its name, also if it is one of grpc.StatusCode."""
    if isinstance(code, int) and not isinstance(code, bool):
        return int(code)
    name = getattr(code, "name", None)
    return name if isinstance(name, str) else code


def _given(**members):
    return {name: _plain(value) for name, value in members.items() if value is not None}


def _of_text(text):
    """What a key means that is only a text: a method of gRPC, a path, a method of HTTP and a path, or a service."""
    if re.fullmatch(r"(\w+\.)+\w+/[\w*?]+|[A-Z]\w*/[\w*?]+", text):
        return {"grpc": text}
    if text.startswith("/"):
        return {"path": text}
    request = re.fullmatch(r"([A-Z]+) (/\S*)", text)
    return {"method": request[1], "path": request[2]} if request else {"service": text}


def key(rpc=None, *, service=None, method=None, path=None, grpc=None, request=None, fields=None, fault=None):
    """The RPCs, or the faults, that a specification is about. What is left out matches anything.

    `rpc` is a text: "shop.UserService/GetUser", "POST /orders", "/orders" or the name of a service. `request` is the whole request,
    `fields` are some of it by JSON pointers ({"/code": "DAILY"}), and `fault` is "grpc:UNAVAILABLE", "status:503", "timeout", ...
    """
    made = {} if rpc is None else _key(rpc)
    made.update(_given(service=service, method=method, path=path, grpc=grpc, request=request, fields=fields, fault=fault))
    return made


def _key(of):
    if isinstance(of, str):
        return _of_text(of)
    if isinstance(of, dict):
        return dict(of)
    raise TypeError("a key is a text or what key() makes, not %r" % (of,))


def _keys(of):
    return [_key(one) for one in of] if isinstance(of, (list, tuple)) else [_key(of)]


def _answer(of):
    """An answer of a stub: a message of protobuf is that of gRPC, all else stands as in the configuration."""
    return _plain(of) if isinstance(of, dict) else {"message": _plain(of)}


def _absolute(file, line):
    return "%s:%d" % (os.path.abspath(file), line)


def _caller():
    """Where the test called the API: the innermost frame outside of this file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == _THIS_FILE:
        frame = frame.f_back
    return _absolute(frame.f_code.co_filename, frame.f_lineno)


# ---- the test ----

class PrincipledTest:
    """A test in blocks. Each execution has an instance of its own. A class without an execute_block, and one with
    `__test__ = False` of its own, is a base of others and does not run."""

    response = None  # for the test's own use
    _filibuster = None  # the _Loop that runs this instance

    def setup_block(self):
        """Prepares what the test needs. Its calls get no faults."""

    def stub_block(self):
        """Says how the dependencies answer: stub_for."""

    def failure_block(self):
        """Says what the service does under faults: assert_fault_throws, assert_on_fault, ..."""

    def execute_block(self):
        """Calls the service under test. Only here faults are injected."""
        raise NotImplementedError("execute_block")

    def assert_test_block(self):
        """What holds after the execution without faults, and under faults that have no impact."""

    def assert_stub_block(self):
        """How often each stub was called: verify_that."""

    def teardown_block(self):
        """Tidies up. Its calls get no faults."""

    key = staticmethod(key)

    def stub_for(self, service, answer=None, *, answers=None, grpc=None, method=None, path=None, request=None, fields=None,
                 message=None, code=None, status_message=None, status=None, headers=None, json=_ABSENT, text=None,
                 reply=_ABSENT, delay=None):
        """Calls of `service` are answered so (docs/stubs.md). The answer is a message of protobuf, an object as in the configuration,
        or its parts by name; `answers` is a sequence of them."""
        parts = _given(message=message, code=_code(code), status_message=status_message, status=status, headers=headers,
                       text=text, delay=delay)
        parts.update({name: _plain(value) for name, value in (("json", json), ("reply", reply)) if value is not _ABSENT})
        if sum((answer is not None, answers is not None, bool(parts))) > 1:
            raise TypeError("stub_for takes `answer`, `answers` or the parts of one answer, not several of them")
        stub = _given(grpc=grpc, method=method, path=path, request=request, fields=fields)
        stub["answer"] = (_answer(answer) if answer is not None else
                          [_answer(one) for one in answers] if answers is not None else parts)
        self._called("stub_for", service=service, stub=stub)

    def verify_that(self, key, times):
        """These RPCs were made so often. Under a fault in one of them the number is adjusted."""
        times = _plain(times)
        try:
            _json.dumps(times, allow_nan=False)
        except (TypeError, ValueError):
            times = repr(times)
        self._called("verify_that", key=_key(key), times=times)

    def assert_fault_throws(self, keys, code, message=None):
        """Under this fault (or these together, as a list) the service answers with the error `code`."""
        self._called("assert_fault_throws", keys=_keys(keys), code=_code(code), message=message)

    def assert_fault_propagates(self, key):
        """Under this fault the service answers with the same error."""
        self._called("assert_fault_propagates", keys=_keys(key))

    def assert_fault_has_no_impact(self, key):
        """Under this fault the assertions of assert_test_block hold."""
        self._called("assert_fault_has_no_impact", keys=_keys(key))

    def assert_on_fault(self, keys, block):
        """Under this fault (or these together, as a list) the service answers, and the assertions of `block` hold."""
        self._called("assert_on_fault", block=block, keys=_keys(keys))

    def assert_on_exception(self, code, block):
        """Whenever the service answers with the error `code`, the assertions of `block` hold."""
        self._called("assert_on_exception", block=block, code=_code(code))

    def read_only_rpc(self, key):
        """In a block of an exception or a fault: these RPCs change nothing, and may be made or not."""
        self._called("read_only_rpc", key=_key(key))

    def side_effecting_rpc(self, key, times):
        """In a block of an exception or a fault: these RPCs change something, and are made so often."""
        self._called("side_effecting_rpc", key=_key(key), times=times)

    def outcome(self, thrown, code=None, message=None):
        """In execute_block: what the test has seen of the service, in place of what was on the wire."""
        self._loop("outcome").outcome = {"thrown": True, "code": _code(code), "message": message} if thrown else {"thrown": False}

    @contextlib.contextmanager
    def without_faults(self):
        """Calls inside of this get no faults."""
        loop = self._loop("without_faults")
        loop.suspend(1)
        try:
            yield
        finally:
            loop.suspend(-1)

    @contextlib.contextmanager
    def group(self, name):
        """Calls inside of this are shown together in the report."""
        loop = self._loop("group")
        loop.enter_group(name)
        try:
            yield
        finally:
            loop.leave_group()

    def test_needs_the_plugin(self):
        """What pytest collects where this file is no plugin: the blocks must not be passed over in silence."""
        pytest.fail("a principled test needs the plugin: pytest -p filibuster_principled", pytrace=False)

    def _loop(self, api):
        loop = self._filibuster
        if loop is None or loop.block is None:
            raise RuntimeError("%s() was called outside of every block: only a block that filibuster runs may call it" % api)
        return loop

    def _called(self, api, block=None, **members):
        loop = self._loop(api)
        call = {"api": api, "at": _caller(), **members}
        _json.dumps(call, allow_nan=False)  # what JSON cannot carry is an error of this line of the test
        if block is not None:
            call["specification"] = len(loop.closures)
            loop.closures.append(block)
        loop.calls.append(call)


# ---- the protocol ----

class _Daemon:
    def __init__(self):
        self.url = os.environ.get("FILIBUSTER_URL", "") + "/v1/blocks"
        self.token = os.environ.get("FILIBUSTER_TOKEN", "")
        self.lock = threading.Lock()  # one connection at a time, also if threads of the test suspend

    def post(self, what):
        request = urllib.request.Request(
            self.url, data=_json.dumps(what).encode(), method="POST",
            headers={"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        try:
            with self.lock, _opener.open(request, timeout=None) as response:
                answer = _json.load(response)
        except urllib.error.HTTPError as error:
            raise _Failure("filibuster's daemon refused (%d): %s" % (error.code, _errors(error.read()))) from None
        except (OSError, ValueError) as error:  # URLError is an OSError, HTTPException of a cut answer is not
            raise _Failure("filibuster's daemon did not answer: %s" % error) from error
        except Exception as error:
            raise _Failure("filibuster's daemon did not answer as HTTP does: %r" % error) from error
        if not isinstance(answer, dict):
            raise _Failure("filibuster's daemon answered %r, which is no instruction" % (answer,))
        return answer


def _errors(body):
    text = body.decode("utf-8", "replace")
    try:
        return "\n".join(error["message"] for error in _json.loads(text)["errors"])
    except (ValueError, KeyError, TypeError):
        return text


def _bounded(text):
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= _TRACE_BYTES:
        return encoded.decode()
    cut = "[the beginning was cut]\n"
    return cut + encoded[-(_TRACE_BYTES - len(cut)):].decode("utf-8", "ignore")


class _Loop:
    """Does what the daemon says, from the greeting to the end."""

    def __init__(self, test):
        self.test, self.daemon = test, _Daemon()
        self.files = {os.path.abspath(file) for file in map(_file_of, test.__mro__) if file} - {os.path.abspath(_THIS_FILE)}
        self.instance, self.block, self.outcome, self.broken = None, None, None, None
        self.calls, self.closures, self.suspended, self.groups = [], [], 0, []

    def run(self, hello, executions):
        """`executions` is told of each begin and end. The answer is the instruction 'finish'."""
        instruction = self.daemon.post({"hello": hello})
        while instruction.get("do") != "finish":
            instruction = self.daemon.post(self.follow(instruction, executions))
        return instruction

    def follow(self, instruction, executions):
        do = instruction.get("do")
        if do == "wait":
            return {"waiting": True}
        if do == "begin":
            self.instance, self.closures, self.suspended, self.groups = None, [], 0, []
            executions.begin(instruction)
            return {"begun": instruction["execution"]}
        if do == "end":
            executions.end(instruction)
            return {"ended": instruction["execution"]}
        if do == "run" and (instruction.get("block") in _BLOCKS or "specification" in instruction):
            return {"ran": self.ran(instruction)}
        raise _Failure("the instruction %s of filibuster's daemon is unknown: filibuster_principled.py and filibuster "
                       "are of different versions" % _json.dumps(instruction))

    def ran(self, instruction):
        self.block, self.calls, self.outcome = instruction["block"], [], None
        result = {"block": self.block, "passed": True, "message": "", "at": "", "trace": ""}
        try:
            self.body(instruction)()
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # those of pytest.fail and pytest.skip are no Exception
            result.update(self.failure(error))
        finally:
            self.block = None
        if self.broken is not None:
            raise self.broken
        return {**result, "calls": self.calls, "outcome": self.outcome}

    def body(self, instruction):
        if self.instance is None:
            self.instance = self.test()
            self.instance._filibuster = self
        if instruction["block"] in _BLOCKS:
            return getattr(self.instance, _BLOCKS[instruction["block"]])
        return self.closures[instruction["specification"]]

    def failure(self, error):
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == _THIS_FILE:
            trace = trace.tb_next
        frames = [_absolute(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(trace)]
        own = [at for at in frames if at.rsplit(":", 1)[0] in self.files]
        text = "".join(traceback.format_exception(type(error), error, trace or error.__traceback__))
        said = str(error)
        return {"passed": False, "message": _bounded(type(error).__name__ + (": " + said if said else "")),
                "at": (own or frames or [""])[-1], "trace": _bounded(text)}

    # What a block posts while it runs. If that fails, the block's result is not worth posting.

    def post(self, what):
        try:
            self.daemon.post(what)
        except _Failure as error:
            self.broken = self.broken or error
            raise

    def suspend(self, step):
        self.suspended += step
        if self.suspended == (1 if step > 0 else 0):
            self.post({"suspend": step > 0})

    def enter_group(self, name):
        self.groups.append(name)
        self.post({"group": name})

    def leave_group(self):
        self.groups.pop()
        self.post({"group": self.groups[-1] if self.groups else None})


def _file_of(one):
    return getattr(sys.modules.get(one.__module__), "__file__", None)


# ---- the plugin ----

def pytest_addoption(parser):
    with contextlib.suppress(ValueError):  # filibuster_pytest has the same option
        parser.getgroup("filibuster").addoption(
            "--filibuster", nargs="?", const=_DEFAULT, metavar="CONFIG",
            help="the configuration of principled tests (else the nearest filibuster.json)")
    parser.addini("filibuster_config", "the configuration of principled tests, from the folder of this file")


def _is_test(test):
    return (test.execute_block is not PrincipledTest.execute_block and vars(test).get("__test__", True)
            and not inspect.isabstract(test))


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    if not (isinstance(obj, type) and issubclass(obj, PrincipledTest)):
        return None
    return [_Item.from_parent(collector, name=name, test=obj)] if _is_test(obj) else []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if not isinstance(item, _Item):
        return None
    # The executions are reported while the item runs, so that its own line stands behind theirs.
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class _Executions:
    """Shows each execution as a test of its own."""

    def __init__(self, item):
        self.item, self.names, self.open, self.began = item, set(), None, 0
        self.capture = item.config.pluginmanager.getplugin("capturemanager")

    def begin(self, instruction):
        name = plain = " ".join(str(instruction.get("name", "")).split())
        number = 1
        while name in self.names:
            number += 1
            name = "%s (%d)" % (plain, number)
        self.names.add(name)
        self.open, self.began = name, time.perf_counter()
        self.output()
        with self.shown():
            self.item.ihook.pytest_runtest_logstart(nodeid=self.nodeid(), location=self.location())

    def end(self, instruction):
        passed = instruction.get("passed") is True
        self.report(passed, instruction.get("text") or instruction.get("kind") or "")

    def abandon(self):
        if self.open is not None:
            self.report(False, "the execution did not end")

    def report(self, passed, text):
        sections = self.output()
        seconds = time.perf_counter() - self.began
        with self.shown():
            for when in ("setup", "call", "teardown"):
                called = when == "call"
                self.item.ihook.pytest_runtest_logreport(report=TestReport(
                    nodeid=self.nodeid(), location=self.location(), keywords={}, when=when,
                    outcome="failed" if called and not passed else "passed", longrepr=text if called and not passed else None,
                    sections=sections if called else (), duration=seconds if called else 0))
            self.item.ihook.pytest_runtest_logfinish(nodeid=self.nodeid(), location=self.location())
        self.open = None

    def nodeid(self):
        return "%s[%s]" % (self.item.nodeid, self.open)

    def location(self):
        file, line, name = self.item.location
        return file, line, "%s[%s]" % (name, self.open)

    def shown(self):
        """What is written now belongs to the runner, and not to the test."""
        return self.capture.global_and_fixture_disabled() if self.capture else contextlib.nullcontext()

    def output(self):
        """What the test has written since the last call."""
        if not self.capture:
            return []
        with self.shown():
            written = self.capture.read_global_capture()
        return [("Captured %s call" % name, text) for name, text in zip(("stdout", "stderr"), written) if text]


class _Item(pytest.Item):
    principled = True  # filibuster_pytest leaves it alone

    def __init__(self, *, test, **arguments):
        super().__init__(**arguments)
        self.obj = test
        for mark in getattr(test, "pytestmark", []):
            self.add_marker(getattr(pytest.mark, mark.name).with_args(*mark.args, **mark.kwargs))

    def reportinfo(self):
        return self.path, self.line() - 1, self.name

    def line(self):
        try:
            return inspect.getsourcelines(self.obj)[1]
        except (OSError, TypeError):
            return 1

    def runtest(self):
        executions = _Executions(self)
        try:
            if os.environ.get("FILIBUSTER_BLOCKS"):
                finish = _Loop(self.obj).run({"form": "pytest", "test": self.nodeid, "file": str(self.path),
                                              "line": self.line()}, executions)
            elif os.environ.get("FILIBUSTER_URL"):
                raise _Failure("this is a principled test, which `filibuster principled` runs, and not `filibuster run`")
            else:
                finish = self.explore(executions)
        finally:
            executions.abandon()
        if finish.get("passed") is not True:
            raise _Failure(finish.get("text") or "the principled test failed")

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, _Failure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    # Started plainly: filibuster starts this test once more, inside of a session.

    def explore(self, executions):
        program = shutil.which("filibuster")
        if program is None:
            raise _Failure("the command `filibuster`, which runs principled tests, is not on the PATH")
        command = [program, "principled", "-c", self.configuration(), "--in-runner", "--",
                   sys.executable, "-m", "pytest", "-p", "filibuster_principled", "-q", "--rootdir", str(self.config.rootpath)]
        if self.config.inipath:
            command += ["-c", str(self.config.inipath)]
        path = [os.path.dirname(os.path.abspath(_THIS_FILE)), os.environ.get("PYTHONPATH")]
        with tempfile.TemporaryFile() as errors, subprocess.Popen(
                [*command, self.nodeid], cwd=self.config.rootpath, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, text=True, encoding="utf-8", errors="replace",
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}) as child:
            try:
                finish, other = _told(child.stdout, executions)
            except BaseException:
                child.terminate()
                raise
            child.wait()
            if finish is None:
                errors.seek(0)
                said = other + errors.read().decode("utf-8", "replace")
                raise _Failure("`filibuster principled` ended with exit status %d before the test did:\n%s" % (child.returncode, said))
            return finish

    def configuration(self):
        named = self.config.getoption("--filibuster")
        if named:
            return os.path.join(self.config.invocation_params.dir, named)
        named = self.config.getini("filibuster_config")
        if named:
            return os.path.join(self.config.inipath.parent if self.config.inipath else self.config.rootpath, named)
        for folder in self.path.parents:
            if (folder / _DEFAULT).is_file():
                return str(folder / _DEFAULT)
        raise _Failure("there is no %s in the folder of %s or above it: write one, or name it by --filibuster=CONFIG"
                       % (_DEFAULT, self.path))


def _told(lines, executions):
    """Follows what the process inside of the session was told. The answer is 'finish' (or None), and what else was written."""
    finish, other = None, ""
    for line in lines:
        try:
            instruction = _json.loads(line)
            do = instruction["do"]
        except (ValueError, KeyError, TypeError):
            other += line
            continue
        if do == "begin":
            executions.begin(instruction)
        elif do == "end":
            executions.end(instruction)
        elif do == "finish":
            finish = instruction
    return finish, other
