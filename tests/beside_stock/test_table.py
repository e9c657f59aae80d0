"""The table of the cells in the documentation, and what it has to have."""

from __future__ import annotations

from collections import Counter

import shown
import table
from cells import CELLS
from pages import page


def test_the_documented_table_has_all_cells():
    """Their names, what they say, and what they allow, in their order."""
    rows = [(row[0], row[1], row[5]) for row in table.read()]
    assert rows == [(cell.name, cell.about, table.reason(cell)) for cell in CELLS]


def test_the_documented_table_says_where_the_addon_is_worse():
    """Only where a cell says why."""
    worse = {row[0] for row in table.read() if row[4] == "worse"}
    assert worse == {cell.name for cell in CELLS if cell.worse}


def test_the_page_shows_where_the_addon_differs():
    """``python tests/beside_stock/shown.py`` writes its table."""
    rows = table.read()
    _header, *of_page = shown.shown(rows)
    assert shown.read(shown.SHOWN) == of_page
    assert shown.COUNTED.findall(page("compare")) == [shown.counted(rows)]


def test_each_cell_has_a_name_of_its_own():
    """The name selects its test."""
    assert max(Counter(cell.name for cell in CELLS).values()) == 1


def test_there_are_many_cells():
    """Fewer would leave out a kind of site, fault, plugin or setting."""
    assert len(CELLS) >= 150


def test_what_is_allowed_has_a_reason():
    """No bound is loosened without one."""
    unexplained = [
        cell.name for cell in CELLS if (cell.waits or cell.requests) and not cell.why
    ]
    assert not unexplained
