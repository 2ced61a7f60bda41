"""What comes before the first run: `init`, `config check`, completion."""
import ctypes
import errno
import json
import os
import struct
import subprocess

from conftest import FILIBUSTER
from small_apps import PROBE, config, relay, url


def command(*arguments, directory, program=FILIBUSTER, **environment):
    return subprocess.run([str(program), *map(str, arguments)], cwd=directory, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def test_a_compose_application_is_explored_as_it_is(tmp_path):
    """Both services listen at 8080 in their containers, and find each other by name."""
    by_name = {row["name"]: row["command"] for row in (relay("back"), relay("front", "back"))}
    lines = ["services:"]
    for name in ("back", "front"):
        words = by_name[name].replace("${port:%s}" % name, "8080").replace("http://127.0.0.1:${port:back}", "http://back:8080")
        lines += [f"  {name}:", "    build: .", f"    command: {json.dumps(words)}", '    ports: ["8080"]']
    (tmp_path / "compose.yaml").write_text("\n".join(lines) + "\n")
    made = command("init", directory=tmp_path)
    assert made.returncode == 0 and "2 services" in made.stderr, made
    checked = command("config", "check", directory=tmp_path)
    assert checked.returncode == 0 and "front: started here, front=any" in checked.stdout, checked
    run = command("run", "--quiet", directory=tmp_path)
    # The test that `init` proposes asks the last service, and passes only while `back` answers.
    assert run.returncode == 1 and "front -> back" in run.stdout, run
    again = command("init", directory=tmp_path)
    assert again.returncode == 2 and "--force" in again.stderr, again


def test_a_repository_with_dockerfiles_and_a_dot_env_is_explored_as_it_is(tmp_path):
    """Its context is the repository, its values come from `.env`, which uses its own, and the base image brings the interpreter."""
    by_name = {row["name"]: row["command"].removeprefix("exec ") for row in (relay("back"), relay("front", "back"))}
    (tmp_path / ".env").write_text("SRC=./src\nBACK_PORT=8080 # inside\nBACK_ADDR=back:${BACK_PORT}\nBACK_URL=\"http://$BACK_ADDR\"\n")
    lines = ["services:"]
    for name in ("back", "front"):
        words = by_name[name].replace("${port:%s}" % name, "8080").replace("http://127.0.0.1:${port:back}", "${BACK_URL}")
        folder = tmp_path / "src" / name
        folder.mkdir(parents=True)
        (folder / "here").write_text(name)
        # Its folder is that of its Dockerfile, or `grep` fails.
        script = "grep -q " + name + " here && exec " + words
        (folder / "Dockerfile").write_text("FROM gcr.io/distroless/static\nCOPY . /\nENTRYPOINT [\"/bin/sh\"]\n")
        lines += [f"  {name}:", "    build: {context: ., dockerfile: \"${SRC}/" + name + "/Dockerfile\"}",
                  f"    command: {json.dumps(['-c', script])}", '    ports: ["${BACK_PORT}"]']
    (tmp_path / "compose.yaml").write_text("\n".join(lines) + "\n")
    made = command("init", "-c", "shop.json", directory=tmp_path)
    assert made.returncode == 0 and "wrote shop.json" in made.stderr, made
    checked = command("config", "check", "shop.json", directory=tmp_path)
    assert checked.returncode == 0, checked
    run = command("run", "--quiet", "-c", "shop.json", directory=tmp_path)
    assert run.returncode == 1 and "front -> back" in run.stdout, run


def test_nothing_to_begin_with_is_a_mistake_of_usage(tmp_path):
    made = command("init", directory=tmp_path)
    assert made.returncode == 2 and "compose.yaml" in made.stderr and "--listening" in made.stderr, made
    (tmp_path / "compose.yaml").write_text("services: [")
    made = command("init", directory=tmp_path)
    assert made.returncode == 2 and "compose.yaml:1:" in made.stderr, made


def test_a_configuration_with_mistakes_is_not_valid(tmp_path):
    (tmp_path / "filibuster.json").write_text('{ // comment\n "version": 1,\n "tets": []}')
    checked = command("config", "check", directory=tmp_path)
    assert checked.returncode == 2 and "filibuster.json:3:2:" in checked.stderr and "'tests'" in checked.stderr, checked
    assert not (tmp_path / ".filibuster").exists()


def test_faults_of_the_command_line_say_what_they_replace(project):
    project.write("filibuster.json", config([relay("back"), relay("front", "back")],
                                            [{"name": "home", "command": f"{PROBE} 200,503 {url('front')}"}],
                                            faults=[{"on": {"service": "back"}, "inject": ["503"]}]))
    run = project.filibuster("run", "--fault", "503")
    assert "warning: --fault takes the place of the rule in 'faults' of filibuster.json" in run.errors, run


def refuse_pidfd_open():
    """A filter of system calls of this process and of what it starts, as a container's runtime installs it (seccomp(2))."""
    pidfd_open, load, jump_if_equal, give = 434, 0x20, 0x15, 0x06
    rows = [(load, 0, 0, 0), (jump_if_equal, 0, 1, pidfd_open), (give, 0, 0, 0x00050000 | errno.EPERM), (give, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    assert libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0 and libc.prctl(set_seccomp, filter_mode, program) == 0, ctypes.get_errno()


def test_a_sandbox_that_refuses_pidfd_open_is_named(project):
    project.write("filibuster.json", config([relay("back")], [{"name": "home", "command": f"{PROBE} 200 {url('back')}"}]))
    run = subprocess.run([str(FILIBUSTER), "run"], cwd=project.directory, capture_output=True, text=True, timeout=120, preexec_fn=refuse_pidfd_open)
    assert run.returncode == 3 and "pidfd_open is refused here: Operation not permitted" in run.stderr, run
    assert "seccomp=unconfined" in run.stderr, run


def test_bash_completes_verbs_options_and_files(tmp_path):
    (tmp_path / "shop.json").write_text("{}")
    script = """
        source <("$FILIBUSTER" completion bash)
        complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _filibuster; echo "${COMPREPLY[*]}"; }
        complete_words filibuster rep
        complete_words filibuster run --max-e
        complete_words filibuster run -c sh
        complete_words filibuster config c"""
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env={**os.environ, "FILIBUSTER": str(FILIBUSTER)},
                          capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["replay", "--max-executions", "shop.json", "check"], done


def test_open_shows_the_newest_page(tmp_path):
    root = tmp_path / ".filibuster"
    root.mkdir()
    for name, written in (("report.html", 1000), ("principled.html", 2000)):
        (root / name).write_text(name)
        os.utime(root / name, (written, written))
    opened = command("open", directory=tmp_path)
    assert opened.returncode == 0 and opened.stdout == (root / "principled.html").as_uri() + "\n", opened
    assert "principled.html is the newest page; older: .filibuster/report.html" in opened.stderr, opened
    os.utime(root / "report.html", (3000, 3000))
    assert command("open", directory=tmp_path).stdout == (root / "report.html").as_uri() + "\n"
    (root / "report.html").unlink()
    opened = command("open", directory=tmp_path)
    assert opened.stdout == (root / "principled.html").as_uri() + "\n" and opened.stderr == "", opened
    named = command("open", ".filibuster/principled.json", directory=tmp_path)
    assert named.stdout == (root / "principled.html").as_uri() + "\n", named


def test_config_check_takes_the_file_as_other_verbs_do(tmp_path):
    (tmp_path / "other.json").write_text('{"version": 1, "services": [], "tests": [{"name": "t", "command": "true"}]}')
    for words in (["other.json"], ["-c", "other.json"], ["--config", "other.json"]):
        checked = command("config", "check", *words, directory=tmp_path)
        assert checked.returncode == 0 and "tests:\n  t\n" in checked.stdout, checked
    assert command("config", "check", "other.json", "-c", "other.json", directory=tmp_path).returncode == 2
