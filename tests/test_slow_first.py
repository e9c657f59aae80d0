"""In which order several processes run the tests."""

from __future__ import annotations

from types import SimpleNamespace

from slow_first import RECORD, Recording, dealt

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


def test_a_run_of_one_module_keeps_what_is_known_of_the_others(tmp_path):
    for name in ("old.py", "new.py", RECORD):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / RECORD).write_text("gone.py\t3.0\nnew.py\t9.0\nold.py\t2.0\n")
    recording = Recording(tmp_path)
    for duration in (0.5, 1.0):
        report = SimpleNamespace(nodeid="new.py::test_it", duration=duration)
        recording.pytest_runtest_logreport(report)
    recording.pytest_sessionfinish()
    assert (tmp_path / RECORD).read_text() == "new.py\t1.5\nold.py\t2.0\n"
