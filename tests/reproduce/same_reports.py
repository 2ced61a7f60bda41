"""Says whether two builds of the tool write the same about the corpus, which is what a refactoring must not change; or one
build in two ways, with an option and without it.

Every configuration of the corpus is explored by the build of BEFORE (or with the options of WITH), so once more, and by the build
of this checkout; report.json, JUnit, SARIF, Markdown, counterexamples and the text at the end are compared after MASKS. A document
is equal if it is equal to one of the two. Where these two differ the document varies by itself: if it is equal to neither, it is
named as not compared.

    make same-reports BEFORE=/path/of/another/built/checkout [ONLY=cinema-1,purchase/hard.json] [ALSO='--max-executions 500']
    make same-reports WITH=--no-snapshot
"""
import argparse
import dataclasses
import difflib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / "corpus"
DOCUMENTS = ["report.json", "junit.xml", "report.sarif", "summary.md", "text"]
# What two runs of one build do not have in common, in each of the documents.
MASKS = [
    ("ports", r"(?<=127\.0\.0\.1:)\d+|(?<=localhost:)\d+", "PORT"),
    ("pids", r"(?<=\(pid )\d+|(?<=pid=)\d+", "PID"),
    ("sessions", r"(?<=\"session\": \")\w+", "SESSION"),
    ("dates", r"\d{4}-\d\d-\d\d(T\d\d[\d:.%A]*Z?)?|\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT", "DATE"),
    ("durations", r"\b\d+(\.\d+)?(e-?\d+)?( (s|ms|us|min)\b|/s\b)|(?<=time=\")[\d.]+", "TIME"),
    ("names that a test draws", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{12}(?![0-9a-f])|"
                                r"(?<=attachments)[0-9a-f]{12}|(?<=inbox)[0-9a-f]{12}", "NAME"),
]
# Members of JSON documents that are durations, ports or processes, or follow from them: how often there was time to look at the
# reference again.
TIMED = {"ports", "pids", "seconds", "profile", "search_seconds", "longest", "store_seconds", "reference_again", "silence_seconds", "duration",
         "startTimeUtc", "endTimeUtc"}
# How the test was started, where that is what differs. Executions are then not numbered alike ("execution"), since some are run both ways.
START_MASKS = [("starts", r"; (forked|started ahead)[^\n]*|  the test is not forked, [^\n]*\n|^\S[^\n]* (is|are) not forked, [^\n]*\n", "")]


@dataclasses.dataclass
class Way:
    """A build, and options that it gets."""
    checkout: pathlib.Path
    options: list


def without_times(value):
    if isinstance(value, dict):
        return {key: "TIME" if key in TIMED else without_times(one) for key, one in value.items()}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def masked(name, text, masks):
    if name.endswith((".json", ".sarif")):
        text = json.dumps(without_times(json.loads(text)), indent=1, ensure_ascii=False)
    for _, pattern, instead in masks:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text.splitlines()


def explored(way, config, root, masks):
    """The masked documents of one exploration of `config`, by name, and what the command ended with."""
    shutil.rmtree(root, ignore_errors=True)
    done = subprocess.run([way.checkout / "build" / "bin" / "filibuster", "run", "-c", config, "--root", root, "--quiet", *way.options],
                          cwd=config.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    out = {"exit status": [str(done.returncode)], "text": masked("text", done.stdout, masks)}
    for name in DOCUMENTS:
        if (root / name).is_file():
            out[name] = masked(name, (root / name).read_text(), masks)
    for example in sorted((root / "counterexamples").glob("*.json")):
        out[f"counterexamples/{example.name}"] = masked(example.name, example.read_text(), masks)
    if done.returncode not in (0, 1, 3):
        out["error"] = done.stderr.splitlines()
    return out


def ways_of(root):
    """How the tests of the last exploration were started."""
    report = root / "report.json"
    tests = json.loads(report.read_text())["tests"] if report.is_file() else []
    return ", ".join(sorted({test["start"]["way"] for test in tests}))


def compare(config, before, now, root, masks):
    """True unless something differs that `before` writes twice alike."""
    first, again = (explored(before, config, root, masks) for _ in range(2))
    after = explored(now, config, root, masks)
    names = first.keys() | again.keys() | after.keys()
    different = {name for name in names if after.get(name) not in (first.get(name), again.get(name))}
    varied = {name for name in different if first.get(name) != again.get(name)}
    what = config.relative_to(CORPUS)
    lines = sum(len(text) for text in first.values())
    print(f"{what} ({ways_of(root)}): exit status {first['exit status'][0]}, {len(first)} documents of {lines} lines: "
          f"{'DIFFERENT' if different - varied else 'equal'}"
          f"{'; not compared, since it varies by itself: ' + ', '.join(sorted(varied)) if varied else ''}", flush=True)
    for name in sorted(different):
        for title, other in [("again", again)] * (name in varied) + [("after", after)]:
            print(f"  {name}: {title}")
            for line in list(difflib.unified_diff(first.get(name, []), other.get(name, []), "before", title, lineterm="", n=0))[:20]:
                print(f"    {line[:200]}")
    return not different - varied


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, default=REPOSITORY, help="another checkout, which is built (this one)")
    parser.add_argument("--with", dest="options", default="", help="options of 'run' that the first two explorations have, and the last one has not")
    parser.add_argument("--also", default="--reduce published", help="options that all of them have (--reduce published)")
    parser.add_argument("--only", help="applications of the corpus or configurations (cinema-1/planted-bug.json), with commas between them")
    given = parser.parse_args()
    configs = sorted(path for path in CORPUS.glob("*/*.json") if '"services"' in path.read_text())
    if given.only:
        only = given.only.split(",")
        configs = [path for path in configs if path.parent.name in only or str(path.relative_to(CORPUS)) in only]
    masks, also, options = MASKS, shlex.split(given.also), shlex.split(given.options)
    if options:
        masks = MASKS + START_MASKS
        TIMED.update(("start", "execution"))
    ways = Way(given.before.resolve(), also + options), Way(REPOSITORY, also)
    with tempfile.TemporaryDirectory() as folder:
        equal = [compare(config, *ways, pathlib.Path(folder) / "root", masks) for config in configs]
    print(f"{sum(equal)} of {len(equal)} configurations: the same was written; masked were "
          f"{', '.join(name for name, _, _ in masks)} and {', '.join(sorted(TIMED))}")
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
