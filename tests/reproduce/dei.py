"""The experiments with distributed execution indexes (dissertation section 7.2), beside what was published.

Table 7.1: the executions that the search needs when parts of the index are left out, with one connection error per
RPC. Fails where a number is not the published one, or not the one that the application's README derives for
Algorithm 2 as it is written (docs/execution-indexes.md says why the two differ where RPCs share an index).

Figure 7.2: the share of runs in which concurrent RPCs get each other's identifiers. It depends on the scheduler and
is printed only; with the payload in the index it must be 0.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FILIBUSTER = REPOSITORY / os.environ.get("BUILD", "build") / "bin" / "filibuster"
CORPUS = REPOSITORY / "corpus"

# Parts left out -> executions: (published, by Algorithm 2 as written).
TABLE = {
    "cinema-3": {(): (7, 7), ("count",): (4, 3), ("stack",): (7, 7)},
    "cinema-9": {(): (5, 5), ("count",): (5, 5), ("stack",): (5, 5), ("count", "stack"): (3, 3)},
    "cinema-10": {(): (6, 6), ("count",): (6, 6), ("stack",): (6, 6), ("count", "stack"): (6, 6),
                  ("path", "count", "stack"): (5, 4)},
}
COLUMNS = [(), ("count",), ("stack",), ("count", "stack"), ("path", "count", "stack")]

SIZES = [2, 4, 8, 16, 32, 64]
PUBLISHED_SHARES = {2: "44 %", 16: "80 %", 32: "96 %", 64: "98 %"}
RUNTIMES = {"Python": ("filibuster.json", []), "Node": ("node.json", []), "Java": ("java.json", [])}


class Failed(Exception):
    pass


def filibuster(verb, config, without, environment=None, options=()):
    """The report's only test; of a trace its RPCs."""
    with tempfile.TemporaryDirectory() as root:
        left_out = [word for part in without for word in ("--index-without", part)]
        run = subprocess.run([FILIBUSTER, verb, "--root", root, "-c", config, *left_out, *options],
                             env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=600)
        try:
            if verb == "trace":
                return json.loads(run.stdout.splitlines()[-1])["trace"]["rpcs"]
            (test,) = json.loads((pathlib.Path(root) / "report.json").read_text())["tests"]
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise Failed(f"{verb} of {config}: exit code {run.returncode}\n{run.stdout}{run.stderr}") from error
    return test


def executions(application, without, by_place):
    environment = {"FILIBUSTER_TELL_APART_BY_PLACE": "1"} if by_place else {}
    test = filibuster("run", CORPUS / application / "filibuster.json", without, environment,
                      ["--no-reduction", "--fault", "refused"])
    counts = test["counts"]
    # Also those whose planned RPC did not come ('abandoned'): they were run.
    runs = counts["executed"] + counts["abandoned"]
    if runs != 1 + counts["scheduled"]:
        raise Failed(f"{application} without {without} was not explored: {counts}")
    return runs


def title(without):
    return "no " + ", ".join(without) if without else "all parts"


def table_7_1():
    print("Table 7.1: executions, one connection error per RPC. measured/published (Algorithm 2 as written/derived)")
    widths = [max(len(title(column)), 15) for column in COLUMNS]
    print(f"{'':10}" + "".join(f"  {title(c):{w}}" for c, w in zip(COLUMNS, widths)))
    wrong = 0
    for application, row in TABLE.items():
        cells = []
        for column in COLUMNS:
            if column not in row:
                cells.append("-")
                continue
            published, derived = row[column]
            measured = executions(application, column, True)
            plain = executions(application, column, False)
            good = (measured, plain) == (published, derived)
            wrong += not good
            cells.append(f"{measured}/{published} ({plain}/{derived})" + ("" if good else " !"))
        print(f"{application:10}" + "".join(f"  {c:{w}}" for c, w in zip(cells, widths)), flush=True)
    return wrong


def rounds_of(config, without, n, rounds):
    """Of each round {identifier: argument}; an identifier is what tells the RPCs of one request apart."""
    rpcs_seen = filibuster("trace", CORPUS / "hello-world" / config, without,
                           {"HELLO_N": str(n), "HELLO_ROUNDS": str(rounds)}, ["--json"])
    of_parent = {}
    for rpc in rpcs_seen:
        if rpc["service"] == "world":
            of_parent.setdefault(rpc["parent"], []).append(rpc)
    out = []
    for parent, rpcs in of_parent.items():
        if not parent:
            raise Failed(f"{config}, {n} RPCs: {len(rpcs)} RPCs without a known cause")
        arguments = {}
        for rpc in rpcs:
            argument = int(re.search(r"name=(\d+)", rpc["path"])[1])
            shown = () if "payload" in without else (argument,)
            identifier = (tuple(rpc["stack"]) if "stack" not in without else (), *shown, rpc["count"])
            if arguments.setdefault(identifier, argument) != argument:
                raise Failed(f"{config}, {n} RPCs: two RPCs are {identifier}")
        out.append(arguments)
        if len(arguments) != n:
            raise Failed(f"{config}: a round has {len(arguments)} of {n} RPCs")
    if len(out) != rounds:
        raise Failed(f"{config}, {n} RPCs: {len(out)} of {rounds} rounds were seen")
    return out


def share(rounds, like):
    return f"{100 * sum(arguments != like for arguments in rounds) / len(rounds):3.0f} %"


def indexes(config, n, rounds):
    """{(round, argument): index}, the real indexes."""
    rpcs = filibuster("trace", CORPUS / "hello-world" / config, [],
                      {"HELLO_N": str(n), "HELLO_ROUNDS": str(rounds)}, ["--json"])
    number = {rpc["index"]: rpc["count"] for rpc in rpcs if rpc["service"] == "hello"}
    return {(number[rpc["parent"]], rpc["path"]): rpc["index"]
            for rpc in rpcs if rpc["service"] == "world"}


def figure_7_2(rounds):
    print(f"\nFigure 7.2: share of {rounds} runs with permuted identifiers, 2 threads (Node: one event loop).")
    print("Without the payload, compared with the first run / with the order of creation; with the payload.")
    print(f"{'RPCs':>5}  {'published':>9}" + "".join(f"  {runtime:>22}" for runtime in RUNTIMES))
    wrong = 0
    for n in SIZES:
        cells = []
        for config, without in RUNTIMES.values():
            off = rounds_of(config, [*without, "payload"], n, rounds)
            stack = next(iter(off[0]))[0]
            created = {(stack, k): k for k in range(1, n + 1)}
            on = rounds_of(config, without, n, rounds)
            permuted = share(on, on[0])
            wrong += permuted.strip() != "0 %"
            cells.append(f"{share(off, off[0])} / {share(off, created)}; {permuted.strip()}")
        print(f"{n:5}  {PUBLISHED_SHARES.get(n, '-'):>9}" + "".join(f"  {c:>22}" for c in cells), flush=True)
    first, second = (indexes("filibuster.json", SIZES[-1], 10) for _ in range(2))
    same = len(first) == 10 * SIZES[-1] and first == second
    print(f"two sessions of 10 runs of {SIZES[-1]} RPCs with the payload: indexes {'equal' if same else 'DIFFER'}")
    return wrong + (not same)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", choices=["table", "figure"])
    arguments = parser.parse_args()
    wrong = 0
    try:
        if arguments.only != "figure":
            wrong += table_7_1()
        if arguments.only != "table":
            wrong += figure_7_2(arguments.rounds)
    except Failed as failure:
        sys.exit(f"reproduce-dei: {failure}")
    if wrong:
        sys.exit(f"reproduce-dei: {wrong} figures are not as expected")


if __name__ == "__main__":
    main()
