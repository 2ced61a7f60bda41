#!/usr/bin/python3
"""Makes the histories of this folder, with their verdicts, which tests/unit/property/histories_test.cc reads: MODEL.jsonl, a history a line
{"name", "initial", "verdict", "format", "history"}. The same seed makes the same files.

Several clients ask an atomic object (objects.py) at random times. Most histories are broken then: an answer is that of an earlier
state, an effect is lost or happens twice, an answer is made up, an end comes earlier. Outcomes of some calls are not known; such a call has
taken effect at its time, much later, or never. Whether a history is linearisable is found by trying all orders, which shares nothing with
core/linear; long ones are not tried: what an atomic object did is linearisable, and an answer that nothing explains is not.

make.py [--check]: with --check it says whether the files are as it would make them.
"""
import argparse
import json
import pathlib
import random
import sys

from objects import OBJECTS

HERE = pathlib.Path(__file__).resolve().parent
SMALL = 34       # histories of each kind
OPERATIONS = 9   # at most, of a small one
LONG = 100       # operations of a long one
NEVER = float("inf")


class Operation:
    def __init__(self, process, call, begun):
        self.process, self.call, self.begun = process, call, begun
        self.end, self.outcome, self.answer = NEVER, "info", None


def simulate(kind, rng, operations, clients, unknown, breaks):
    """What clients see of an object. Each call takes effect at once, shortly before its end; `unknown` and `breaks` are how likely a call
    stays without an answer, and goes wrong."""
    state, states, out, time, value = kind.start(), [kind.start()], [], 0, 0
    free, idle = clients, list(range(clients))  # processes
    open_calls, late = [], []                   # `late`: without an answer, and still to take effect
    while len(out) < operations or open_calls:
        time += 1
        if late and rng.random() < 0.2:
            done = kind.apply(state, late.pop(rng.randrange(len(late))).call)
            state = done[0] if done else state
        if idle and len(out) < operations and (not open_calls or rng.random() < 0.5):
            value += 1
            operation = Operation(idle.pop(rng.randrange(len(idle))), kind.call(rng, value), time)
            out.append(operation)
            open_calls.append(operation)
            continue
        operation = open_calls.pop(rng.randrange(len(open_calls)))
        if rng.random() < unknown:
            # Its process is never seen again, and another one comes in its place.
            if rng.random() < 0.7:
                late.append(operation)
            idle.append(free)
            free += 1
            continue
        state, operation.outcome, operation.answer = answered(kind, rng, state, states, operation.call, rng.random() < breaks)
        operation.end = time
        states.append(state)
        idle.append(operation.process)
    ended = [each for each in out if each.end != NEVER and each.end - each.begun > 2]
    if ended and rng.random() < breaks:
        operation = rng.choice(ended)
        operation.end = operation.begun + 0.5  # an answer that came before others had begun
    return out


def answered(kind, rng, state, states, call, goes_wrong):
    """(state behind it, outcome, answer)"""
    done = kind.apply(state, call)
    if done is None:
        return state, "fail", None
    behind, answer = done
    how = rng.choice(["stale", "lost", "twice"]) if goes_wrong else "right"
    if how == "lost":
        behind = state
    if how == "twice":
        behind = (kind.apply(behind, call) or done)[0]
    if how == "stale":
        answer = (kind.apply(rng.choice(states), call) or done)[1]
    # What was refused may be said in two ways.
    if answer is False and call[0] in ("cas", "transfer") and rng.random() < 0.5:
        return behind, "fail", None
    return behind, "ok", answer


def effects(kind, state, operation):
    """The states in which the operation may leave the object; none: it cannot have been so."""
    done = kind.apply(state, operation.call)
    if done is None:
        return []
    if operation.outcome == "info":
        return [done[0]]
    return [done[0]] if done[1] == operation.answer or not shows(operation.call[0]) else []


def shows(f):
    """Does the answer of a call say something of the state?"""
    return f not in ("write", "put", "append", "delete", "enqueue", "add", "remove", "acquire", "release")


def is_linearisable(kind, history):
    operations = [each for each in history if each.outcome != "fail"]

    def place(left, state):
        first_end = min((operations[i].end for i in left), default=NEVER)
        if first_end == NEVER:
            return True
        return any(place(left - {i}, behind) for i in left if operations[i].begun < first_end
                   for behind in effects(kind, state, operations[i]))

    return place(frozenset(range(len(operations))), kind.start())


def events_of(history):
    events = [(each.begun, each, "invoke") for each in history]
    events += [(each.end, each, each.outcome) for each in history if each.end != NEVER]
    last = max((time for time, _, _ in events), default=0)
    # That an outcome is not known is said at the end, or not at all.
    events += [(last + 1, each, "info") for each in history if each.end == NEVER and each.begun % 2]
    out = []
    for _, operation, kind in sorted(events, key=lambda event: event[0]):
        event = {"process": operation.process, "type": kind, "f": operation.call[0]}
        if len(operation.call) > 2:
            event["key"] = operation.call[2]
        value = operation.call[1] if kind == "invoke" or operation.answer is None else operation.answer
        if kind == "ok" and shows(operation.call[0]):
            value = operation.answer
        if value is not None or kind == "ok":
            event["value"] = value
        out.append(event)
    return out


def edn(value):
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} {edn(each)}" for key, each in value.items()) + "}"
    return "[" + " ".join(map(edn, value)) + "]" if isinstance(value, list) else str(value)


def text_of(events, form):
    if form == "json":
        return events
    if form == "log":
        return [f"INFO  jepsen.util - {each['process']}\t:{each['type']}\t:{each['f']}\t{edn(each.get('value'))}" for each in events]
    return ["{" + ", ".join(f":{name} " + (f":{value}" if name in ("type", "f") else edn(value)) for name, value in each.items()) + "}"
            for each in events]


def made_up(kind, history):
    """The same with an answer that nothing explains. False: no call of it shows what nobody wrote."""
    strange = {"register": 99999, "cas-register": 99999, "kv": "never written", "queue": 99999, "set": [99999], "list": [99999],
               "bank": {"a": 99999, "b": 0}, "counter": 99999}.get(kind.name)
    for operation in history[len(history) // 4:]:
        if operation.outcome != "ok" or operation.call[0] not in ("read", "get", "dequeue", "txn"):
            continue
        if kind.name == "multi-register":
            if all(part[0] == "write" for part in operation.call[1]):
                continue
            strange = [part if part[0] == "write" else [*part[:2], 99999] for part in operation.call[1]]
        operation.answer = strange
        return True
    return False


def row(kind, name, verdict, history, form="json"):
    return json.dumps({"name": name, "initial": kind.initial, "verdict": "linearisable" if verdict else "not", "format": form,
                       "history": text_of(events_of(history), form)}, separators=(",", ":"))


def histories_of(kind):
    rng = random.Random(f"histories of {kind.name}")
    rows, count = [], {True: 0, False: 0}
    while sum(count.values()) < SMALL:
        history = simulate(kind, rng, rng.randint(4, OPERATIONS), rng.randint(2, 4), rng.choice([0, 0.2, 0.4]), rng.choice([0, 0.2, 0.5]))
        verdict = is_linearisable(kind, history)
        if count[verdict] >= SMALL // 2:
            continue
        count[verdict] += 1
        number = sum(count.values())
        form = {1: "edn", 2: "log"}.get(number % 6, "json")
        rows.append(row(kind, f"small {number}", verdict, history, "edn" if form == "log" and kind.keys else form))
    rows.append(row(kind, "long", True, simulate(kind, rng, LONG, 5, 0.02, 0)))
    broken = simulate(kind, rng, LONG, 5, 0, 0)
    if made_up(kind, broken):
        rows.append(row(kind, "long, with an answer that nothing explains", False, broken))
    return "\n".join(rows) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="compare with the files, and write nothing")
    only_check = options.parse_args().check
    differ = []
    for kind in OBJECTS:
        path, text = HERE / f"{kind.name}.jsonl", histories_of(kind)
        if only_check and (not path.exists() or path.read_text() != text):
            differ.append(path.name)
        if not only_check:
            path.write_text(text)
    if differ:
        sys.exit(f"other than make.py makes them: {', '.join(differ)}")


if __name__ == "__main__":
    main()
