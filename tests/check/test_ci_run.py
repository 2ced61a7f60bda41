"""`.ci/run` with steps of its own: what it says at its end, and that it ends what runs for too long."""
import os
import pathlib
import subprocess
import time

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "run"


def run(steps, tmp_path, before="", **environment):
    """`.ci/run` with these commands as its steps, which are called a, b, and so on; started in this folder. `before`: commands that
    change what it does."""
    lines = [f"step {name} bash -c '{command}'" for name, command in zip("abc", steps)]
    program = f"source '{SCRIPT}'\n{before}steps() {{\n" + "\n".join(lines) + "\n}\nmain"
    ended = subprocess.run(["bash", "-c", program], cwd=tmp_path, env={**os.environ, "HERE": str(tmp_path), **environment}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return ended.returncode, ended.stdout


def gone(pid):
    """Whether this process has ended; the one that takes it over may not have looked at it yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_it_says_what_each_step_took_and_which_tests_were_the_slowest(tmp_path):
    tests = "; ".join(f"echo start t{n}; echo {n}.5 t{n}" for n in range(30))
    status, output = run(["echo said by a", f"({tests}) >> $TEST_TIMES"], tmp_path)
    assert status == 0, output
    assert "said by a" in output and output.index("== a: ") < output.index("== b: "), output
    end = output[output.index("== the 20 slowest tests"):]
    assert [line.split() for line in end.splitlines()[1:21]] == [[f"{n}.5", "s", f"t{n}"] for n in range(29, 9, -1)], end
    assert [line.split()[1:] for line in end.splitlines()[22:24]] == [["s", "a"], ["s", "b"]], end
    assert "TOO LONG" not in end and "not ended" not in end and end.endswith("== passed in 0 minutes\n"), end


def test_what_programs_of_googletest_took_counts(tmp_path):
    document = '<testcase name="Rest" file="a.cc" line="3" status="run" result="completed" time="7.25" timestamp="x" classname="Cart" />'
    (tmp_path / "unit_cart.xml").write_text(document)
    _, output = run(["cp $HERE/unit_cart.xml $TEST_TIMES.d/sanitizers/"], tmp_path)
    assert "     7.2 s  sanitizers/unit_cart: Cart.Rest\n" in output, output


def test_a_step_that_fails_is_the_last(tmp_path):
    status, output = run(["echo 3.0 t >> $TEST_TIMES; exit 7", "touch $HERE/b"], tmp_path)
    assert status == 7 and not (tmp_path / "b").exists(), output
    assert "a (failed)" in output and "     3.0 s  t\n" in output and output.endswith("== failed in step 'a' with status 7\n"), output


def test_a_run_that_became_too_long_says_so_at_its_end(tmp_path):
    status, output = run(["true"], tmp_path, LONG_MINUTES="0")
    assert status == 0 and "== TOO LONG: 0 minutes, and 0 is the limit." in output.splitlines()[-2], output


@pytest.mark.parametrize("trap", ["", "trap : TERM; "], ids=["ends when asked", "has to be killed"])
def test_a_run_that_takes_far_too_long_is_stopped_with_all_that_its_step_started(tmp_path, trap):
    began = "echo start quick; echo 0.1 quick; echo start endless one"
    # The step says itself when its time is over: by the signal that timeout(1) has from its clock.
    step = f"({began}) >> $TEST_TIMES; {trap}sleep 600 & echo $! > $HERE/pid; kill -ALRM $PPID; while :; do wait; done"
    clock = "limited() { shift; exec timeout --kill-after=1 1000 \"$@\"; }; "
    status, output = run([step, "touch $HERE/b"], tmp_path, clock, STOP_MINUTES="0", GRACE_SECONDS="1")
    assert status == 1 and not (tmp_path / "b").exists(), output
    assert "a (stopped)" in output and output.endswith("== stopped in step 'a' after 0 minutes\n"), output
    assert "== tests that had begun and not ended\n  endless one\n" in output, output
    end = time.monotonic() + 30
    while not gone((tmp_path / "pid").read_text().strip()):
        assert time.monotonic() < end, "what the step started runs on"
        time.sleep(0.01)


def test_who_ends_it_ends_its_step(tmp_path):
    program = f"source '{SCRIPT}'; steps() {{ step a bash -c 'echo $$ > {tmp_path}/pid; exec sleep 600'; }}; main"
    process = subprocess.Popen(["bash", "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < end, "the step does not begin"
        time.sleep(0.01)
    process.terminate()
    assert process.wait(timeout=30) == 143
    assert gone((tmp_path / "pid").read_text().strip())
