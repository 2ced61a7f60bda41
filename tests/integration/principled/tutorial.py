"""The tutorial of docs/principled.md as data: its steps change a configuration, and say what the tool then says.

A step is a comment `<!-- step: WHAT -->` and the block of JSON behind it. WHAT is one of

    start                                   the block is the whole configuration
    add to PLACE                            its members are added: lists get longer, objects are merged
    put in place of PLACE                   it stands in the place's stead
    replace the last one of PLACE           PLACE is a list

and PLACE `principled` (of the only test), `services.NAME`, `faults`, a member of one of these, or `principled.failure of CODE`. The
line `> says ...` or `> all that is stated holds, ...` ends the steps that belong together.
"""
import json
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "principled.md"
PIECE = re.compile(r"^<!-- step: (?P<what>.*?) -->\n```json\n(?P<json>.*?)^```$|"
                   r"^> (?:says `(?P<kind>[a-z-]+)`|all that is stated holds), (?P<count>\d+) executions?$", re.M | re.S)
HOLDS = "all that is stated holds"


def merge(old, new):
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: merge(old[name], value) if name in old else value for name, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return old + new
    return new


def at(config, place):
    """The object or list that holds what `place` names, and the name or number in it."""
    place, _, code = place.partition(" of ")
    holder, *names = place.split(".")
    if holder == "principled":
        holder, name = config["tests"][0], "principled"
    elif holder == "services":
        holder, name = config["services"], [service["name"] for service in config["services"]].index(names.pop(0))
    else:
        holder, name = config, holder
    for each in names:
        holder, name = holder[name], each
    if code:
        holder = holder[name]
        (name,) = [number for number, row in enumerate(holder) if row.get("on_exception") == code]
    return holder, name


def change(config, what, value):
    if what == "start":
        return value
    config = json.loads(json.dumps(config))
    for words in ("add to ", "put in place of ", "replace the last one of "):
        if not what.startswith(words):
            continue
        holder, name = at(config, what.removeprefix(words))
        if words == "add to ":
            holder[name] = merge(holder[name], value)
        elif words == "put in place of ":
            holder[name] = value
        else:
            holder[name][-1] = value
        return config
    raise AssertionError(f"{PAGE.name}: no step is '{what}'")


def steps():
    """Pairs of a configuration, and what the page says of it: (name of the diagnostic or HOLDS, executions)."""
    out, config = [], None
    for piece in PIECE.finditer(PAGE.read_text()):
        if piece["what"]:
            config = change(config, piece["what"], json.loads(piece["json"]))
        else:
            out.append((config, (piece["kind"] or HOLDS, int(piece["count"]))))
    return out


def said(document):
    """The same of a principled.json with one test."""
    (test,) = document["tests"]
    judged = [execution for execution in test["executions"] if not execution["ahead"]]
    kinds = [execution["diagnostic"]["kind"] for execution in judged if execution["diagnostic"]]
    kinds += [diagnostic["kind"] for diagnostic in test["diagnostics"]]
    kinds += [diagnostic["kind"] for diagnostic in document["diagnostics"]]
    assert len(kinds) <= 1, kinds
    return (kinds[0] if kinds else HOLDS if test["passed"] and test["finished"] else "nothing", len(judged))
