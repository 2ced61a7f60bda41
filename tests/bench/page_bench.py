#!/usr/bin/python3
"""What report.html costs a reader: the time until the first finding stands on the screen, and the memory of the page's process, in
Debian's Chromium. Measured for 20,000 executions of 30 RPCs with 1,000 findings, beside 100 executions of 30 RPCs with 50 findings (the
base), and the base again (the control). Every visit starts a browser of its own, so that nothing is cached.

    page_bench.py [--rounds N] [--build DIR]
Exit code 1 if a bound of docs/benchmarks.md is exceeded by the lower end of its interval.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"base": (100, 30, 50), "large": (20_000, 30, 1_000)}  # executions, RPCs, findings
BOUNDS = {"ms": 2000, "MB": 300}
# The clock is the page's own, which starts with the navigation. A frame after the one that has the headline, it is on the screen. The
# memory is read after the executions were read and the largest view was drawn.
VISIT = """
    await page.waitForFunction(() => document.querySelector('#headline'), null, {polling: 'raf'});
    const shown = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done(performance.now()))));
    await page.keyboard.press('4');
    await page.waitForFunction(() => location.hash.includes('executions') && document.querySelector('h2'));
    return {shown, bytes: memory()};
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    os.environ["BUILD"] = options.build
    sys.path += [str(REPOSITORY / "tests/integration"), str(REPOSITORY / "tests/integration/page")]
    import browser

    with tempfile.TemporaryDirectory() as folder:
        paths = {name: browser.make(pathlib.Path(folder) / f"{name}.html", *shape) for name, shape in PAGES.items()}
        for name, path in paths.items():
            print(f"{name}: {PAGES[name][0]} executions, {PAGES[name][1]} RPCs, {PAGES[name][2]} findings; a file of {path.stat().st_size / 1e6:.1f} MB")
        memory = {"base": [], "control": [], "large": []}

        def visit(name):
            seen = browser.look(paths["base" if name == "control" else name], VISIT).result
            memory[name].append(seen["bytes"] / 1e6)
            return seen["shown"]
        shown = stats.interleaved(["base", "control", "large"], options.rounds, visit)
        missed = False
        for unit, what, values in [("ms", "first finding", shown), ("MB", "private memory", memory)]:
            control = stats.compare(f"{what}, control", values["base"], values["control"])
            large = stats.compare(f"{what}, large", values["base"], values["large"])
            low, high = stats.bootstrap(values["large"])
            print(control.text(unit))
            print(large.text(unit, control))
            verdict = "missed" if low > BOUNDS[unit] else "met"
            missed |= verdict == "missed"
            print(f"{verdict}: {statistics.median(values['large']):.1f} {unit} [{low:.1f}, {high:.1f}], bound {BOUNDS[unit]} {unit}")
    if options.rounds < stats.MINIMUM_ROUNDS:
        print(f"{options.rounds} rounds are too few for a verdict")
    return missed


if __name__ == "__main__":
    sys.exit(main())
