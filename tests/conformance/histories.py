"""Histories of other projects, which `filibuster check` must judge as these do. They are read from copies that the user names.

histories.py [--porcupine DIR] [--knossos DIR]

Porcupine (github.com/anishathalye/porcupine): logs of Jepsen on etcd in test_data/jepsen, whose verdicts its porcupine_test.go has, and key-value
histories in test_data/kv, whose names say them. Knossos (github.com/jepsen-io/knossos): data/MODEL/good and data/MODEL/bad. Prints what was
checked, each difference, and what was not checked and why. Exit code 1: there is a difference.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FILIBUSTER = REPOSITORY / os.environ.get("BUILD", "build") / "bin/filibuster"
LIMIT = 600  # seconds for one history
VERDICTS = {0: "linearisable", 1: "not linearisable"}
# Of Knossos' folders: the model, and the state before the first call where it is another one.
MODELS = {"cas-register": ("cas-register", None), "register": ("register", None), "mutex": ("lock", None),
          "multi-register": ("multi-register", '{"x": 0, "y": 0}')}


def judge(path, model, *options):
    ran = subprocess.run([str(FILIBUSTER), "check", str(path), "--model", model, *options], capture_output=True, text=True, timeout=LIMIT)
    return VERDICTS.get(ran.returncode) or f"exit code {ran.returncode}: {(ran.stderr or ran.stdout).strip()}"


def verdict_of(is_linearisable):
    return VERDICTS[0 if is_linearisable else 1]


def etcd_cases(porcupine):
    """Each test of porcupine_test.go says the number of a log, and whether it is linearisable."""
    table = re.findall(r"^\s*checkJepsen\(t, (\d+), (true|false)\)$", (porcupine / "porcupine_test.go").read_text(), re.MULTILINE)
    known = {f"etcd_{int(number):03}.log": word == "true" for number, word in table}
    for path in sorted((porcupine / "test_data/jepsen").glob("*.log")):
        yield path, known.get(path.name), ("cas-register",)


def kv_cases(porcupine):
    for path in sorted((porcupine / "test_data/kv").glob("*.txt")):
        known = {"ok": True, "bad": False}.get(path.stem.rsplit("-", 1)[-1])
        yield path, known, ("kv",)
        # All keys as one object say the same, and take long where there are many clients.
        if known is not None and path.stem.startswith(("c01", "c10")):
            yield path, known, ("kv", "--one-object")


def knossos_cases(knossos):
    for path in sorted((knossos / "data").glob("*/*/*.edn")):
        known = {"good": True, "bad": False}.get(path.parent.name)
        model, initial = MODELS.get(path.parent.parent.name, (None, None))
        yield path, known if model else None, (model, *(["--initial", initial] if initial else []))


def compare(name, cases):
    """How many differ."""
    cases = list(cases)
    known = [each for each in cases if each[1] is not None]
    if not known:
        print(f"{name}: there is no history of known verdict; expected a copy of the whole repository")
        return 1
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda each: judge(each[0], *each[2]), known))
    counts, bad = {True: 0, False: 0}, 0
    for (path, expected, options), verdict in zip(known, said, strict=True):
        counts[expected] += 1
        if verdict != verdict_of(expected):
            bad += 1
            print(f"  {path.name} ({' '.join(options)}): expected {verdict_of(expected)}, found {verdict}")
    for path, expected, _ in cases:
        if expected is None:
            print(f"  {path.name} was not checked: nothing says its verdict")
    print(f"{name}: {len(known)} verdicts ({counts[True]} linearisable, {counts[False]} not): {f'{bad} differ' if bad else 'the same'}", flush=True)
    return bad


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--porcupine", help="a copy of github.com/anishathalye/porcupine")
    options.add_argument("--knossos", help="a copy of github.com/jepsen-io/knossos")
    given = options.parse_args()
    if not FILIBUSTER.exists():
        raise SystemExit(f"there is no {FILIBUSTER}; run make first")
    bad = 0
    if given.porcupine:
        bad += compare("Porcupine's logs of etcd", etcd_cases(pathlib.Path(given.porcupine)))
        bad += compare("Porcupine's key-value histories", kv_cases(pathlib.Path(given.porcupine)))
    else:
        print("Porcupine's histories were not checked: make conformance-histories PORCUPINE=DIR with a copy of github.com/anishathalye/porcupine")
    if given.knossos:
        bad += compare("Knossos' histories", knossos_cases(pathlib.Path(given.knossos)))
    else:
        print("Knossos' histories were not checked: make conformance-histories KNOSSOS=DIR with a copy of github.com/jepsen-io/knossos")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
