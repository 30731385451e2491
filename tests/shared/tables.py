"""Tests that run once for a whole table of rows."""

import functools
import inspect

import pytest


def each_row(names, rows):
    """Run a test for every row of a table; it fails with a line for each row that failed.

    Args:
        names: the arguments that a row gives, as ``pytest.mark.parametrize`` takes them.
        rows: values of these arguments; a value where there is one argument, else a tuple.
    """
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [(row,) if len(listed) == 1 else tuple(row) for row in rows]

    def decorate(test):
        @functools.wraps(test)
        def run(*arguments, **fixtures):
            failed = []
            for row in table:
                values = dict(zip(listed, row, strict=True))
                try:
                    test(*arguments, **fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - told with its row
                    failed.append(f"{values}\n  {type(error).__name__}: {error}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(table)} rows:\n" + "\n".join(failed))

        signature = inspect.signature(test)
        given = [each for name, each in signature.parameters.items() if name not in listed]
        run.__signature__ = signature.replace(parameters=given)
        del run.__wrapped__
        return run

    return decorate
