"""Measures the statement coverage of a Python service (`filibuster run --coverage`) with coverage.py.

This folder is the first one of PYTHONPATH in the services of such a run, and of nothing else. The sitecustomize
that it hides is run as if it were not there. What was reached is written when the process ends: normally, by
SIGTERM, or by os._exit (children of fork).
"""
import os
import sys

# Installed packages, the standard library, Debian's own sitecustomize, and this file.
_FILIBUSTER_OMITTED = ["*/site-packages/*", "*/dist-packages/*", "/usr/lib/*", "/etc/*",
                       os.path.join(os.path.dirname(os.path.abspath(__file__)), "*")]


def _filibuster_coverage():
    directory = os.environ.get("FILIBUSTER_COVERAGE_PYTHON")
    if not directory:
        return

    def load():
        try:
            import coverage
            return coverage
        except ImportError:
            # Debian's package serves virtual environments and other interpreters, too: it runs without its C part.
            from importlib.machinery import PathFinder
            from importlib.util import module_from_spec
            spec = PathFinder.find_spec("coverage", ["/usr/lib/python3/dist-packages"])
            if spec is None:
                raise
            module = module_from_spec(spec)
            sys.modules["coverage"] = module
            spec.loader.exec_module(module)
            return module

    def note(name, text):
        with open(os.path.join(directory, name), "w", encoding="utf-8", errors="replace") as file:
            file.write(text)

    try:
        coverage = load()
        measure = coverage.Coverage(data_file=os.path.join(directory, "data"), data_suffix=True, config_file=False,
                                    omit=_FILIBUSTER_OMITTED)
        note("interpreter", sys.executable or "")
    except Exception as error:  # a service must start whatever happens to us
        try:
            note(f"problem.{os.getpid()}", f"coverage.py cannot be used by {sys.executable}: {error}")
        except OSError:
            pass
        return

    import atexit
    import signal
    saved = set()  # pids: a forked child saves for itself

    def save():
        if os.getpid() in saved:
            return
        saved.add(os.getpid())
        try:
            measure.stop()
            measure.save()
        except Exception as error:
            try:
                note(f"problem.{os.getpid()}", f"what was reached could not be written: {error}")
            except OSError:
                pass

    def terminated(number, frame):
        if os.getpid() in saved:
            return  # another SIGTERM while it is written, or while the program ends
        save()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    leave = os._exit

    def _exit(status):
        save()
        leave(status)

    atexit.register(save)
    os._exit = _exit
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminated)  # the program's own handler takes its place
    measure._warn_no_data = False
    measure.start()


def _filibuster_run_shadowed():
    """The sitecustomize that would have run without us."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_filibuster_coverage()
_filibuster_run_shadowed()
