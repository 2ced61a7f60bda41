"""Tables 5, 7 and 8 and figure 9 of 'Push-Button Reliability Testing for Cloud-Backed Applications with Rainmaker' (NSDI 2023) for our
corpus, beside the published figures: what `filibuster suite` finds in desk (Python) and albums (Node), by kind, policy and oracle, and
what each coverage metric takes. A bug that is not found as its README says, or a likely bug of the repaired application, fails.

Each bug is switched on alone. The repaired application is silent, so whatever is found besides is of that bug."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("BUILD", "build")
FILIBUSTER = BUILD / "bin" / "filibuster"
METRICS = ("C1", "C2", "C3", "C4")
POLICIES = ("P1", "P2", "P3", "P4")

NO_HANDLING, UNRELATED = "no handling", "unrelated exception"
SILENT, DIVERGENCE = "silent semantic violation", "state divergence"
KINDS = (NO_HANDLING, UNRELATED, SILENT, DIVERGENCE)
# Of the paper, for its 11 applications: table 5, table 7 (policies; oracles), false alarms among failures, and what C4 saves of the
# runs of faulting every call. The last are ranges over applications (table 8), in hours.
PUBLISHED_KINDS = {NO_HANDLING: 29, UNRELATED: 23, SILENT: 4, DIVERGENCE: 17}
PUBLISHED_POLICIES = {"P1": 67, "P2": 26, "P3": 46, "P4": 25}
PUBLISHED_ORACLES = {"exception (unit)": 38, "exception (system)": 29, "assertion": 6}
PUBLISHED_FALSE_POSITIVES = 1.96
PUBLISHED_SAVING = 64.47
PUBLISHED_TIMES = "0.02-16.61 h | 0.51-196.16 h | 0.57-212.77 h | 72-6428 runs; faults are over 93.54 % of the time"

# application -> bug -> (its label, policies that find it, where: a part of the call site)
BUGS = {
    "desk": {"conflict": (UNRELATED, {"P1"}, "(add)"), "twice": (SILENT, {"P1"}, "desk.py"),
             "optimist": (DIVERGENCE, {"P3"}, "(add)"), "careless": (NO_HANDLING, {"P3"}, "(text)")},
    "albums": {"conflict": (UNRELATED, {"P1"}, "create"), "twice": (SILENT, {"P1"}, "albums.js"),
               "optimist": (DIVERGENCE, {"P2", "P3", "P4"}, "describe"), "careless": (NO_HANDLING, {"P2", "P3", "P4"}, "albums.js")},
}


class Suite:
    """A run of `filibuster suite` over an application with these bugs, with the published policies."""

    def __init__(self, application, bugs, root, *options):
        environment = {**os.environ, f"{application.upper()}_BUGS": ",".join(bugs)}
        began = time.monotonic()
        ran = subprocess.run([FILIBUSTER, "suite", "--policy", "P1,P2,P3,P4", "-c", f"corpus/{application}/filibuster.json", "--root", root, "--quiet", *options],
                             cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
        self.seconds = time.monotonic() - began
        self.code, self.text = ran.returncode, ran.stdout
        # 3: an execution was not concluded; it is counted.
        if ran.returncode not in (0, 1, 3) or not (root / "suite.json").exists():
            sys.exit(f"{application}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
        self.report = json.loads((root / "suite.json").read_text())

    @property
    def clusters(self):
        return self.report["clusters"]

    def faults_of(self, cluster):
        return [self.report["faults"][at] for at in cluster["executions"]]

    def not_concluded(self):
        return sum(1 for fault in self.report["faults"] if fault["skipped"].startswith("no conclusion"))

    def executed(self):
        return sum(1 for fault in self.report["faults"] if fault["execution"] is not None)

    def repeated(self):
        return sum(1 for fault in self.report["faults"] if fault["tries"] > 1)

    def oracle(self, cluster):
        """As table 7 names it."""
        kind = {test["test"]: test["kind"] for test in self.report["tests"]}[cluster["test"]]
        return f"exception ({kind})" if "exception" in cluster["oracle"] else cluster["oracle"]

    def untried(self, metric):
        (row,) = [row for row in self.report["estimates"] if row["metric"] == metric]
        return {(pair["test"], pair["call_site"]) for pair in row["untried"]}


def show(title, columns, rows):
    print(f"\n{title}")
    table = [("", *columns), *rows]
    widths = [max(len(str(row[at])) for row in table) for at in range(len(table[0]))]
    for row in table:
        print("  " + str(row[0]).ljust(widths[0]) + "".join("  " + str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])))


def of_bug(suite, label, where):
    """The clusters that are this bug as its README says it."""
    return [cluster for cluster in suite.clusters if cluster["label"] == label and where in cluster["call_site"] and cluster["reproduced"]]


def policies_of(suite, clusters):
    return {fault["policy"] for cluster in clusters for fault in suite.faults_of(cluster)}


def metrics_of(suite, clusters):
    """By which metrics the plan has an execution that finds it."""
    pairs = {(fault["test"], fault["call_site"]) for cluster in clusters for fault in suite.faults_of(cluster)}
    return {metric for metric in METRICS if pairs - suite.untried(metric)}


def tell_of(application, name, suite, said=""):
    left_out = [test for test in suite.report["tests"] if test["left_out"] and "no remote call" not in test["left_out"]]
    for test in left_out:  # on a busy machine a client's timeout may fire by itself
        print(f"{application:8} {name:10} without {test['test']}: {test['left_out']}")
    print(f"{application:8} {name:10} {said}{suite.executed()} executions under faults in {suite.seconds:.0f} s, {suite.not_concluded()} not "
          f"concluded, {suite.repeated()} repeated since the fault had not come; {len(suite.clusters)} clusters", flush=True)


def show_bugs(seeded, found):
    """`found`: application -> bug -> (suite, clusters of it)"""
    rows = []
    for application, bugs in found.items():
        cells = []
        for kind in KINDS:
            of_kind = [bug for bug in bugs if seeded[application][bug][0] == kind]
            cells.append(f"{sum(1 for bug in of_kind if bugs[bug][1])} of {len(of_kind)}")
        rows.append((application, *cells, f"{sum(1 for one in bugs.values() if one[1])} of {len(bugs)}"))
    rows.append(("published, 11 applications", *PUBLISHED_KINDS.values(), sum(PUBLISHED_KINDS.values())))
    show("Table 5: bugs by kind, found of those that were seeded", (*KINDS, "total"), rows)

    oracles = [*PUBLISHED_ORACLES, "possible-silent-violation", "process-died", "hang"]
    rows = []
    for application, bugs in found.items():
        by = collections.Counter()
        for suite, clusters in bugs.values():
            by.update(policies_of(suite, suite.clusters if clusters else []))
            by.update({suite.oracle(cluster) for cluster in (suite.clusters if clusters else [])})
        rows.append((application, *(by[column] for column in (*POLICIES, *oracles))))
    rows.append(("published, 11 applications", *PUBLISHED_POLICIES.values(), *(PUBLISHED_ORACLES.get(column, "-") for column in oracles)))
    show("Table 7: bugs by the policies and oracles that expose them (several may)", (*POLICIES, *oracles), rows)


def show_costs(repaired, estimated, found):
    rows = []
    for application, suite in repaired.items():
        report = suite.report
        sites = [site for test in report["tests"] if not test["left_out"] for site in test["call_sites"] if not site["why_not"]]
        baseline = len(POLICIES) * sum(site["calls"] for site in sites)
        most = max(row["estimate_seconds"] for row in report["estimates"])
        all_measured = sum(fault["seconds"] for fault in report["faults"])
        rows.append((application, "every call", baseline, "", "", "", "", "", ""))
        for row in report["estimates"]:
            metric, untried = row["metric"], suite.untried(row["metric"])
            measured = sum(fault["seconds"] for fault in report["faults"] if (fault["test"], fault["call_site"]) not in untried)
            finds = sum(1 for one, clusters in found[application].values() if clusters and metric in metrics_of(one, one.clusters))
            rows.append((application, metric, row["executions"], f"{100 * (1 - row['executions'] / baseline):.2f} %",
                         f"{row['estimate_seconds']:.1f} s", f"{measured:.1f} s", f"{100 * (1 - row['estimate_seconds'] / most):.1f} %",
                         f"{100 * (1 - measured / all_measured):.1f} %", finds))
    rows.append(("published, mean", "C4", "72-6428", f"{PUBLISHED_SAVING} %", "", "", "", "", 73))
    show("Figure 9: runs under faults by coverage metric, and the bugs that they find",
         ("metric", "runs", "fewer than every call", "estimate", "measured", "estimate below C4", "measured below C4", "bugs"), rows)

    rows = []
    for application, suite in repaired.items():
        report = suite.report
        measured = report["measured_seconds"]
        rows.append((application, f"{report['reference_seconds']:.1f} s", f"{measured:.1f} s", f"{suite.seconds:.1f} s", suite.executed(),
                     f"{100 * measured / suite.seconds:.0f} %", f"{report['estimate_seconds']:.1f} s",
                     f"{100 * (report['estimate_seconds'] / measured - 1):+.0f} %", f"{estimated[application]:.1f} s",
                     f"{100 * (estimated[application] / measured - 1):+.0f} %"))
    show("Table 8: running times by C4 (repaired), and its estimate before and after the clients were seen under faults",
         ("without faults", "faults", "total", "runs", "of it for faults", "estimate", "off by", "estimate after", "off by"), rows)
    print(f"  published (planning | faults | total): {PUBLISHED_TIMES}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", choices=BUGS)
    arguments = options.parse_args()
    problems, repaired, estimated, found = [], {}, {}, collections.defaultdict(dict)
    false_alarms = failures = 0
    for application in arguments.only or BUGS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            suite = Suite(application, [], folder / "repaired")
            repaired[application] = suite
            # The clients' retries and timeouts are known now.
            estimated[application] = Suite(application, [], folder / "repaired", "--estimate").report["estimate_seconds"]
            tell_of(application, "repaired", suite)
            false_alarms += sum(len(cluster["executions"]) for cluster in suite.clusters)
            if suite.code == 1 or suite.clusters:
                problems.append(f"{application}, repaired, is not silent:\n{suite.text}")
            for bug, (label, policies, where) in BUGS[application].items():
                suite = Suite(application, [bug], folder / bug)
                clusters = of_bug(suite, label, where)
                by = policies_of(suite, clusters) & policies
                tell_of(application, bug, suite, f"({label}; by {','.join(sorted(policies))}) found by {','.join(sorted(by)) or '-'}: ")
                found[application][bug] = (suite, clusters if by else [])
                failures += sum(len(cluster["executions"]) for cluster in suite.clusters)
                if not by or suite.code != 1:
                    problems.append(f"{application}: bug '{bug}' was not found:\n{suite.text}")
    show_bugs(BUGS, found)
    print(f"  false alarms: {false_alarms} of {failures + false_alarms} failures, {100 * false_alarms / max(1, failures + false_alarms):.2f} % "
          f"(published {PUBLISHED_FALSE_POSITIVES} %)")
    show_costs(repaired, estimated, found)
    print()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
