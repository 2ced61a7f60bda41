"""The tarball of a release runs from any folder, by the loader and the libraries that are packed in it, and nothing that it starts
sees any of them. What other distributions make of it: tests/release/roots.py."""
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest

from conftest import BUILD, FILIBUSTER, REPOSITORY
from small_apps import PROBE, config, relay, url


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """What the archive holds, in a folder with blanks."""
    out = tmp_path_factory.mktemp("some folder")
    made = subprocess.run([REPOSITORY / "packaging/tarball.sh", out, "--tree"], env={**os.environ, "BUILD": str(BUILD)},
                          capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made
    return out / made.stdout.splitlines()[-1].rsplit("/", 1)[-1]


# That its programs start is in the tests below, and `make release-test` explores with it.
@pytest.mark.whole
def test_an_application_is_explored_and_a_finding_replayed_from_a_folder_with_blanks(tree, tmp_path):
    # The test notes what it and its services get, and asks whether it meets a fault, as it would from a shell.
    asks = f"env > env; cat /proc/$PPID/comm >> parent; cat /proc/self/maps > maps; {PROBE} 200 {url('front')}; status=$?; filibuster was-fault-injected; echo $? >> asked; exit $status"
    back = relay("back")
    back["command"] = "env > env_of_back; cat /proc/self/maps > maps_of_back; " + back["command"]
    (tmp_path / "filibuster.json").write_text(json.dumps(config([back, relay("front", "back")], [{"name": "home", "command": asks}])))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FILIBUSTER_")}
    environment["PATH"] = "/usr/bin:/bin"  # where no other filibuster is
    run = subprocess.run([tree / "bin/filibuster", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1 and "front -> back" in run.stdout, run
    assert "filibuster, which" not in (tmp_path / ".filibuster/report.json").read_text(), "a launcher is taken for a service"
    assert (tmp_path / "parent").read_text().split()[0] == "filibusterd"
    # 0: yes, 1: no; the first execution is the reference.
    answers = (tmp_path / "asked").read_text().split()
    assert answers[0] == "1" and set(answers) == {"0", "1"}, answers
    for name in ("env", "env_of_back"):
        text = (tmp_path / name).read_text()
        assert "libfilibuster" in text and "LD_LIBRARY_PATH" not in text and "packed" not in text, text
    for name in ("maps", "maps_of_back"):
        text = (tmp_path / name).read_text()
        assert "libfilibuster.so" in text and "/packed/" not in text, text
    assert (tmp_path / ".filibuster/report.html").exists() == (tree / "lib/filibuster/report.html").exists()
    replay = subprocess.run([tree / "bin/filibuster", "replay", "1"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert replay.returncode == 1 and "reproduced" in replay.stdout, replay


def test_the_programs_need_no_library_of_the_host(tree):
    packed = tree / "lib/filibuster/packed"
    # libfilibuster.so is preloaded into filibuster-proxy, and into a command that a test starts.
    for program in (packed / "filibuster", packed / "filibusterd", packed / "filibuster-proxy", tree / "lib/libfilibuster.so"):
        listed = subprocess.run([packed / "ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", packed, "--list", program],
                                capture_output=True, text=True, timeout=60, check=True).stdout
        libraries = [line.split(" => ")[1] for line in listed.splitlines() if " => " in line]
        assert libraries and all(library.startswith(f"{packed}/") for library in libraries), listed
    licences = tree / "share/doc/filibuster/third-party"
    named = (licences / "versions.txt").read_text()
    for library in packed.glob("*.so*"):
        line = next(line for line in named.splitlines() if line.startswith(f"lib/filibuster/packed/{library.name}\t"))
        assert (licences / line.split("\t")[1].split()[0] / "copyright").stat().st_size > 0, line


def test_a_launcher_finds_its_folder_by_a_link_and_says_where_it_cannot_be(tree, tmp_path):
    (tmp_path / "command").symlink_to(tree / "bin/filibuster")
    doctor = subprocess.run([tmp_path / "command", "doctor"], capture_output=True, text=True, timeout=60)
    assert doctor.returncode == 0 and str(tree / "lib/libfilibuster.so") in doctor.stdout, doctor
    # What services meet is the host's: the same as a command says that has no libc of its own.
    def of_host(text):
        return [line for line in text.splitlines() if line.split()[0] in ("glibc", "libunwind")]
    plain = subprocess.run([FILIBUSTER, "doctor"], capture_output=True, text=True, timeout=60)
    assert of_host(doctor.stdout) == of_host(plain.stdout) and len(of_host(plain.stdout)) == 2

    colon = tmp_path / "a:b"
    shutil.copytree(tree / "bin", colon / "bin")
    (colon / "lib").symlink_to(tree / "lib")
    run = subprocess.run([colon / "bin/filibuster", "--version"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 3 and "without ':'" in run.stderr, run


def blocks(language):
    """The blocks of docs/ci.md, without what indents their lines."""
    text = (REPOSITORY / "docs/ci.md").read_text()
    return [[line.strip().removeprefix("- ") for line in block.splitlines()]
            for block in re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)]


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not there: the recipe to download a release was not run")
def test_the_recipe_to_download_a_release_leads_to_a_command_that_runs(tree, tmp_path):
    version = subprocess.run([REPOSITORY / "packaging/version.sh"], capture_output=True, text=True, check=True).stdout.strip()
    release = tmp_path / "releases" / f"v{version}"
    release.mkdir(parents=True)
    archive = release / f"{tree.name}.tar.gz"  # the name that packaging/tarball.sh gives it
    subprocess.run(["tar", "-C", tree.parent, "-I", "gzip -1", "-cf", archive, tree.name], check=True, timeout=120)
    # Of files that are not downloaded there are sums, too.
    (release / "SHA256SUMS").write_text(f"{'0' * 64}  filibuster_{version}_amd64.deb\n{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n")
    (recipe,) = [block for block in blocks("sh") if block[0].startswith("file=")]
    serves = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "releases")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serves) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = tmp_path / "home"
        home.mkdir()
        run = subprocess.run(["sh", "-euc", "\n".join([*recipe, "command -v filibuster", "filibuster --version"])], cwd=home, timeout=120,
                             capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(home), "VERSION": version,
                                                                  "RELEASES": f"http://127.0.0.1:{server.server_port}"})
        server.shutdown()
    assert run.returncode == 0, run
    assert run.stdout.splitlines()[-2] == f"{home}/{tree.name}/bin/filibuster" and version in run.stdout.splitlines()[-1], run


def test_the_recipes_of_each_ci_are_the_same_steps():
    (recipe,) = [block for block in blocks("sh") if block[0].startswith("file=")]
    download = [line for line in recipe if not line.startswith("export")]
    jobs = [block for block in blocks("yaml") if any("filibuster run --max-time" in line for line in block)]
    assert len(jobs) == 2
    for block in jobs:
        assert [line for line in block if line in download] == download
        # No image and no file that nobody has.
        assert not any("example.com" in line for line in block)
        version = subprocess.run([REPOSITORY / "packaging/version.sh"], capture_output=True, text=True, check=True).stdout.strip()
        assert f"VERSION: {version}" in block
