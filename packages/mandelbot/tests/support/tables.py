"""One test for a table: it judges each row, and lists all that do not hold."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def each_row(
    names: str | tuple[str, ...], rows: Iterable[Any]
) -> Callable[[Callable], Callable]:
    """Pass each row to a test as ``pytest.mark.parametrize`` does, within one test.

    Collecting a test takes each worker longer than most rows take to judge. Fixtures of
    the test are the same for all rows.
    """
    names, rows = (names,) if isinstance(names, str) else names, list(rows)
    assert rows

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def judge(**fixtures: Any) -> None:
            wrong = {}
            for number, row in enumerate(rows):
                values, name, may_fail = _parts(row, len(names))
                error: BaseException | None = None
                try:
                    test(**dict(zip(names, values, strict=True)), **fixtures)
                except Exception as raised:  # noqa: BLE001 -- the other rows are judged, too
                    error = raised
                if may_fail is not (error is not None):
                    wrong[f"row {number}, {name}"] = error or AssertionError(
                        "an xfail that passes"
                    )
            if wrong:
                told = "\n\n".join(f"{name}:\n{error}" for name, error in wrong.items())
                message = (
                    f"{len(wrong)} of {len(rows)} rows do not hold:\n{told:.20000}"
                )
                raise AssertionError(message) from next(iter(wrong.values()))

        signature = inspect.signature(test)
        assert set(names) <= set(signature.parameters)
        others = [
            one for name, one in signature.parameters.items() if name not in names
        ]
        judge.__signature__ = signature.replace(
            parameters=[one.replace(kind=one.KEYWORD_ONLY) for one in others]
        )
        return judge

    return decorate


def _parts(row: Any, width: int) -> tuple[tuple, str, bool]:
    """Return the values of a row, its name, and whether it is known to fail."""
    if isinstance(row, type(pytest.param())):
        assert {mark.name for mark in row.marks} <= {"xfail"}, (
            "any other is for parametrize"
        )
        values, name, may_fail = row.values, row.id, bool(row.marks)
    else:
        values, name, may_fail = row if width > 1 else (row,), None, False
    return values, name or ", ".join(map(_shown, values)), may_fail


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
