"""Whatever the web sends, time is linear in its size, and short enough for a turn of
the loop.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import growth
from growth import Row, measuring, repeated
from growth.measuring import complaint, judged

MODULES = {
    module.name: importlib.import_module(f"growth.{module.name}")
    for module in pkgutil.iter_modules(growth.__path__)
    if module.name not in {"counting", "measuring", "own_files", "readers"}
    and not module.name.startswith("test_")
}
ROWS = [row for name in sorted(MODULES) for row in MODULES[name].ROWS]
ROOMS = {
    "dates": ["mandelbot.dates"],
    "preferences": [
        "mandelbot.preferences.in_pages:page_usage,stated_terms",
        "mandelbot.preferences.of_file:preference_lines,usage",
        "mandelbot.preferences.statements:Statement,Terms,Usage",
        "mandelbot.preferences.tdmrep:TdmFile,with_tdm_file",
    ],
    "robotstxt": [
        "mandelbot.findings:lint",
        "mandelbot.fix:normalize",
        "mandelbot.robotstxt.agents:header_text,product_tokens",
        "mandelbot.robotstxt.dialects:Dialect",
        "mandelbot.robotstxt.known_robots:known_robot_verdict",
        "mandelbot.robotstxt.paths:as_servers_read_it",
        "mandelbot.robotstxt.robots_txt:RobotsTxt",
        "mandelbot.robotstxt.verdict:Rule,Verdict",
        "mandelbot.robotstxt.records:Record,RecordProblem",
        "mandelbot.robotstxt.times:RequestRate,TimeWindow,rate_at",
    ],
    "sitemaps": ["mandelbot.sitemaps"],
    "sites": [
        *(
            "mandelbot.answers.inside",
            "mandelbot.origins",
            "mandelbot.answers.outcome",
            "scrapy_mandelbot.politeness.pace",
            "mandelbot.answers.retry_after",
        ),
        *(
            "scrapy_mandelbot.politeness.pause",
            "scrapy_mandelbot.politeness.pause_policy",
            "scrapy_mandelbot.politeness.rate_control",
            "scrapy_mandelbot.politeness.slow_limit_estimator",
            "scrapy_mandelbot.politeness.bot_blocks",
            "scrapy_mandelbot.politeness.faults",
            "scrapy_mandelbot.politeness.site_state",
        ),
    ],
    "tags": ["mandelbot.tags"],
}
NO_ROWS_YET = {"sitemaps", "tags"} - MODULES.keys()


# of a row's shapes one in so many is judged each time, of the next row other ones
EVERY = 20


def _some(row, first):
    shapes = list(row.shapes)
    return shapes[first % len(shapes) :: EVERY]


def _complaints(row, shapes):
    """Return by shape what is wrong with a row; those with which nothing is wrong are
    left out.
    """
    told = {shape: complaint(row, shape) for shape in shapes}
    return {shape: wrong for shape, wrong in told.items() if wrong is not None}


def _marks(row):
    """Leave what takes seconds to later runs, where another row judges the same
    function.
    """
    if not row.function.endswith(".normalize") or row.variant == "mandelbot":
        return []
    return [pytest.mark.slow if row.variant == "extended2" else pytest.mark.thorough]


@pytest.mark.parametrize(
    ("row", "first"),
    [
        pytest.param(row, number % EVERY, id=row.name, marks=_marks(row))
        for number, row in enumerate(ROWS)
    ],
)
def test_time_is_linear_in_some_of_what_is_sent(row, first):
    """Four times the input takes at most 6.8 times as long, and 100 KB no longer than
    the bound.
    """
    assert _complaints(row, _some(row, first)) == {}


@pytest.mark.thorough
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_time_is_linear_in_whatever_is_sent(row):
    """The same, of every shape."""
    assert _complaints(row, row.shapes) == {}


def test_some_of_it_leaves_out_no_row_and_no_file():
    """Each row is judged by some of its shapes each time, and each file by some of its
    rows.
    """
    judged = [_some(row, number % EVERY) for number, row in enumerate(ROWS)]
    assert all(judged)
    assert {shape for some in judged for shape in some} >= set(
        MODULES["robotstxt"].FILES
    )


@pytest.mark.parametrize(
    "package",
    [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(reason="no rows yet")] * (name in NO_ROWS_YET),
        )
        for name in ROOMS
    ],
)
def test_every_public_function_has_its_shapes(package):
    """A function that is added to a package's public names is measured, or is told why
    not.
    """
    module = MODULES.get(package)
    measured = {row.function for row in ROWS}
    exempt = getattr(module, "NOT_FROM_OUTSIDE", {})
    public = set(_public_functions(package))
    assert {name for name in public - measured if not _is_exempt(name, exempt)} == set()
    assert {name for name in measured if name.startswith(f"{package}.")} <= public
    assert {
        name for name in exempt if not any(_is_exempt(one, {name}) for one in public)
    } == set()


def _is_exempt(name, exempt):
    """Tell whether a function, or the class that it is a method of, is listed."""
    return name in exempt or name.rpartition(".")[0] in exempt


def _public_functions(package):
    for room in ROOMS[package]:
        module, _, chosen = room.partition(":")
        found = _public_names(importlib.import_module(module))
        for name, value in found:
            if chosen and name not in chosen.split(","):
                continue
            if inspect.isclass(value):
                members = {
                    member for member in dir(value) if not member.startswith("_")
                }
                for member in members - set(dir(value.__mro__[1])):
                    if not _is_field(value, member):
                        yield f"{package}.{name}.{member}"
            elif callable(value):
                yield f"{package}.{name}"


def _public_names(module):
    """Yield what a room or module gives to others: what it says it does, else what it
    defines.
    """
    for name in getattr(module, "__all__", vars(module)):
        value = getattr(module, name)
        if hasattr(module, "__all__") or (
            name[0] != "_" and getattr(value, "__module__", "") == module.__name__
        ):
            yield name, value


def _is_field(owner, member):
    """Tell whether a member holds a value as it was given: nothing is worked out."""
    value = inspect.getattr_static(owner, member)
    is_named = member in getattr(owner, "_fields", ())
    return (
        is_named
        or inspect.ismemberdescriptor(value)
        or not (
            callable(value)
            or isinstance(value, (property, classmethod, staticmethod))
            or hasattr(value, "__get__")
        )
    )


# The measure itself.


def test_a_quadratic_function_is_seen(clock, monkeypatch):
    """What takes four times as long at twice the size is complained of."""
    monkeypatch.setattr(measuring.time, "process_time", clock.now)

    def quadratic(body):
        clock.turn((len(body) / 1_000_000) ** 2)

    row = Row("f", quadratic, {"as": repeated(b"a")}, bound=10.0)
    assert "16.0 times as long" in complaint(row, "as")


def test_a_function_that_is_too_quick_at_first_is_seen_by_what_it_takes_then():
    """Of 0.9 ms nothing is said but that 14 ms are more than a few times as much."""
    row = Row("f", len, {}, bound=10.0)
    assert judged(row, {25_000: 0.0009, 100_000: 0.0144})
    assert judged(row, {25_000: 0.0001, 100_000: 0.0060}) is None
    assert judged(row, {25_000: 0.0020, 100_000: 0.0080}) is None


def test_a_slow_function_is_seen():
    """What is linear and takes longer than the bound is complained of; what does not is
    not.
    """

    def linear(body):
        for _ in range(10):
            sum(body)

    row = Row("f", linear, {"as": repeated(b"a")}, bound=0.0001)
    assert "for 100 KB" in complaint(row, "as")
    assert complaint(Row("f", linear, {"as": repeated(b"a")}, bound=1.0), "as") is None
