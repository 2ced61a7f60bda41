"""Says whether two builds of the tool write the same about the corpus: what a refactoring must not change.

Every configuration of the corpus is explored by the build of BEFORE, by it once more, and by the build of this checkout;
report.json, JUnit, SARIF, Markdown, counterexamples and the text at the end are compared after MASKS. A document is equal if it
is equal to one of the two. Where these two differ the document varies by itself: if it is equal to neither, it is named as not
compared.

    make same-reports BEFORE=/path/of/another/built/checkout [ONLY=cinema-1,purchase]
"""
import argparse
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / "corpus"
DOCUMENTS = ["report.json", "junit.xml", "report.sarif", "summary.md", "suite.json", "text"]
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
# Members of JSON documents that are durations or ports, or follow from them: how often there was time to look at the reference
# again.
TIMED = {"ports", "seconds", "profile", "search_seconds", "longest", "store_seconds", "reference_again", "silence_seconds", "duration",
         "startTimeUtc", "endTimeUtc"}


def without_times(value):
    if isinstance(value, dict):
        return {key: "TIME" if key in TIMED else without_times(one) for key, one in value.items()}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def masked(name, text):
    if name.endswith((".json", ".sarif")):
        text = json.dumps(without_times(json.loads(text)), indent=1, ensure_ascii=False)
    for _, pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text.splitlines()


def explored(checkout, config, root):
    """The masked documents of one exploration of `config`, by name, and what the command ended with."""
    shutil.rmtree(root, ignore_errors=True)
    given = json.loads(config.read_text())
    verb = "suite" if "suites" in given else "run"
    done = subprocess.run([checkout / "build" / "bin" / "filibuster", verb, "-c", config, "--root", root, "--quiet"] +
                          ([] if verb == "suite" else ["--reduce", "published"]),
                          cwd=config.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    out = {"exit status": [str(done.returncode)], "text": masked("text", done.stdout)}
    for name in DOCUMENTS:
        if (root / name).is_file():
            out[name] = masked(name, (root / name).read_text())
    for example in sorted((root / "counterexamples").glob("*.json")):
        out[f"counterexamples/{example.name}"] = masked(example.name, example.read_text())
    if done.returncode not in (0, 1, 3):
        out["error"] = done.stderr.splitlines()
    return out


def compare(config, before, root):
    """True unless something differs that the build of BEFORE writes twice alike."""
    first, again, now = (explored(one, config, root) for one in (before, before, REPOSITORY))
    names = first.keys() | again.keys() | now.keys()
    different = {name for name in names if now.get(name) not in (first.get(name), again.get(name))}
    varied = {name for name in different if first.get(name) != again.get(name)}
    what = config.relative_to(CORPUS)
    lines = sum(len(text) for text in first.values())
    print(f"{what}: exit status {first['exit status'][0]}, {len(first)} documents of {lines} lines: "
          f"{'DIFFERENT' if different - varied else 'equal'}"
          f"{'; not compared, since it varies by itself: ' + ', '.join(sorted(varied)) if varied else ''}", flush=True)
    for name in sorted(different):
        print(f"  {name}{' (varies by itself)' if name in varied else ''}")
        other = again if name in varied else now
        for line in list(difflib.unified_diff(first.get(name, []), other.get(name, []), "before", "after", lineterm="", n=0))[:20]:
            print(f"    {line[:200]}")
    return not different - varied


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path, help="another checkout, which is built")
    parser.add_argument("--only", help="applications of the corpus, with commas between them")
    given = parser.parse_args()
    configs = sorted(path for path in CORPUS.glob("*/*.json") if '"services"' in path.read_text())
    if given.only:
        configs = [path for path in configs if path.parent.name in given.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        equal = [compare(config, given.before.resolve(), pathlib.Path(folder) / "root") for config in configs]
    print(f"{sum(equal)} of {len(equal)} configurations: the same was written; masked were "
          f"{', '.join(name for name, _, _ in MASKS)} and {', '.join(sorted(TIMED))}")
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
