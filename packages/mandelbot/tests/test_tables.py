"""A test for a table judges every row of it."""

from __future__ import annotations

import pytest
from tables import each_row


def test_all_rows_that_do_not_hold_are_listed():
    """By number and name; a row that is known to fail has to."""
    rows = [
        1,
        -2,
        pytest.param(-3, id="three"),
        pytest.param(-4, marks=pytest.mark.xfail),
    ]

    @each_row("number", [*rows, pytest.param(5, marks=pytest.mark.xfail)])
    def is_positive(number):
        assert number > 0

    with pytest.raises(AssertionError) as caught:
        is_positive()
    told = str(caught.value)
    assert told.startswith("3 of 5 rows do not hold:")
    assert "row 1, -2:" in told
    assert "row 2, three:" in told
    assert "row 4, 5:\nan xfail that passes" in told


@pytest.mark.parametrize("also", [3, 4])
@each_row(("one", "other"), [(1, 2), (2, 3)])
def test_fixtures_and_other_parameters_are_passed_on(one, other, also, tmp_path):
    """They are those of the test, the same for each row."""
    assert other - one == 1
    assert also > other - 1
    assert tmp_path.is_dir()
