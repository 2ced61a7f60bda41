"""`make install` leaves what the manual speaks of, under DESTDIR and PREFIX; `make deb` packs it."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, REPOSITORY
from small_apps import PROBE, config, relay, url

INSTALLED = """
    bin/filibuster bin/filibusterd lib/libfilibuster.so lib/filibuster/node.cjs lib/filibuster/filibuster-proxy lib/filibuster/filibuster-host
    share/filibuster/filibuster_predicates.py share/filibuster/filibuster_predicates.h
    share/filibuster/filibuster_predicates.cjs share/filibuster/FilibusterPredicates.java share/filibuster/filibuster_pytest.py share/filibuster/filibuster.schema.json
    share/filibuster/filibuster_principled.py share/filibuster/FilibusterPrincipled.java share/filibuster/filibuster_principled.h
    share/filibuster/filibuster_property.py share/filibuster/filibuster_property.cjs share/filibuster/filibuster_property.d.cts
    share/filibuster/FilibusterProperty.java share/filibuster/filibuster_property.h
    share/filibuster/schema/report.schema.json share/filibuster/schema/counterexample.schema.json
    share/filibuster/schema/events.schema.json share/filibuster/schema/baseline.schema.json
    share/man/man1/filibuster.1 share/man/man5/filibuster.json.5 share/man/man8/filibusterd.8
    share/doc/filibuster/README.md share/doc/filibuster/docs/configuration.md share/bash-completion/completions/filibuster
    share/zsh/vendor-completions/_filibuster share/doc/filibuster/LICENSE share/doc/filibuster/docs/finding.png
""".split()


def test_everything_that_a_user_needs_is_installed(tmp_path):
    built = [str(BUILD / name) for name in ("bin/filibuster", "bin/filibusterd", "lib/libfilibuster.so")]
    relative = [os.path.relpath(path, REPOSITORY) for path in built]
    # What is built stays as it is (-o): only the rule of install itself is under test.
    subprocess.run(["make", "-s", "install", f"BUILD={BUILD}", f"DESTDIR={tmp_path}", "PREFIX=/opt/f",
                    *(word for path in built + relative for word in ("-o", path)),
                    "-o", "compile_commands.json"],
                   cwd=REPOSITORY, check=True, timeout=120)
    missing = [name for name in INSTALLED if not (tmp_path / "opt/f" / name).is_file()]
    assert not missing
    assert os.access(tmp_path / "opt/f/bin/filibuster", os.X_OK)


def test_what_is_installed_works_from_there_and_can_be_removed(tmp_path):
    scratch = tmp_path / "scratch"
    environment = {**os.environ, "BUILD": str(BUILD)}
    subprocess.run([str(REPOSITORY / "packaging/install.sh"), str(scratch), "/opt/filibuster"], check=True, env=environment, timeout=120)
    program = scratch / "opt/filibuster/bin/filibuster"
    explored = tmp_path / "application"
    explored.mkdir()
    (explored / "filibuster.json").write_text(json.dumps(config(
        [relay("back"), relay("front", "back")], [{"name": "home", "command": f"{PROBE} 200 {url('front')}"}])))
    run = subprocess.run([program, "run", "--quiet"], cwd=explored, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1 and "front -> back" in run.stdout, run
    subprocess.run([str(REPOSITORY / "packaging/uninstall.sh"), str(scratch), "/opt/filibuster"], check=True, timeout=120)
    assert [path for path in scratch.rglob("*") if not path.is_dir()] == []


# What each package holds is that of `make install`, by the same script.
@pytest.mark.whole
@pytest.mark.skipif(not shutil.which("dpkg-shlibdeps"), reason="dpkg-dev is not there: the Debian packages were not checked")
def test_the_debian_packages_hold_what_each_place_needs(tmp_path):
    out = tmp_path / "deb"
    subprocess.run([str(REPOSITORY / "packaging/deb.sh"), str(out)], check=True, env={**os.environ, "BUILD": str(BUILD)}, timeout=300,
                   stdout=subprocess.DEVNULL)
    version = subprocess.run([REPOSITORY / "packaging/version.sh"], capture_output=True, text=True, check=True).stdout.strip()
    manual = (REPOSITORY / "docs/ci.md").read_text()
    names = {}
    for package in out.glob("*.deb"):
        listing = subprocess.run(["dpkg-deb", "-c", str(package)], check=True, capture_output=True, text=True, timeout=60).stdout
        assert f"`{package.name.replace(version, 'VERSION')}`" in manual
        name = package.name.split("_")[0]
        names[name] = {line.split()[5].lstrip(".") for line in listing.splitlines() if not line.startswith("d")}
        field = subprocess.run(["dpkg-deb", "-f", str(package), "Depends"], check=True, capture_output=True, text=True, timeout=60).stdout
        if name == "filibuster-preload":
            # A service's container needs nothing but its libc.
            assert field.startswith("libc6 (>= 2.") and "," not in field, field
        else:
            assert "filibuster-preload (= " in field, field
    assert {"/usr/lib/libfilibuster.so", "/usr/lib/filibuster/node.cjs"} <= names["filibuster-preload"]
    assert {"/usr/bin/filibuster", "/usr/bin/filibusterd", "/usr/lib/filibuster/filibuster-proxy", "/usr/share/man/man1/filibuster.1.gz"} <= names["filibuster"]
    assert not names["filibuster"] & names["filibuster-preload"]
    if shutil.which("lintian"):
        judged = subprocess.run(["lintian", "--fail-on", "error,warning", *map(str, out.glob("*.deb"))], capture_output=True, text=True, timeout=120)
        assert judged.returncode == 0, judged.stdout
    else:
        print("lintian is not there: it did not judge the packages")


@pytest.mark.parametrize("name", ["libfilibuster.so", "filibuster/filibuster-host", "filibuster/coverage/gcov_flush.so"])
def test_what_the_loader_of_the_host_loads_enters_old_distributions(name):
    """The highest version of GLIBC of each file is at most the one that the manual promises."""
    promised = re.search(r"your services keep theirs, glibc (\d+)\.(\d+) or later", (REPOSITORY / "docs/ci.md").read_text())
    symbols = subprocess.run(["objdump", "-T", str(BUILD / "lib" / name)], check=True, capture_output=True, text=True, timeout=60).stdout
    versions = {tuple(map(int, word.strip("()").removeprefix("GLIBC_").split("."))) for word in symbols.split() if "GLIBC_2" in word}
    assert versions and max(versions) <= tuple(map(int, promised.groups())), max(versions)
