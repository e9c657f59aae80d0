"""Whatever the web sends, time is linear in its size, and short enough for a turn of the loop."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import growth
from growth import Row, repeated
from growth.measuring import complaint

MODULES = {
    module.name: importlib.import_module(f"growth.{module.name}")
    for module in pkgutil.iter_modules(growth.__path__)
    if module.name not in {"measuring", "test_growth"}
}
ROWS = [row for name in sorted(MODULES) for row in MODULES[name].ROWS]
PACKAGES = ("politeness", "robotstxt", "sitemaps", "tags")
NO_ROWS_YET = {"sitemaps", "tags"} - MODULES.keys()


# All rows with one shape stand together: they share its inputs.
MEASURED = sorted(
    ((row, shape) for row in ROWS for shape in row.shapes),
    key=lambda pair: pair[1],
)


@pytest.mark.parametrize(
    ("row", "shape"),
    [pytest.param(row, shape, id=f"{row.name}: {shape}") for row, shape in MEASURED],
)
def test_time_is_linear_in_what_is_sent(row, shape):
    """Twice the input takes at most 2.6 times as long, and 100 KB no longer than the bound."""
    assert complaint(row, shape) is None


@pytest.mark.parametrize(
    "package",
    [
        pytest.param(name, marks=[pytest.mark.xfail(reason="no rows yet")] * (name in NO_ROWS_YET))
        for name in PACKAGES
    ],
)
def test_every_public_function_has_its_shapes(package):
    """A function that is added to a package's public names is measured, or is told why not."""
    module = MODULES.get(package)
    measured = {row.function for row in ROWS}
    exempt = getattr(module, "NOT_FROM_OUTSIDE", {})
    public = set(_public_functions(package))
    assert {name for name in public - measured if not _is_exempt(name, exempt)} == set()
    assert {name for name in measured if name.startswith(f"{package}.")} <= public
    assert {name for name in exempt if not any(_is_exempt(one, {name}) for one in public)} == set()


def _is_exempt(name, exempt):
    """Tell whether a function, or the class that it is a method of, is listed."""
    return name in exempt or name.rpartition(".")[0] in exempt


def _public_functions(package):
    module = importlib.import_module(f"scrapy_mandelbot.{package}")
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            members = {member for member in dir(value) if not member.startswith("_")}
            for member in members - set(dir(value.__mro__[1])):
                if not _is_field(value, member):
                    yield f"{package}.{name}.{member}"
        elif callable(value):
            yield f"{package}.{name}"


def _is_field(owner, member):
    """Tell whether a member holds a value as it was given: nothing is worked out."""
    value = inspect.getattr_static(owner, member)
    return inspect.ismemberdescriptor(value) or not (
        callable(value)
        or isinstance(value, (property, classmethod, staticmethod))
        or hasattr(value, "__get__")
    )


# The measure itself.


def test_a_quadratic_function_is_seen():
    """What takes four times as long at twice the size is complained of."""

    def quadratic(body):
        for start in range(0, len(body), 50):
            body.count(b"b", start)

    assert complaint(Row("f", quadratic, {"as": repeated(b"a")}, bound=10.0), "as")


def test_a_slow_function_is_seen():
    """What is linear and takes longer than the bound is complained of; what does not is not."""

    def linear(body):
        for _ in range(10):
            sum(body)

    row = Row("f", linear, {"as": repeated(b"a")}, bound=0.0001)
    assert "for 100 KB" in complaint(row, "as")
    assert complaint(Row("f", linear, {"as": repeated(b"a")}, bound=1.0), "as") is None
