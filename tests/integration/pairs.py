"""Which values of a product `make test` runs; all of them run in `make test-all`, where those that do not stay are marked `whole`.

A table stands above the test whose arguments it names, and has one row for each set of values that stays:

    @pairs.pairwise("client, framing, transport", [("curl", "chunked", "tls"), ...])
    @pytest.mark.parametrize(...)
    def test_...(client, framing, transport)

`pairwise` wants each pair of values that the product has in some row, `each` wants each single value, and `only` wants nothing:
its values are examples of one kind. `id` names all arguments together, as pytest shows them in the brackets. A table is checked whenever
its file is collected: a value that is new in a product never goes to `make test-all` unseen.
"""
import itertools

import pytest

MARK = "stays"


def only(names, rows):
    return pytest.mark.stays([name.strip() for name in names.split(",")], [row if isinstance(row, tuple) else (row,) for row in rows], 0)


def each(names, rows):
    return pytest.mark.stays(*only(names, rows).args[:2], 1)


def pairwise(names, rows):
    return pytest.mark.stays(*only(names, rows).args[:2], 2)


def values(item, names):
    """Of one test, the values of these arguments. What is no plain value stands in a table as its text."""
    found = [item.callspec.id if name == "id" else item.callspec.params[name] for name in names]
    return tuple(value if isinstance(value, (str, int, type(None))) else str(value) for value in found)


def combinations(rows, length):
    """Which values of `length` arguments stand together in a row, with the places of these arguments."""
    return {tuple((place, row[place]) for place in places)
            for row in rows for places in itertools.combinations(range(len(row)), min(length, len(row)))}


def select(items):
    """Marks each test that is in no row `whole`. Returns what is wrong with the tables of the files that were collected whole."""
    products = {}
    for item in items:
        for mark in item.iter_markers(MARK):
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
