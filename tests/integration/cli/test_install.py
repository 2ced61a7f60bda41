"""`make install` leaves what the manual speaks of, under DESTDIR and PREFIX."""
import os
import subprocess

from conftest import BUILD, REPOSITORY

INSTALLED = """
    bin/filibuster bin/filibusterd lib/libfilibuster.so lib/filibuster/node.cjs
    share/filibuster/filibuster_predicates.py share/filibuster/filibuster.schema.json
    share/filibuster/schema/report.schema.json share/filibuster/schema/counterexample.schema.json
    share/filibuster/schema/events.schema.json share/filibuster/schema/baseline.schema.json
    share/man/man1/filibuster.1 share/man/man5/filibuster.json.5 share/man/man8/filibusterd.8
    share/doc/filibuster/README.md share/doc/filibuster/configuration.md share/doc/filibuster/LICENSE
""".split()


def test_everything_that_a_user_needs_is_installed(tmp_path):
    built = [str(BUILD / name) for name in ("bin/filibuster", "bin/filibusterd", "lib/libfilibuster.so")]
    relative = [os.path.relpath(path, REPOSITORY) for path in built]
    # What is built stays as it is (-o): only the rule of install itself is under test.
    subprocess.run(["make", "-s", "install", f"BUILD={BUILD}", f"DESTDIR={tmp_path}", "PREFIX=/opt/f",
                    *(word for path in built + relative for word in ("-o", path)),
                    "-o", "compile_commands.json"],
                   cwd=REPOSITORY, check=True, timeout=120)
    missing = [name for name in INSTALLED if not (tmp_path / "opt/f" / name).is_file()]
    assert not missing
    assert os.access(tmp_path / "opt/f/bin/filibuster", os.X_OK)
