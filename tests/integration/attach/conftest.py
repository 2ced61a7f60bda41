"""Services that run before a session comes to them."""
import pytest

from running import Running


@pytest.fixture
def run_already(tmp_path):
    """Starts the services of a configuration, without the library; ends them."""
    started = []

    def start(configuration, *names):
        started.append(Running(tmp_path, configuration))
        return started[-1].start(*names)
    yield start
    for running in started:
        running.end()
