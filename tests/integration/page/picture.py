"""Writes the README's picture (`make picture`): the finding of the demonstration as its page shows it.

The application is explored in a folder of its own, so that the picture has no path of this checkout."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from browser import look  # noqa: E402
from conftest import FILIBUSTER, REPOSITORY  # noqa: E402

WIDTH, HEIGHT = 1200, 660
SHOT = """
await page.waitForSelector("text=What would mend it");
await page.screenshot({path: %r});
return await page.evaluate(() => document.body.innerText);
"""


def explored(folder):
    """The report of cinema-1 with its planted bug."""
    shutil.copytree(REPOSITORY / "corpus/cinema-1", folder)
    shutil.copy(REPOSITORY / "cli/python/filibuster_predicates.py", folder)
    run = subprocess.run([str(FILIBUSTER), "run", "-c", str(folder / "planted-bug.json"), "--root", str(folder / "root")],
                         cwd=folder, capture_output=True, text=True)
    assert run.returncode == 1, run.stdout + run.stderr
    return folder / "root/report.html"


def main(picture):
    folder = pathlib.Path("/tmp/cinema")  # the page shows it
    if folder.exists():
        sys.exit(f"{folder} is there already: remove it")
    try:
        seen = look(explored(folder), SHOT % str(pathlib.Path(picture).resolve()), width=WIDTH, height=HEIGHT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert not seen.errors and not seen.requests and "expected 503" in seen.result, vars(seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
