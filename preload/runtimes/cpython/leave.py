# How a test that was forked from a snapshot leaves its interpreter: exit handlers, buffers, and no more. To
# take the interpreter apart takes several times as long as such a test. Compiled into the library and run
# once, in a namespace of its own, at the snapshot point. Given by leave.cc:
#   skip()   returns from Py_FinalizeEx, below which it is called; returns where it cannot
import _io
import atexit
import gc
import sys


def leave():
    """The first exit handler that runs of those that were registered before the snapshot point."""
    atexit.unregister(leave)
    atexit._run_exitfuncs()
    # What was made before the snapshot point is not among the objects; no file was open for writing then.
    for file in gc.get_objects():
        try:
            if isinstance(file, _io._IOBase) and not file.closed and file.writable():
                file.flush()
        except Exception:
            pass
    for file in (sys.stdout, sys.stderr):
        try:
            file.flush()
        except Exception:
            pass
    skip()


atexit.register(leave)
gc.freeze()
