"""In which order several processes run the tests."""

from __future__ import annotations

from types import SimpleNamespace

from slow_first import RECORD, Recording, SlowFirst, dealt

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
    piles = dealt(TESTS, SECONDS, hands=2)
    assert [[TESTS[at] for at in pile] for pile in piles] == [
        ["unknown.py::a", "slower.py::a"],
        ["slow.py::a", "slow.py::b", "slow.py::c", "quick.py::a", "quick.py::b"],
    ]


def test_a_slow_test_among_many_quick_ones_is_not_left_for_the_end():
    tests = ["quick.py::a", *(f"large.py::{number}" for number in range(50))]
    (pile,) = dealt(tests, {"large.py": 20.0, "quick.py": 1.0}, hands=1)
    assert tests[pile[-1]] == "quick.py::a"


class Process:
    """What the scheduler knows of a process that runs tests."""

    shutting_down = False
    gateway = SimpleNamespace(id="a process")

    def __init__(self):
        self.tests = []

    def send_runtest_some(self, tests):
        self.tests += tests


def test_each_process_is_given_its_own_pile(tmp_path):
    """However many tests it has: the slowest of each begin at once."""
    (tmp_path / RECORD).parent.mkdir()
    (tmp_path / RECORD).write_text("slow.py\t9.0\nmany.py\t8.0\n")
    tests = [f"many.py::{number}" for number in range(8)]
    tests += ["slow.py::a", "slow.py::b"]
    config = SimpleNamespace(rootpath=tmp_path, getvalue=lambda _: ["2*popen"])
    scheduler = SlowFirst(config)
    processes = [Process(), Process()]
    for process in processes:
        scheduler.add_node(process)
        scheduler.add_node_collection(process, tests)
    scheduler.schedule()
    assert [one.tests for one in processes] == [[8, 9], [0, 1, 2, 3, 4, 5, 6, 7]]


def test_the_order_stays_where_nothing_was_recorded():
    assert dealt(TESTS, {}, hands=1) == [[0, 1, 2, 3, 4, 5, 6]]


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
