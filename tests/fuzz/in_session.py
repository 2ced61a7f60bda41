"""in_session.py FILIBUSTER LIBRARY PROGRAM WORDS...: runs a fuzz target as the test of a session, below LIBRARY.

The target listens and connects at SESSIONS_PORT, that of a service which nobody starts, so that each of its connections is one of the
session. LIBRARY is built for the fuzzer: only the target itself can load it."""
import json
import os
import pathlib
import shlex
import socket
import subprocess
import sys
import tempfile


def main():
    filibuster, library, *command = sys.argv[1:]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = " ".join(map(shlex.quote, command))
    here = shlex.quote(os.getcwd())
    test = f"cd {here} && SESSIONS_PORT={port} LD_PRELOAD={shlex.quote(str(pathlib.Path(library).resolve()))} exec {words} 1>&2"
    with tempfile.TemporaryDirectory() as directory:
        project = pathlib.Path(directory)
        (project / "filibuster.json").write_text(json.dumps({
            "version": 1, "default_faults": False, "bounds": {"reference_executions": 1, "test_timeout": "1h"},
            "services": [{"name": "peer", "ports": {"peer": port}, "third_party": True, "ready": "none"}],
            "tests": [{"name": "fuzz", "command": f"{{ {test}; }} 2> output"}]}))
        run = subprocess.run([str(pathlib.Path(filibuster).resolve()), "run", "--no-snapshot", "--root", str(project / ".filibuster")], cwd=project, text=True,
                             capture_output=True, check=False)
        output = (project / "output").read_text(errors="replace") if (project / "output").exists() else ""
        sys.stderr.write(output)
        # Nothing gets a fault, so 'nothing was tested' (3) is success, but for a reference execution that fails.
        failed = run.returncode not in (0, 3) or "fails without any fault" in run.stderr
        if failed:
            sys.stderr.write(run.stdout + run.stderr)
    return 1 if failed else 0


sys.exit(main())
