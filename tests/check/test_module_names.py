"""One run of pytest imports every test of a tree by its base name: a second module of that name is an error, and the run fails."""
import collections
import pathlib

TESTS = pathlib.Path(__file__).resolve().parents[1]


def test_each_module_of_tests_has_a_name_of_its_own():
    for tree in (TESTS / "integration", TESTS / "check"):
        paths = collections.defaultdict(list)
        for path in sorted(tree.rglob("test_*.py")):
            paths[path.name].append(str(path.relative_to(TESTS)))
        assert paths, f"no tests in {tree}"
        twice = [found for found in paths.values() if len(found) > 1]
        assert not twice, f"give each of these a name of its own: {twice}"
