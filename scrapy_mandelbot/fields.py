"""What a field of a record says of itself: unit, how it adds up, and where it shows.

A class of records (``politeness/tally.py``, ``report/site_record.py``) declares each of
its fields in one place::

    @recorded
    class Tally:
        pages = field(0, "pages", json="pages", column=Column("PAGES", 10))

`recorded` leaves the initial value in the class, where it costs nothing, and the
declaration in ``FIELDS``. The sums of several sites, the report of a worker, the JSON,
the page and the table read ``FIELDS``: none of them names a field.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeVar

Value = TypeVar("Value")
Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., object])
Join = Callable[[Any, Any], Any]


class Fold(Enum):
    """How the values of two records become one."""

    SUM = "their sum"
    MOST = "the larger one"
    LEAST = "the smaller one"
    BY_KEY = "the sums of numbers by name"
    PART = "a record, field by field"
    SKETCH = "the sketch of the values of both"
    # Facts of one site, which the sum of several sites has not:
    ANY = "whether either is true"
    FIRST = "the first that is known"
    LAST = "the last that is known"
    SAMPLE = "a bounded list, or some numbers by name"
    # What stays with its record:
    NONE = ""


class Column(NamedTuple):
    """A column of a table of sites."""

    heading: str
    place: int
    """Columns stand in the order of their places: the most important is the first."""
    path: str = ""
    """What of the value it shows, such as ``cited``; empty: the value."""
    name: str = ""
    """The page's name of it; empty: as in the JSON."""
    where: str = ""
    """What has to be other than 0, beside `path`; empty: nothing."""
    shows_zero: bool = False
    """Whether a 0 is shown in the table at the end of a crawl."""


class Tile(NamedTuple):
    """A sum at the top of a report's page."""

    heading: str
    place: int
    kind: str = ""
    """``error``, ``warning`` or ``note`` if it is not 0: the page offers its sites."""


class Field:
    """What is known of a field."""

    __slots__ = (
        *("adds", "after", "column", "fold", "initial", "is_detailed", "is_left"),
        *("is_method", "joins", "json", "key", "kind", "name", "page", "takes_time"),
        *("tile", "unit"),
    )

    def __init__(  # noqa: PLR0913 -- what is known of a field
        self,
        initial: object,
        unit: str,
        fold: Fold,
        *,
        kind: type | None = None,
        key: type = str,
        json: str = "",
        after: str = "",
        column: Column | None = None,
        page: Sequence[Column] = (),
        tile: Tile | None = None,
        is_detailed: bool = False,
        is_left: bool = True,
        join: Join | None = None,
    ) -> None:
        self.name = ""
        self.initial = initial
        self.unit = unit
        """``requests``, ``s`` and so on; empty: it is no number."""
        self.fold = fold
        self.kind = type(initial) if kind is None else kind
        """The class of the value; of a sample, of what is in its list."""
        self.key = key
        """The class of the names, of numbers by name."""
        self.json = json
        """Its name in the JSON of a report; empty: it is not there."""
        self.after = after
        """The name there that it follows; empty: that of the field before it."""
        self.column = column
        """Its column in the table at the end of a crawl."""
        self.page = page
        """Its columns in the page's table of sites."""
        self.tile = tile
        """Its sum at the top of the page."""
        self.is_detailed = is_detailed
        """Whether the page shows it among the details of a site."""
        self.is_left = is_left
        """Whether the report of a worker has it.

        It has not what is known only where each request is recorded.
        """
        self.adds = _ADDED.get(fold)
        """Makes one value of those of two sites; None: their sum has none."""
        self.joins = join or _JOINED.get(fold, self.adds)
        """Makes one value of those of two records of one site; None: it has none."""
        self.is_method = False
        """Whether a method computes it."""
        self.takes_time = False
        """Whether that method takes the time."""

    def __repr__(self) -> str:
        return f"<Field {self.name}: {self.fold.name}, {self.unit or 'no unit'}>"

    def of(self, record: Any, now: float) -> Any:
        """Return its value in a record."""
        value = getattr(record, self.name)
        if not self.is_method:
            return value
        if self.takes_time:
            return value(now)
        return value()


def field(initial: Value, unit: str = "", fold: Fold = Fold.NONE, **more: Any) -> Value:
    """Declare a field of a class that is `recorded`; `more`: see `Field`."""
    declared: Any = Field(initial, unit, fold, **more)
    return declared  # type: ignore[no-any-return]  # the class has the initial value


def computed(unit: str = "", **more: Any) -> Callable[[Function], Function]:
    """Declare a value that a property or a method computes; `more`: see `Field`.

    It is in the JSON behind the field that is called `after` there.
    """
    about = Field(None, unit, Fold.NONE, is_left=False, **more)

    def declare(function: Function) -> Function:
        function.declared = about  # type: ignore[attr-defined]
        return function

    return declare


def recorded(made: Class) -> Class:
    """Collect the fields of a class by name, behind those of its base, in ``FIELDS``.

    They are in the order of the JSON.
    """
    fields: list[Field] = list(getattr(made, "FIELDS", {}).values())
    later: list[Field] = []
    for name, value in list(vars(made).items()):
        if isinstance(value, Field):
            value.name = name
            setattr(made, name, value.initial)
            fields.append(value)
            continue
        function: Any = value.fget if isinstance(value, property) else value
        about = getattr(function, "declared", None)
        if about is not None:
            about.name = name
            about.is_method = function is value
            about.takes_time = function.__code__.co_argcount > 1
            later.append(about)
    for about in later:
        _insert(fields, about)
    made.FIELDS = {one.name: one for one in fields}  # type: ignore[attr-defined]
    return made


def _insert(fields: list[Field], about: Field) -> None:
    place = len(fields)
    if about.after:
        place = [one.json for one in fields].index(about.after) + 1
    fields.insert(place, about)


def table(fields: Mapping[str, Field]) -> list[tuple[Field, Column]]:
    """Return the columns of the table at the end of a crawl, the first place first."""
    return _in_places(
        (one, one.column) for one in fields.values() if one.column is not None
    )


def page_table(fields: Mapping[str, Field]) -> list[tuple[Field, Column]]:
    """Return the columns of the page's table of sites, the first place first."""
    return _in_places((one, column) for one in fields.values() for column in one.page)


def tiles(fields: Mapping[str, Field]) -> list[tuple[Field, Tile]]:
    """Return the sums at the top of the page, the first place first."""
    return _in_places((one, one.tile) for one in fields.values() if one.tile)


def details(fields: Mapping[str, Field]) -> list[str]:
    """Return the names in the JSON of what the page's details of a site show."""
    names = (one.json for one in fields.values() if one.is_detailed)
    return sorted(names, key=str.upper)


def _in_places(shown: Iterable[tuple[Field, Any]]) -> list[tuple[Field, Any]]:
    return sorted(shown, key=_place)


def _place(shown: tuple[Field, Column | Tile]) -> int:
    return shown[1].place


def part(
    initial: Any, unit: str = "", fold: Fold = Fold.NONE, *, is_shown: bool = True
) -> Any:
    """Declare a field of a dataclass that is part of a record.

    `initial`: the value, or the class of a list or dict. `is_shown`: whether it is in
    the JSON of a report.
    """
    about = {"unit": unit, "fold": fold, "is_shown": is_shown}
    if isinstance(initial, type):
        return dataclasses.field(default_factory=initial, metadata=about)
    return dataclasses.field(default=initial, metadata=about)


def add_fields(mine: Any, its: Any, *, is_one_site: bool = False) -> None:
    """Add the fields of a record to another one, as their declarations say.

    `is_one_site`: both are of the same site, so that its facts and samples add up, too.
    What has its initial value adds nothing.
    """
    fields = mine.FIELDS
    for name, value in vars(its).items():
        about = fields.get(name)
        if about is None or not value:
            continue
        add = about.joins if is_one_site else about.adds
        if add is not None:
            setattr(mine, name, add(getattr(mine, name), value))


def _added_part(mine: Any, its: Any) -> Any:
    """Return the sums of two parts of records; `mine` may be None."""
    return _with_part(mine, its, _ADDED)


def _joined_part(mine: Any, its: Any) -> Any:
    """Return two parts of records of one site as one; `mine` may be None."""
    return _with_part(mine, its, {**_ADDED, **_JOINED})


def _with_part(mine: Any, its: Any, folds: Mapping[Fold, Join]) -> Any:
    whole = type(its)() if mine is None else mine
    for one in dataclasses.fields(its):
        add = folds.get(one.metadata.get("fold", Fold.NONE))
        if add is not None:
            value = add(getattr(whole, one.name), getattr(its, one.name))
            setattr(whole, one.name, value)
    return whole


def _by_key(mine: Mapping[Any, int], its: Mapping[Any, int]) -> dict[Any, int]:
    counts = dict(mine)
    for key, count in its.items():
        counts[key] = counts.get(key, 0) + count
    return counts


def _sketch(mine: Any, its: Any) -> Any:
    whole = type(its)() if mine is None else mine
    whole.merge(its)
    return whole


def _sample(mine: Any, its: Any) -> Any:
    if isinstance(its, Mapping):
        return _by_key(mine, its)
    return list(dict.fromkeys([*mine, *its]))


def _first(mine: Any, its: Any) -> Any:
    return its if mine is None else mine


def _last(_mine: Any, its: Any) -> Any:
    return its


_ADDED: Mapping[Fold, Join] = {
    Fold.SUM: operator.add,
    Fold.MOST: max,
    Fold.LEAST: min,
    Fold.BY_KEY: _by_key,
    Fold.PART: _added_part,
    Fold.SKETCH: _sketch,
}
"""Makes one value of those of two records, whatever their sites."""
_JOINED: Mapping[Fold, Join] = {
    Fold.ANY: operator.or_,
    Fold.FIRST: _first,
    Fold.LAST: _last,
    Fold.PART: _joined_part,
    Fold.SAMPLE: _sample,
}
"""Likewise, or instead, if both are of one site."""
