"""Tables 5 and 7 of 'Push-Button Reliability Testing for Cloud-Backed Applications with Rainmaker' (NSDI 2023) for our corpus: what
`filibuster suite` finds in albums (Node) and desk (Python), by kind, policy and oracle, and what each coverage metric takes. A bug
that is not found as its README says, or a likely bug of the repaired application, fails."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("BUILD", "build")
FILIBUSTER = BUILD / "bin" / "filibuster"
METRICS = ("C1", "C2", "C3", "C4")
# Of the paper: 73 bugs in 11 applications; false positives 1.96 %; C4 saves 64.47 % of the runs of exhaustive testing.
PUBLISHED_FALSE_POSITIVES = 1.96
PUBLISHED_SAVING = 64.47

NO_HANDLING, UNRELATED = "no handling", "unrelated exception"
SILENT, DIVERGENCE = "silent semantic violation", "state divergence"
# application -> bug -> (its label, policies that find it, where: a part of the call site)
BUGS = {
    "desk": {"conflict": (UNRELATED, {"P1"}, "(add)"), "twice": (SILENT, {"P1"}, "desk.py"),
             "optimist": (DIVERGENCE, {"P3"}, "(add)"), "careless": (NO_HANDLING, {"P3"}, "(text)")},
    "albums": {"conflict": (UNRELATED, {"P1"}, "create"), "twice": (SILENT, {"P1"}, "albums.js"),
               "optimist": (DIVERGENCE, {"P2", "P3", "P4"}, "describe"), "careless": (NO_HANDLING, {"P2", "P3", "P4"}, "albums.js")},
}


def suite(application, bugs, root, *options):
    """(exit status, suite.json, what was printed)"""
    environment = {**os.environ, f"{application.upper()}_BUGS": ",".join(bugs)}
    ran = subprocess.run([FILIBUSTER, "suite", "-c", f"corpus/{application}/filibuster.json", "--root", root, "--quiet", *options],
                         cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    # 3: an execution was not concluded; it is counted.
    if ran.returncode not in (0, 1, 3) or not (root / "suite.json").exists():
        sys.exit(f"{application}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.returncode, json.loads((root / "suite.json").read_text()), ran.stdout


def found(report, label, policies, where):
    """The policies by which the bug was found, of those that find it."""
    out = set()
    for cluster in report["clusters"]:
        if cluster["label"] != label or where not in cluster["call_site"] or cluster["reproduced"] is False:
            continue
        out |= {report["faults"][at]["policy"] for at in cluster["executions"]}
    return out & policies


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", choices=BUGS)
    arguments = options.parse_args()
    problems, kinds, by_policy = [], collections.Counter(), collections.Counter()
    times = []
    false_positives = findings = 0
    print("application  bug        label                       published by   found by")
    for application in arguments.only or BUGS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            code, repaired, text = suite(application, [], folder / "repaired")
            false_positives += len(repaired["clusters"])
            open_ = sum(1 for fault in repaired["faults"] if fault["skipped"].startswith("no conclusion"))
            if open_:
                print(f"{application}, repaired: {open_} of {len(repaired['faults'])} executions were not concluded")
            if code == 1 or repaired["clusters"]:
                problems.append(f"{application}, repaired, is not silent:\n{text}")
            times.append((application, repaired))
            for bug, (label, policies, where) in BUGS[application].items():
                code, report, text = suite(application, [bug], folder / bug)
                findings += len(report["clusters"])
                by = found(report, label, policies, where)
                print(f"{application:12} {bug:10} {label:27} {','.join(sorted(policies)):14} {','.join(sorted(by)) or '-'}")
                if not by or code != 1:
                    problems.append(f"{application}: bug '{bug}' was not found:\n{text}")
                kinds[label] += bool(by)
                for cluster in report["clusters"]:
                    for policy in {report["faults"][at]["policy"] for at in cluster["executions"]}:
                        by_policy[policy, cluster["oracle"]] += 1
    print("\nTable 5: likely bugs by kind (seeded: one of each kind in each application)")
    for label in (NO_HANDLING, UNRELATED, SILENT, DIVERGENCE):
        print(f"  {label:27} {kinds[label]} of {sum(1 for a in arguments.only or BUGS for one in BUGS[a].values() if one[0] == label)}")
    print(f"  false positives {100 * false_positives / max(1, false_positives + findings):.2f} % (published {PUBLISHED_FALSE_POSITIVES} %)")
    print("\nTable 7: clusters by policy and oracle")
    for (policy, oracle), number in sorted(by_policy.items()):
        print(f"  {policy}  {oracle:27} {number}")
    print(f"\nCoverage metrics (the paper's C4 saves {PUBLISHED_SAVING} % of faulting every call)")
    for application, report in times:
        every_call = sum(site["calls"] for test in report["tests"] if not test["left_out"] for site in test["call_sites"])
        pairs = sum(1 for test in report["tests"] if not test["left_out"] for _ in test["call_sites"])
        for row in report["estimates"]:
            most = max(one["estimate_seconds"] for one in report["estimates"])
            print(f"  {application:8} {row['metric']}  {row['executions']:4} executions, {row['estimate_seconds']:7.1f} s estimated, "
                  f"{100 * (1 - row['estimate_seconds'] / most):5.1f} % less than C4, {row['untried']} pairs untried")
        print(f"  {application:8} C4 faults {pairs} of {every_call} calls: saves {100 * (1 - pairs / every_call):.1f} %; measured "
              f"{report['measured_seconds']:.1f} s, estimated {report['estimate_seconds']:.1f} s")
    print()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
