#!/usr/bin/python3
"""Boots Debian's own kernel in a virtual machine (qemu, in software), and runs a command there as root.

    boot.py --build DIR COMMAND [ARGUMENT...]

The kernel is that of the package linux-image-amd64, which is downloaded and unpacked, and not installed. The guest has the
machine's /usr and the repository (by 9p, read-only), and memory for all else. So what was built here runs there. The output of
COMMAND is printed as it comes, and its exit code is ours. The kernel's own messages are in DIR/vm/console.log.

Where qemu or the kernel cannot be had, it says so and ends with exit code 0, or with REQUIRE_BPF=1 with 3.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
METAPACKAGE = "linux-image-amd64"
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "depmod": "kmod"}
# The roots of what the guest needs to see the machine's files. Their dependencies come by themselves.
MODULES = ("virtio_pci", "9pnet_virtio", "9p")
IN_PACKAGE = ("./boot/vmlinuz*", *(f"./lib/modules/*/{part}" for part in (
    "modules.*", "kernel/drivers/virtio", "kernel/net/9p", "kernel/fs/9p", "kernel/fs/netfs", "kernel/fs/fscache")))
# Of /etc: users, names, libraries, alternatives, how certificates are made.
OF_ETC = ("passwd", "group", "nsswitch.conf", "hosts", "ld.so.cache", "alternatives", "ssl/openssl.cnf")
SECONDS = 3000  # more than any list of tests takes


def found(tool):
    return shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def give_up(why):
    required = os.environ.get("REQUIRE_BPF") == "1"
    print(f"NOT TESTED: Debian's own kernel: {why}", file=sys.stderr)
    sys.exit(3 if required else 0)


def output(*command, **how):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **how).stdout


def unpacked_kernel(folder):
    """The folder with boot/ and lib/modules/ of the kernel's package, unless it is there already."""
    try:
        names = re.findall(r"Depends: (linux-image-\S+)", output("apt-cache", "depends", METAPACKAGE))
        version = output("apt-cache", "show", "--no-all-versions", names[0]).split("\nVersion: ")[1].split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        give_up(f"apt knows no package {METAPACKAGE} (apt-get update)")
    place = folder / f"{names[0]}_{version}".replace(":", "_")
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        done = subprocess.run(["apt-get", "download", "-q", names[0]], cwd=place, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            give_up(f"apt-get download {names[0]} failed: {done.stdout.strip().splitlines()[-1]}")
        (package,) = place.glob("*.deb")
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "--wildcards", *IN_PACKAGE], cwd=place, stdin=archive.stdout, check=True)
        package.unlink()
        (place / "complete").touch()
    return place


def modules_of(kernel):
    """The files of MODULES and of what they depend on, in the order in which they are loaded."""
    (version,) = (path.name for path in (kernel / "lib/modules").iterdir())
    subprocess.run([found("depmod"), "-b", kernel, version], check=True)
    files = []
    for module in MODULES:
        lines = output(found("modprobe"), "-d", kernel, "-S", version, "--show-depends", module).splitlines()
        files += [line.split()[1] for line in lines if line.startswith("insmod ")]
    return list(dict.fromkeys(files))


def make_initramfs(kernel, command, place):
    root = place.with_suffix(".root")
    shutil.rmtree(root, ignore_errors=True)
    (root / "vm").mkdir(parents=True)
    (root / "etc").mkdir()
    shutil.copy(found("busybox"), root / "vm/busybox")
    shutil.copy(HERE / "init", root / "init")
    (root / "init").chmod(0o755)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    for name in OF_ETC:
        subprocess.run(["cp", "-a", "--parents", f"etc/{name}", root.resolve()], cwd="/", check=True)
    modules = modules_of(kernel)
    for module in modules:
        shutil.copy(module, root / "vm")
    (root / "vm/modules").write_text("".join(f"/vm/{pathlib.Path(module).name}\n" for module in modules))
    (root / "vm/settings").write_text(f"REPOSITORY={shlex.quote(str(REPOSITORY))}\n")
    (root / "vm/command").write_text(shlex.join(command) + "\n")
    names = "\n".join(str(path.relative_to(root)) for path in root.rglob("*"))
    with place.open("wb") as archive:
        subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"], cwd=root, input=names.encode(), stdout=archive,
                       check=True)


def shared(tag, path):
    return ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,readonly=on,multidevs=remap"]


def run(kernel, initramfs, console):
    """Prints what the guest says; its exit code."""
    (image,) = (kernel / "boot").glob("vmlinuz*")
    guest = subprocess.Popen(
        # One thread for all processors of the guest. With one for each, a processor may go on to execute the breakpoint by which
        # the kernel changes a function (fentry) after that has gone: both stand in tcp_sendmsg_locked() for ever then.
        ["timeout", str(SECONDS), found("qemu-system-x86_64"), "-accel", "tcg,thread=single",
         # The largest processor that qemu makes, without page tables of five levels, which only take time.
         "-cpu", "max,la57=off", "-smp", str(os.cpu_count()), "-m", "3G", "-nodefaults", "-display", "none", "-no-reboot",
         "-kernel", image, "-initrd", initramfs, "-append", "console=ttyS0 panic=-1",
         "-serial", f"file:{console}", "-serial", "stdio", *shared("usr", "/usr"), *shared("repository", REPOSITORY)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    code = None
    for line in guest.stdout:
        text = line.decode(errors="replace").rstrip()
        if said := re.fullmatch(r"guest: exit (\d+)", text):
            code = int(said[1])
        else:
            print(text, flush=True)
    guest.wait()
    if code is None:
        print(f"the guest ended without a result; the last that its kernel said ({console}):", file=sys.stderr)
        print(*console.read_text(errors="replace").splitlines()[-15:], sep="\n", file=sys.stderr)
        return 1
    return code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if missing := [package for tool, package in TOOLS.items() if not found(tool)]:
        give_up(f"missing packages: apt-get install {' '.join(missing)}")
    place = (REPOSITORY / options.build / "vm").resolve()
    place.mkdir(parents=True, exist_ok=True)
    kernel = unpacked_kernel(place)
    make_initramfs(kernel, options.command, place / "initramfs")
    return run(kernel, place / "initramfs", place / "console.log")


sys.exit(main())
