"""The unit tests of all applications in one run of pytest (--import-mode=importlib). Applications have modules of the same names, so
the tests of a folder find those of their own folder, and stand in it, as if nothing else ran."""
import contextlib
import os
import pathlib
import sys

import pytest

kept = {}  # {folder: {name: module} of what was imported from it}


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.modules.update(kept.get(folder, {}))
    try:
        yield
    finally:
        kept[folder] = {name: module for name, module in sys.modules.items()
                        if (file := getattr(module, "__file__", None)) and pathlib.Path(file).is_relative_to(folder)}
        for name in kept[folder]:
            del sys.modules[name]
        sys.path.remove(str(folder))
        os.chdir(before)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    if isinstance(collector, pytest.Module):
        with inside(collector.path.parent):
            yield
    else:
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    with inside(item.path.parent):
        yield
