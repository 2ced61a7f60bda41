"""Models and clients for `filibuster property`. One file, Python 3.7 and its standard library only: copy it.

A model says what the application does, in the simplest way. This one is of a list, to which `append` answers the index:

    from filibuster_property import Model, command, integer, run, text

    class List(Model):
        reads = ["get"]

        def init(self):
            return []

        def commands(self, state):
            return [command("append", text(max=8)), command("get", integer(0, len(state)), weight=2)]

        def step(self, state, f, value, answer):
            if f == "append":
                return state + [value], len(state)
            return state, state[value] if value < len(state) else None

    run(List())

A client does the same commands with the application, and says what it saw:

    from filibuster_property import Client, Fail, Info, run

    class Http(Client):
        def append(self, value):
            answer = post("/", value)
            if answer.status == 503:
                raise Fail("503")            # it has certainly not happened
            if answer.status != 200:
                raise Info(answer.status)    # nobody knows
            return int(answer.text)

        def get(self, value): ...

        def reset(self):                     # makes the state again that the model begins with
            post("/reset")

    run(Http())

Each is a program that answers questions, one JSON text a line, which the daemon asks on its standard input. What they print
goes to the standard error.
"""
import inspect
import json
import os
import sys
import traceback

__all__ = ["Model", "Client", "Fail", "Info", "Impossible", "ANY", "UNKNOWN", "run", "command", "integer", "text", "one_of",
           "array", "record", "result_of", "constant", "is_symbol"]

_THIS_FILE = (lambda: None).__code__.co_filename


class _Word:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


ANY = _Word("ANY")  # the second of what step() returns: whatever is answered will do
UNKNOWN = _Word("UNKNOWN")  # the answer that step() and classify() are given where nobody saw one


class Fail(Exception):
    """A client's command had no effect, for certain."""


class Info(Exception):
    """Nobody knows whether a client's command had its effect, or will still have it."""


class Impossible(Exception):
    """In this state of the model, a command cannot have been answered so."""


class _Wrong(Exception):
    """What the daemon is told instead of an answer, without another line of a file."""


# ---- values that are generated ----

def integer(low, high):
    """An integer from `low` to `high`, both included."""
    return {"int": [low, high]}


def text(max=8):
    """A text of at most `max` characters."""
    return {"text": {"max": max}}


def one_of(*values):
    """One of these values, as they stand."""
    return {"one_of": list(values)}


def array(*generators):
    """A list with a value of each generator."""
    return {"array": list(generators)}


def record(**generators):
    """An object with a value of each generator under its name."""
    return {"object": generators}


def result_of(f):
    """What an earlier command `f` of the same program was answered."""
    return {"result_of": f}


def constant(value):
    """This value, also if it looks like a generator."""
    return {"value": value}


def command(f, value=None, weight=1):
    """A command that may come next. `value` is a generator, or a constant; `weight` says how often it is chosen beside others."""
    return {"f": f, "value": value, "weight": weight}


def is_symbol(value):
    """Whether this stands for an answer that is not known yet: while a program is made, no command has been executed."""
    return isinstance(value, dict) and list(value) == ["result"]


# ---- what people write ----

class Model:
    """What the application does. A state is JSON: it comes back with lists for tuples, and its objects have texts as keys.
    Every question brings its state, so nothing need be kept in `self`, and a state may be changed in place."""

    reads = []  # the commands that never change the state

    def init(self):
        """The state after a reset."""
        raise NotImplementedError("a model has init()")

    def commands(self, state):
        """The commands that may come next, a list of command(...)."""
        raise NotImplementedError("a model has commands()")

    def pre(self, state, f, value):
        """Whether the command may be called in this state. A shortened program has only commands that may."""
        return True

    def step(self, state, f, value, answer):
        """The state after the command, and what it must have been answered: a pair. The second is ANY where each answer will do.
        `answer` is what it was answered. It is a symbol while programs are made (is_symbol), and UNKNOWN where nobody saw it.
        Raises Impossible("why") where the command cannot have had this answer in this state."""
        raise NotImplementedError("a model has step()")

    def classify(self, state, f, value, answer):
        """Texts under which this step is counted."""
        return []


class Client:
    """Executes commands: each has a method of its name, which takes the value and returns the answer, or raises Fail or Info.
    Any other exception counts as Info. A method with a parameter `process` is also told the name of its process, a text."""

    def reset(self):
        """Makes the state again that the model begins with."""


# ---- JSON ----

def _where(function):
    code = getattr(function, "__code__", None)
    return " (%s:%d)" % (code.co_filename, code.co_firstlineno) if code else ""


def _check(value, what):
    """The value, if it is the same when it comes back. json.dumps makes a text of a key that is a number, in silence."""
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str):
                raise _Wrong("%s has the key %r, but an object of JSON has texts as keys" % (what, name))
            _check(value[name], what)
    elif isinstance(value, (list, tuple)):
        for one in value:
            _check(one, what)
    elif value is not None and not isinstance(value, (str, int, float)):
        hint = ": bytes are not, decode them" if isinstance(value, bytes) else ""
        raise _Wrong("%s holds %r, which is not JSON%s" % (what, value, hint))
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise _Wrong("%s holds %r, which JSON does not have" % (what, value))
    return value


def _raised(error):
    """The exception with the line where the user's code raised it, or called what did."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != _THIS_FILE and not frame.filename.startswith(("<", os.path.dirname(os.__file__) + os.sep))]
    at = (own or [frame for frame in frames if frame.filename != _THIS_FILE] or frames)[-1]
    said = traceback.format_exception_only(type(error), error)[-1].strip()
    return "%s (%s:%s)" % (said, at.filename, at.lineno)


def _json(value, what, function):
    """The value, which the user's `function` returned."""
    try:
        return _check(value, what)
    except _Wrong as error:
        raise _Wrong("%s%s" % (error, _where(function))) from None


def _member(question, name):
    if name not in question:
        raise _Wrong("the question has no %r: %s" % (name, json.dumps(question)))
    return question[name]


# ---- the questions ----

def _answer_of_model(model, question):
    asked = _member(question, "ask")
    if asked == "init":
        if isinstance(model.reads, str):
            raise _Wrong("reads of %s is a list of names, not one text" % type(model).__name__)
        return {"state": _json(model.init(), "the state", model.init), "reads": _check(list(model.reads), "reads")}
    if asked not in ("commands", "pre", "step", "classify"):
        raise _Wrong("a model is not asked %r" % (asked,))
    state = _member(question, "state")
    if asked == "commands":
        found = model.commands(state)
        if not isinstance(found, (list, tuple)) or not all(isinstance(one, dict) and "f" in one for one in found):
            raise _Wrong("commands() returned %r, and not a list of command(...)%s" % (found, _where(model.commands)))
        return {"commands": _json(list(found), "a command", model.commands)}
    f, value = _member(question, "f"), question.get("value")
    if asked == "pre":
        return {"holds": bool(model.pre(state, f, value))}
    answer = question.get("answer", UNKNOWN)
    if asked == "classify":
        found = model.classify(state, f, value, answer)
        return {"labels": [found] if isinstance(found, str) else [str(label) for label in found or []]}
    try:
        stepped = model.step(state, f, value, answer)
    except Impossible as error:
        return {"impossible": str(error)}
    if not isinstance(stepped, tuple) or len(stepped) != 2:
        raise _Wrong("step() returned %r for %r, and not a pair of a state and an answer%s" % (stepped, f, _where(model.step)))
    after, expected = stepped
    out = {"state": _json(after, "the state after %r" % (f,), model.step)}
    # Whoever hands on the answer that nobody saw has no opinion of it.
    if expected is not ANY and expected is not UNKNOWN:
        out["answer"] = _json(expected, "the answer of %r" % (f,), model.step)
    return out


def _arguments(method, question):
    """A method that cannot take what it is given is a mistake, and not an outcome that nobody knows."""
    given = {"process": question.get("process")} if "process" in inspect.signature(method).parameters else {}
    value = [question.get("value")]
    try:
        inspect.signature(method).bind(*value, **given)
    except TypeError:
        raise _Wrong("%s() of the client must take a value%s" % (method.__name__, _where(method))) from None
    return value, given


def _answer_of_client(client, question):
    done = _member(question, "do")
    if done == "reset":
        client.reset()
        return {"ok": None}
    method = None if not isinstance(done, str) or done.startswith("_") else getattr(client, done, None)
    if not callable(method):
        raise _Wrong("the client %s has no method %r" % (type(client).__name__, done))
    value, given = _arguments(method, question)
    try:
        answer = method(*value, **given)
    except Fail as reason:
        return {"fail": str(reason)}
    except Info as reason:
        return {"info": str(reason)}
    except Exception as error:
        traceback.print_exc()
        return {"info": _raised(error)}
    return {"ok": _json(answer, "the answer of %r" % (done,), method)}


def _answer(served, line):
    try:
        question = json.loads(line.decode("utf-8"))
    except ValueError as error:
        return {"error": "the question is not JSON: %s" % error}
    try:
        if not isinstance(question, dict):
            raise _Wrong("the question is no object: %s" % json.dumps(question))
        return (_answer_of_model if isinstance(served, Model) else _answer_of_client)(served, question)
    except _Wrong as error:
        return {"error": str(error)}
    except Exception as error:
        traceback.print_exc()
        return {"error": _raised(error)}


def _own_streams():
    """The standard input and output for this file alone. Whatever else prints, also a program that the user's code starts, prints to
    the standard error, and whatever else reads finds nothing."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    return questions, answers


def run(served):
    """Answers questions about the model, or executes commands by the client, until there are no more."""
    if not isinstance(served, (Model, Client)):
        raise TypeError("run() takes a Model or a Client, as in run(Model()), not %r" % (served,))
    questions, answers = _own_streams()
    for line in iter(questions.readline, b""):
        if not line.strip():
            continue
        answers.write(json.dumps(_answer(served, line)).encode() + b"\n")
        try:
            answers.flush()
        except BrokenPipeError:  # nobody asks any more
            os._exit(0)
