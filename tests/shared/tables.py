"""Tests that run once for a whole table of rows."""

import functools
import inspect

import pytest


def each_row(test, rows=None):
    """Run a test for every row of a table; it fails with a line for each row that failed.

    The table stands in the docstring of the test, below its first paragraph: a row a line, its
    cells parted by ``|``, for the last arguments of the test. Each cell is text; ``⏎`` is the end
    of a line in it. A line that begins with ``|`` goes on with the row above, one that begins with
    ``#`` is a comment. A table of other values is given: ``@each_row(("n", "sum"), [(1, 3)])``.

    Args:
        test: the test; or the arguments that a row gives, as ``pytest.mark.parametrize`` has them.
        rows: values of these arguments; a value where there is one argument, else a tuple.
    """
    if rows is None:
        table = read_table(inspect.getdoc(test).partition("\n\n")[2])
        return _run_for_each(test, _last_arguments(test, len(table[0])), table)
    names = [name.strip() for name in test.split(",")] if isinstance(test, str) else list(test)
    table = [(row,) if len(names) == 1 else tuple(row) for row in rows]
    return lambda decorated: _run_for_each(decorated, names, table)


def each_text(test):
    """Run a test for every text in its docstring, as :func:`each_row` does for rows.

    Texts are parted by ``|`` or stand in lines of their own; each is the test's last argument.
    """
    table = read_table(inspect.getdoc(test).partition("\n\n")[2])
    texts = [(text,) for row in table for text in row]
    return _run_for_each(test, _last_arguments(test, 1), texts)


def read_table(text):
    """Return the rows of a table in a text, each a list of cells; see :func:`each_row`."""
    rows = []
    for line in filter(None, map(str.strip, text.splitlines())):
        cells = [cell.strip().replace("⏎", "\n") for cell in line.split("|")]
        if line.startswith("|"):
            rows[-1] += cells[1:]
        elif not line.startswith("# "):
            rows.append(cells)
    return rows


def _last_arguments(test, number):
    return list(inspect.signature(test).parameters)[-number:]


def _run_for_each(test, names, table):
    @functools.wraps(test)
    def run(*arguments, **fixtures):
        failed = []
        for row in table:
            values = dict(zip(names, row, strict=True))
            try:
                test(*arguments, **fixtures, **values)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - told with its row
                failed.append(f"{values}\n  {type(error).__name__}: {error}")
        if failed:
            pytest.fail(f"{len(failed)} of {len(table)} rows:\n" + "\n".join(failed))

    signature = inspect.signature(test)
    given = [each for name, each in signature.parameters.items() if name not in names]
    run.__signature__ = signature.replace(parameters=given)
    del run.__wrapped__
    return run
