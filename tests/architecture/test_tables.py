"""A test over a table fails with each row that fails."""

import pytest
from tables import each_row


def test_all_failing_rows_are_told():
    """The rows that fail are named, and the others run all the same."""
    ran = []

    @each_row(("number", "double"), [(1, 2), (2, 5), (3, 6), (4, 9)])
    def check(number, double):
        ran.append(number)
        assert number * 2 == double

    with pytest.raises(pytest.fail.Exception, match=r"2 of 4 rows:") as told:
        check()
    assert ran == [1, 2, 3, 4]
    assert "'number': 2" in str(told.value)
    assert "'number': 4" in str(told.value)
    assert "'number': 1" not in str(told.value)
