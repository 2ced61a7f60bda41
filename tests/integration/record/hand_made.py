"""Cases that a person has written, for tests of what is replayed."""
import json
import pathlib
import subprocess

from conftest import FILIBUSTER, PYTHON

ORDERS = pathlib.Path(__file__).parent / "programs/orders.py"
SEAL = "0" * 32


def http_call(target, cents=None, status=200, **members):
    answer = {"status": status, **({} if cents is None else {"headers": [["Content-Type", "application/json"]], "json": {"cents": cents}})}
    return {"kind": "http", "to": "pricing", "method": "GET", "target": target, "answer": answer, **members}


def redis_call(*words, reply=None, **members):
    # In the order of the file's members.
    after = {key: members.pop(key) for key in ("after",) if key in members}
    return {"kind": "redis", "to": "cache", **after, "call": list(words), "reply": reply, **members}


def in_order(call):
    """The members of a call as a file has them."""
    order = ("kind", "to", "site", "cause", "after", "attempt_of", "call", "reply", "method", "target", "headers", "json", "answer")
    return {key: call[key] for key in order if key in call}


def case(target, calls, answer, second=0, base=None, server="orders"):
    headers = [["Server", server]] if server else []
    return {"format": 1, "service": "orders", "route": "GET /" + target.split("/")[1] + "/_", "base": base or f"2026-11-30T09:14:{second:02}.000000Z", "seen": 1,
            "request": {"method": "GET", "target": target}, "calls": [in_order(each) for each in calls],
            "answer": {"status": 200, "headers": [*headers, ["Content-Type", "application/json"]], "json": answer, "style": "python"}, "seal": SEAL}


def write_cases(folder, *cases):
    folder.mkdir()
    document = {"format": 1, "service": "orders", "builds": [], "redacted": [], "match_headers": ["content-type", "accept"], "masks": [],
                "points": [], "hosts": {}, "not_followed": [], "counts": {}}
    (folder / "set.json").write_text(json.dumps(document))
    paths = []
    for number, each in enumerate(cases):
        route = folder / f"{each['request']['target'].split('/')[1]}"
        route.mkdir(exist_ok=True)
        paths.append(route / f"{'abcdef'[number] * 12}.json")
        paths[-1].write_text(json.dumps(each))
        accepted = subprocess.run([FILIBUSTER, "cases", "accept", str(paths[-1])], capture_output=True, text=True, timeout=60)
        assert accepted.returncode == 0, accepted
    return paths


def configuration(**environment):
    # The dependencies have commands that must not run.
    never = "echo it runs > it-runs; exec sleep 1000"
    return {"version": 1, "tests": [{"name": "none", "command": "false"}], "services": [
        {"name": "cache", "protocol": "redis", "command": never, "ports": ["cache"]}, {"name": "pricing", "command": never, "ports": ["pricing"]},
        {"name": "orders", "command": f"exec {PYTHON} {ORDERS} ${{port:orders}}",
         "env": {"PRICING_PORT": "${port:pricing}", "CACHE_PORT": "${port:cache}", **environment}}]}
