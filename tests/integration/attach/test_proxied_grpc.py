"""gRPC through filibuster-proxy, in a real session, without eBPF: one stream among others fails, and no other one."""
import re

from conftest import BUILD, PYTHON
from proxied import behind_proxy, own
from small_apps import APPS, config, printed, printing, url

CALLS = BUILD / "tests" / "http2"


def server():
    return {"name": "calls", "command": f"exec {CALLS}/calls_server ${{port:calls}}"}


def test_each_call_of_a_cpp_client_is_faulted_alone(project):
    """Three threads share one connection. In each execution exactly one call fails, with the status that was planned."""
    faults = {"grpc:UNAVAILABLE": 14, "grpc:INTERNAL:after": 13, "grpc:DEADLINE_EXCEEDED": 4}
    front = behind_proxy("front", "calls", f"{PYTHON} {APPS}/asker.py {own('front')} {CALLS}/calls_client ${{port:front-out}} threads 3 1")
    project.write("filibuster.json", config(
        [server(), front], [{"name": "client", "command": printing(f"curl -sS {url('front')}; echo")}],
        default_faults=False, bounds={"max_faults": 1, "reference_executions": 1},
        faults=[{"on": {"service": "calls"}, "inject": list(faults)}]))
    run = project.filibuster("run")
    assert run.exit_code == 0 and run.executed == 1 + 3 * len(faults), run
    seen = [re.findall(r"^(\d+): (\d+)$|^(good \d wrong \d failed \d)$", text, re.M) for text in printed(run)]
    assert sorted(map(str, seen)) == sorted(map(str, [
        [("", "", "good 3 wrong 0 failed 0")],
        *([("", "", "good 2 wrong 0 failed 1"), (str(value), str(code), "")]
          for value in (1, 2, 3) for code in faults.values())])), run
