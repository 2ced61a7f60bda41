"""Secrets are planted wherever an application may hold one, and looked for in all that filibuster writes."""
import base64
import json
import os
import stat

import pytest

from conftest import PYTHON
from small_apps import APPS, PROBE, config, url


def jwt(name):
    """A token of the usual form whose payload and signature are this one's alone."""
    part = lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return f"{part(json.dumps({'alg': 'HS256', 'typ': 'JWT'}))}.{part(json.dumps({'sub': name}))}.{part(name + 'signature')}"


NAMED = ("query key", "query api_key", "query sig", "query code", "query auth", "query session", "header bearer",
         "request password", "body password", "body nested", "env password", "env key", "test env token", "command option",
         "printed header", "printed json", "printed argument")
SECRETS = {
    **{name: "planted-" + name.replace(" ", "-") for name in NAMED},
    **{name: jwt(name) for name in ("path jwt", "request jwt", "body jwt", "env jwt", "printed jwt")},
    "body bearer": "planted0123456789bearer", "body card": "4111111111111111", "body spaced card": "5500 0000 0000 0004",
    "printed card": "3782-822463-10005", "env url": "planted-url-password",
}


@pytest.fixture
def secretive(project):
    """The application of apps/secretive.py, whose test prints secrets, too, and accepts no failure."""
    project.write("secrets", SECRETS)
    service = lambda name, *more: {
        "name": name, "command": " ".join(["exec", PYTHON, f"{APPS}/secretive.py", name, f"${{port:{name}}}", "secrets", *more])}
    back, front = service("back"), service("front", f"'{url('back')}'")
    front["command"] = f"DUMMY_TOKEN={SECRETS['command option']} " + front["command"].removeprefix("exec ")
    front["env"] = {"DB_PASSWORD": SECRETS["env password"], "STRIPE_KEY": SECRETS["env key"], "LOGIN": SECRETS["env jwt"],
                    "DATABASE": f"postgres://app:{SECRETS['env url']}@127.0.0.1:1/x", "GREETING": "hello"}
    prints = [f"Authorization: Basic {SECRETS['printed header']}", json.dumps({"password": SECRETS["printed json"]}),
              f"/x?session={SECRETS['printed argument']}&y=1", SECRETS["printed jwt"], f"paid with {SECRETS['printed card']}."]
    project.write("printed", "\n".join(prints) + "\n")
    project.write("expected", SECRETS["test env token"])
    project.write("filibuster.json", config(
        [back, front],
        [{"name": "account", "env": {"SHOP_TOKEN": SECRETS["test env token"]},
          # Without the token it accepts a failure.
          "command": f"cat printed; good=200; [ \"$SHOP_TOKEN\" = \"$(cat expected)\" ] || good=200,500;"
                     f" exec {PROBE} $good '{url('front')}'"}],
        faults=[{"inject": "503"}]))
    return project


def found_in(text):
    return sorted(name for name, secret in SECRETS.items() if secret in text)


def test_no_secret_is_written_or_shown(secretive):
    run = secretive.filibuster("run", "--coverage")
    assert run.exit_code == 1 and len(run.counterexamples) == 1, run
    runs = [run, secretive.filibuster("run", "--json"), secretive.filibuster("trace", "--json"),
            secretive.filibuster("replay", run.counterexamples[0]),
            secretive.filibuster("lint"), secretive.filibuster("lint", "--format", "sarif"),
            secretive.filibuster("lint", "--format", "json")]
    runs += [secretive.filibuster("trace", "--representation", kind) for kind in ("compact", "debugging", "verbose")]
    shown = {f"run {i}": found_in(run.output + run.errors) for i, run in enumerate(runs)}
    assert not any(shown.values()), shown
    files = [path for path in secretive.root.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"report.json", "lint.json", "coverage.json", "1.json", "search.db"} <= names, names
    # What the programs write themselves stays as they wrote it.
    written = {str(path): found_in(path.read_text(errors="replace")) for path in files if path.parent.name != "logs"}
    assert not any(written.values()), {path: found for path, found in written.items() if found}
    # What is no secret stands there.
    assert "item=7" in (secretive.root / "report.json").read_text() and "item=7" in runs[-3].output
    example = json.loads(run.counterexamples[0].read_text())
    assert json.loads(example["config_text"])["services"][1]["env"]["GREETING"] == "hello", example


def test_all_files_are_their_users_alone(secretive):
    logs = secretive.root / "logs"
    logs.mkdir(parents=True)
    for path, mode in ((secretive.root, 0o755), (logs, 0o755)):
        path.chmod(mode)
    (logs / "old.log").touch(mode=0o644)
    secretive.filibuster("run")
    secretive.filibuster("lint")
    wrong = {str(path): oct(mode) for path in [secretive.root, *secretive.root.rglob("*")] if not path.is_symlink()
             for mode in [stat.S_IMODE(path.stat().st_mode)] if mode != (0o700 if path.is_dir() else 0o600)}
    assert not wrong


def test_services_keep_the_umask_of_who_runs_them(project):
    project.write("filibuster.json", config(
        [], [{"name": "mask", "command": "umask > mask; exit 1"}]))
    os.umask(before := os.umask(0o022))
    project.filibuster("run")
    assert int((project.directory / "mask").read_text(), 8) == before


def test_a_replay_takes_what_was_left_out_from_the_configuration(secretive):
    run = secretive.filibuster("run")
    (counterexample,) = run.counterexamples
    again = secretive.filibuster("replay", counterexample)
    assert again.exit_code == 1 and "reproduced" in again.output, again
    # It is the configuration's of now: a password that was changed is the new one.
    changed = (secretive.directory / "filibuster.json").read_text().replace(SECRETS["test env token"], "changed")
    secretive.write("filibuster.json", changed)
    stale = secretive.filibuster("replay", counterexample)
    assert stale.exit_code == 0 and "not reproduced" in stale.output, stale
    secretive.write("expected", "changed")
    assert secretive.filibuster("replay", counterexample).exit_code == 1


def test_a_replay_says_which_secret_it_lacks(secretive):
    run = secretive.filibuster("run")
    (counterexample,) = run.counterexamples
    configuration = json.loads((secretive.directory / "filibuster.json").read_text())
    del configuration["services"][1]["env"]["DB_PASSWORD"]
    secretive.write("filibuster.json", configuration)
    lacking = secretive.filibuster("replay", counterexample)
    assert lacking.exit_code == 2, lacking
    assert "'DB_PASSWORD' of service 'front'" in lacking.errors and "filibuster.json" in lacking.errors, lacking
    # A variable may stand in the environment of who replays it.
    given = secretive.filibuster("replay", counterexample, env={"DB_PASSWORD": "given"})
    assert given.exit_code == 1, given
    (secretive.directory / "filibuster.json").unlink()
    without = secretive.filibuster("replay", counterexample)
    assert without.exit_code == 2 and "'SHOP_TOKEN' of test 'account'" in without.errors, without
