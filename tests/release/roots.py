#!/usr/bin/env python3
"""Runs what a release has in roots of other distributions, each made by mmdebstrap: the tarball in a folder with a blank, and the
container image where `make release` has made one. In each, the two services of shop/ are explored, the planted bug is found, a finding
is replayed, and `filibuster doctor` answers; where the kernel allows it, services that run already are attached.

A root that cannot be made is skipped, with the reason. The exit code is 1 if something fails in one that was made."""
import argparse
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import traceback
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
DEBIAN, UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
# The key of Ubuntu's archive, by its fingerprint: https://ubuntu.com/security/keys
UBUNTU_KEY = "F6ECB3762474EDA9D21B7022871920D1991BC93C"
MIRRORS = {"bullseye": DEBIAN, "trixie": DEBIAN, "noble": UBUNTU}
FIRST_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO of <linux/proc_ns.h>
RUN_SECONDS, MAKE_SECONDS = 180, 600


class Skipped(Exception):
    """Why a root was not made."""


def capture(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=True, **options).stdout


def ubuntu_keyring(work, suite):
    """The one key, from the package of keys that the mirror itself has."""
    def get(path):
        with urllib.request.urlopen(f"{UBUNTU}/{path}", timeout=60) as answer:
            return answer.read()

    packages = gzip.decompress(get(f"dists/{suite}/main/binary-amd64/Packages.gz")).decode()
    path = re.search(r"^Package: ubuntu-keyring\n(?:.+\n)*?Filename: (\S+)", packages, re.M)[1]
    (work / "keys.deb").write_bytes(get(path))
    subprocess.run(["dpkg-deb", "-x", work / "keys.deb", work / "keys"], check=True)
    gpg = ("gpg", "--homedir", str(work), "--no-default-keyring", "--keyring",
           str(work / "keys/usr/share/keyrings/ubuntu-archive-keyring.gpg"))
    keyring = work / "ubuntu.gpg"
    keyring.write_bytes(subprocess.run([*gpg, "--export", UBUNTU_KEY], check=True, capture_output=True).stdout)
    shown = capture("gpg", "--homedir", str(work), "--show-keys", "--with-colons", str(keyring))
    if f"fpr:::::::::{UBUNTU_KEY}:" not in shown:
        raise Skipped("the mirror has not the key of Ubuntu's archive")
    return keyring


def make_root(suite, work):
    if suite not in MIRRORS:
        raise Skipped(f"no mirror of {suite} is known")
    words = ["mmdebstrap", "--mode=root", "--variant=apt", "--include=python3", "--format=directory"]
    try:
        if MIRRORS[suite] == UBUNTU:
            words.append(f"--keyring={ubuntu_keyring(work, suite)}")
        made = subprocess.run([*words, suite, work / "root", MIRRORS[suite]], capture_output=True, text=True, timeout=MAKE_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise Skipped(str(error)) from error
    if made.returncode != 0:
        raise Skipped("\n".join(re.findall(r"^E: .*", made.stderr, re.M)) or made.stderr[-500:])
    return work / "root"


class Root:
    """A root. What a command needs mounted is mounted for it alone. It sees all processes, since attaching needs their real numbers."""

    def __init__(self, path):
        self.path = path

    def run(self, script, folder="/application"):
        prepare = ('mount --rbind /dev "$0/dev"; mount --rbind /sys "$0/sys"; mount -t proc proc "$0/proc"; '
                   'exec chroot "$0" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 '
                   'sh -c \'cd "$1" && eval "$2"\' sh "$1" "$2"')
        return subprocess.run(["unshare", "--mount", "sh", "-ec", prepare, self.path, folder, script],
                              capture_output=True, text=True, timeout=RUN_SECONDS)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


def expect(condition, what, run):
    if not condition:
        raise AssertionError(f"{what}\nexit code {run.returncode}\n{run.stdout}\n{run.stderr}")


def check(root, command):
    """`command`: filibuster as a shell in the root says it."""
    shutil.copytree(HERE / "shop", root.path / "application", ignore=shutil.ignore_patterns(".filibuster"))
    libc = root.run("getconf GNU_LIBC_VERSION")
    doctor = root.run(f"{command} doctor")
    expect(doctor.returncode == 0, "doctor finds the machine usable", doctor)
    expect(f"here is {libc.stdout.split()[1]}" in doctor.stdout, "doctor names the libc of the root", doctor)

    run = root.run(f"{command} run")
    expect(run.returncode == 1, "the run finds something", run)
    report = json.loads((root.path / "application/.filibuster/report.json").read_text())
    states = {case["name"].rsplit(": ", 1)[1]: case["state"] for case in report["tests"][0]["cases"]}
    failed = {fault for fault, state in states.items() if state == "failed"}
    expect(failed and all(fault.startswith("status:") for fault in failed), f"the planted bug is found, and nothing else: {states}", run)
    expect({"refused", "timeout"} <= states.keys() - failed, f"a shop without its stock is explored, too: {states}", run)
    expect(all("shop.py:" in finding["faults"][0]["call_site"] for finding in report["tests"][0]["findings"]), "call sites are named", run)

    replay = root.run(f"{command} replay 1")
    expect(replay.returncode == 1, "the finding is replayed", replay)

    # What a feature of eBPF costs where it is missing: "nothing is lost" of one that has a substitute.
    missing = [line for line in re.findall(r"^attach +- .*", doctor.stdout, re.M) if "nothing is lost" not in line]
    # In a namespace of its own, the kernel's numbers of processes are others (docs/attach.md).
    if os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
        missing.append("attach - this is a container")
    if missing:
        return f"explored, replayed; not attached: {missing[0].split(maxsplit=2)[2]}"
    stock, shop = free_ports(2)
    attached = root.run(
        f"python3 stock.py {stock} & stock=$!; python3 shop.py {shop} {stock} & shop=$!; trap 'kill $stock $shop' EXIT; "
        f"until python3 customer.py {stock} && python3 customer.py {shop}; do :; done 2>/dev/null; "
        f"{command} attach --root /tmp/attached stock=port:{stock} shop=port:{shop} -- python3 customer.py {shop}")
    expect(attached.returncode == 1 and "shop -> stock" in attached.stdout, "attached services are explored", attached)
    return "explored, replayed, attached"


@contextlib.contextmanager
def working_folder():
    work = pathlib.Path(tempfile.mkdtemp(prefix="release-"))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_tarball(suite, archive):
    with working_folder() as work:
        root = Root(make_root(suite, work))
        with tarfile.open(archive) as tar:
            tar.extractall(root.path / "opt/some folder")
        (tree,) = (root.path / "opt/some folder").iterdir()
        return check(root, f"'/opt/some folder/{tree.name}/bin/filibuster'")


def check_image(image):
    """Its layer, with the Python that the services need."""
    with working_folder() as work:
        with tarfile.open(image) as tar:
            tar.extractall(work / "image")
        (layer,) = json.loads((work / "image/manifest.json").read_text())[0]["Layers"]
        (work / "root").mkdir()
        subprocess.run(["tar", "-C", work / "root", "-xzf", work / "image" / layer], check=True)
        root = Root(work / "root")
        shutil.copy("/etc/resolv.conf", root.path / "etc/resolv.conf")
        installed = root.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends python3", folder="/")
        if installed.returncode != 0:
            raise Skipped("python3 could not be installed: " + installed.stderr[-300:])
        return check(root, "filibuster")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("suites", nargs="*", help=f"of {', '.join(MIRRORS)}: all")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("skipped: roots are made by mmdebstrap, as root")
        return 0
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        print("skipped: nothing can be mounted here")
        return 0
    build = (TOP / options.build).resolve()
    with working_folder() as out:
        subprocess.run([TOP / "packaging/tarball.sh", out], check=True, env={**os.environ, "BUILD": str(build)})
        (archive,) = out.glob("*.tar.gz")
        checks = [(f"tarball in {suite}", check_tarball, (suite, archive)) for suite in options.suites or MIRRORS]
        if not options.suites:
            checks += [(image.name, check_image, (image,)) for image in sorted((build / "release").glob("*-image-*.tar"))]
        failures = 0
        for name, checker, arguments in checks:
            try:
                print(f"{name}: {checker(*arguments)}", flush=True)
            except Skipped as skipped:
                print(f"{name}: skipped: {skipped}", flush=True)
            except Exception:  # the others are still worth a look
                failures += 1
                print(f"{name}: FAILED", flush=True)
                traceback.print_exc()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
