"""What each test took: those above the bound of CONTRIBUTING.md are listed at the end of a run, and all of them are written to the
file that TEST_TIMES names, as `.ci/run` reads it: a line `start ID` when a test begins, and `SECONDS ID` when it has ended."""
import os

BOUND = 5.0  # seconds


class Durations:
    def __init__(self):
        self.seconds = {}
        self.file = os.environ.get("TEST_TIMES")

    def write(self, line):
        if self.file:
            with open(self.file, "a") as file:
                file.write(line + "\n")

    def pytest_runtest_logstart(self, nodeid):
        self.write(f"start {nodeid}")

    def pytest_runtest_logreport(self, report):
        """Of each of the three phases of a test: what it prepares, itself, what it leaves."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.when == "teardown":
            self.write(f"{self.seconds[report.nodeid]:.2f} {report.nodeid}")

    def pytest_terminal_summary(self, terminalreporter):
        slow = sorted(((seconds, test) for test, seconds in self.seconds.items() if seconds > BOUND), reverse=True)
        if slow:
            terminalreporter.section(f"{len(slow)} tests took longer than {BOUND:.0f} s, {sum(seconds for seconds, _ in slow):.0f} s together")
        for seconds, test in slow:
            terminalreporter.write_line(f"{seconds:7.1f} s  {test}")
