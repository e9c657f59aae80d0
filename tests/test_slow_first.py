"""In which order several processes run the tests."""

from __future__ import annotations

from slow_first import dealt

SECONDS = {"slow.py": 9.0, "slower.py": 60.0, "quick.py": 1.0}
TESTS = [
    "quick.py::a",
    "quick.py::b",
    "slow.py::a",
    "slow.py::b",
    "slow.py::c",
    "unknown.py::a",
    "slower.py::a",
]


def test_each_process_begins_with_its_slowest_module_and_modules_stay_together():
    order = [TESTS[at] for at in dealt(TESTS, SECONDS, hands=2)]
    assert order == [
        "slower.py::a",
        "slow.py::a",
        "slow.py::b",
        "slow.py::c",
        "quick.py::a",
        "quick.py::b",
        "unknown.py::a",
    ]


def test_the_order_stays_where_nothing_was_recorded():
    assert dealt(TESTS, {}, hands=1) == [0, 1, 2, 3, 4, 5, 6]
