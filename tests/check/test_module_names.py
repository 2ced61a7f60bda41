"""Names of tests that only a later step of CI would find wrong. One run of pytest imports every test of a tree by its base name; the sanitizers
link the unit tests of many folders into one program, where a suite of googletest has a fixture everywhere or nowhere."""
import collections
import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[1]


def test_each_module_of_tests_has_a_name_of_its_own():
    for tree in (TESTS / "integration", TESTS / "check"):
        paths = collections.defaultdict(list)
        for path in sorted(tree.rglob("test_*.py")):
            paths[path.name].append(str(path.relative_to(TESTS)))
        assert paths, f"no tests in {tree}"
        twice = [found for found in paths.values() if len(found) > 1]
        assert not twice, f"give each of these a name of its own: {twice}"


def test_a_suite_of_unit_tests_has_a_fixture_everywhere_or_nowhere():
    forms = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in sorted((TESTS / "unit").rglob("*.cc")):
        for form, suite in re.findall(r"^(TEST|TEST_F)\((\w+),", path.read_text(), re.M):
            forms[suite][form].add(str(path.relative_to(TESTS)))
    assert forms
    mixed = {suite: [sorted(files) for files in found.values()] for suite, found in forms.items() if len(found) > 1}
    assert not mixed, f"give one of the suites another name: {mixed}"
