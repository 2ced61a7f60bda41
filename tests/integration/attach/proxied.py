"""Services behind filibuster-proxy in a session, without eBPF (apps/attached.py)."""
from conftest import BUILD, PYTHON
from small_apps import APPS

PROXY = BUILD / "lib" / "filibuster" / "filibuster-proxy"


def behind_proxy(name, target, command, **members):
    """The service `name`: `command` listens on ${port:NAME-own}, and calls `target` (a service) at ${port:NAME-out}."""
    return {"name": name, "ports": [name, f"{name}-out", f"{name}-own"],
            "command": f"exec {PYTHON} {APPS}/attached.py {PROXY} 127.0.0.1:${{port:{target}}} ${{port:{name}-out}} "
                       f"${{port:{name}}} ${{port:{name}-own}} -- {command}", **members}


def out(name, path="/"):
    """Where the program of that service calls its target."""
    return f"http://127.0.0.1:${{port:{name}-out}}{path}"


def own(name):
    return f"${{port:{name}-own}}"
