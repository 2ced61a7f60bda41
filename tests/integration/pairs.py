"""Which values of a product `make test` runs; all of them run in `make test-all`, where those that do not stay are marked `whole`.

A table stands above the test whose arguments it names, and has one row for each set of values that stays:

    @pairs.pairwise("client, framing, transport", [("curl", "chunked", "tls"), ...])
    @pytest.mark.parametrize(...)
    def test_...(client, framing, transport)

`pairwise` wants each pair of values that the product has in some row, `each` wants each single value, and `only` wants nothing:
its values are examples of one kind. `id` names all arguments together, as pytest shows them in the brackets. A table is checked whenever
its file is collected: rows that are no values of the test are refused, and so is a new value that `pairwise` or `each` finds in no row.
"""
import itertools

import pytest


def table(names, rows, together):
    """`together`: of how many arguments the values have to stand together in some row."""
    return pytest.mark.stays([name.strip() for name in names.split(",")], [row if isinstance(row, tuple) else (row,) for row in rows], together)


def only(names, rows):
    return table(names, rows, 0)


def each(names, rows):
    return table(names, rows, 1)


def pairwise(names, rows):
    return table(names, rows, 2)


def values(item, names):
    """Of one test, the values of these arguments. What is no plain value stands in a table as its text."""
    found = [item.callspec.id if name == "id" else item.callspec.params[name] for name in names]
    return tuple(value if isinstance(value, (str, int, type(None))) else str(value) for value in found)


def combinations(rows, length):
    """Which values of `length` arguments stand together in a row, with the places of these arguments."""
    return {tuple((place, row[place]) for place in places)
            for row in rows for places in itertools.combinations(range(len(row)), min(length, len(row)))}


def select(items):
    """Marks each test that is in no row `whole`. Returns what is wrong with the tables, if all tests that have them are among these."""
    products = {}
    for item in items:
        for mark in item.iter_markers("stays"):
            names, rows, _ = mark.args
            found = values(item, names)
            products.setdefault((item.nodeid.split("[")[0], id(mark.args)), (mark, []))[1].append(found)
            if found not in rows:
                item.add_marker("whole")
    wrong = []
    for (test, _), (mark, found) in products.items():
        _, rows, length = mark.args
        wrong += [f"{test}: the table has a row {row} that is no set of values of the test" for row in rows if row not in found]
        wrong += [f"{test}: a row of the table stands there twice: {row}" for row in set(rows) if rows.count(row) > 1]
        wrong += [f"{test}: no row of the table has {' with '.join(str(value) for _, value in missing)}"
                  for missing in sorted(combinations(found, length) - combinations(rows, length), key=str) if length]
    return wrong


def pytest_addoption(parser):
    parser.addoption("--whole", action="store_true", help="also what `make test-all` runs and `make test` does not")


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the markers
def pytest_collection_modifyitems(config, items):
    """What is marked `whole` is left out, unless it is asked for by --whole, or named by its id."""
    named = any("::" in argument for argument in config.args)
    wrong = select(items)
    if wrong and not named:  # of a product that is named in part, the rest is not there
        raise pytest.UsageError("\n".join(wrong))
    if not named and not config.getoption("whole"):
        left_out = [item for item in items if item.get_closest_marker("whole")]
        items[:] = [item for item in items if not item.get_closest_marker("whole")]
        config.hook.pytest_deselected(items=left_out)
