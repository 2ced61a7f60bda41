"""Many threads with kept connections, where the library is under the thread sanitizer (tests/threads.mk): it has no data race, in the
clear and over TLS, without a fault and with one."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
from conftest import BUILD, project, pytest_configure, tls  # noqa: E402, F401
from small_apps import config  # noqa: E402

STRESS = BUILD / "threads" / "tls_stress"
LIBRARY = BUILD / "threads" / "lib" / "libfilibuster.so"
SUPPRESSIONS = pathlib.Path(__file__).parent / "suppressions"


def sanitized(project, certificate, threads, requests, faults=(), library=LIBRARY):
    """Runs the threads in a session; gives what the sanitizer has written."""
    authority, chain, key = certificate
    server = {"name": "web", "command": f"exec {STRESS} serve ${{port:web}} {chain} {key}"}
    # The sanitizer would change the exit status; its reports are looked at instead.
    ask = f"{STRESS} ask ${{port:web}} {authority} {threads} {requests} 1" + ("; exit 0" if faults else "")
    project.write("filibuster.json", config(
        [server], [{"name": "ask", "command": ask}], fault_test_calls=True, default_faults=False,
        bounds={"max_faults": 1, "reference_executions": 1}, faults=[{"inject": list(faults)}] if faults else []))
    options = f"log_path={project.directory}/race halt_on_error=0 exitcode=0 report_thread_leaks=0 suppressions={SUPPRESSIONS}"
    run = project.filibuster("run", "--no-snapshot", env={"FILIBUSTER_PRELOAD": str(library), "TSAN_OPTIONS": options}, timeout=600)
    assert run.executed > len(faults), run
    return run, "\n".join(file.read_text() for file in sorted(project.directory.glob("race.*")))


def certificate_of(way, tls):
    return ("-", "-", "-") if way == "clear" else (tls / "ca.pem", tls / "cert.pem", tls / "key.pem")


@pytest.mark.parametrize("way", ["clear", "tls"])
def test_no_data_race(project, tls, way):  # noqa: F811
    run, races = sanitized(project, certificate_of(way, tls), 48, int(os.environ.get("TORTURE", "1")) * 12)
    assert not races, races[:8000]
    assert len(run.test["reference"]) == 48 * int(os.environ.get("TORTURE", "1")) * 12


@pytest.mark.parametrize("fault", ["status:503", "reset", "status:503:after", "reset:after"])
@pytest.mark.parametrize("way", ["clear", "tls"])
def test_no_data_race_with_a_fault(project, tls, way, fault):  # noqa: F811
    _, races = sanitized(project, certificate_of(way, tls), 6, 2, [fault])
    assert not races, races[:8000]
