"""What each public pure function costs as its input grows: one module of rows a
package.

A module here that has ``ROWS`` is found by `test_growth.py`; to measure a package, add
a module::

    ROWS = (
        Row("tags.robot_tags", lambda page: robot_tags([], page, "bot"), {
            "one long word": repeated(b"a", b"<head><meta name="),
        }),
    )

A row is a function as its package's ``__all__`` names it, what calls it, and shapes of
input: what whoever writes the input may choose. A public function without a row fails a
test; one whose input comes from nobody outside is in its module's ``NOT_FROM_OUTSIDE``,
with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Shape = "Callable[[int], Any]"  # from a size in bytes to an input of about that size


@dataclass(frozen=True)
class Row:
    """One public function, and what may be given to it."""

    function: str
    """``package.name`` or ``package.Class.name``."""
    run: Callable[[Any], object]
    """Calls it with an input: this is what is timed."""
    shapes: Mapping[str, Callable[[int], Any]]
    """Each makes an input of about so many bytes."""
    variant: str = ""
    """What tells this row from another one of the same function."""
    prepare: Callable[[Any], Any] | None = None
    """Makes of a shape's input what `run` takes, untimed."""
    bound: float = 0.05
    """Seconds for 100 KB. What no crawl calls in a turn of its loop may have more."""

    @property
    def name(self) -> str:
        """Tell the row, for the name of a test."""
        return f"{self.function} ({self.variant})" if self.variant else self.function


def repeated(
    piece: bytes, head: bytes = b"", tail: bytes = b""
) -> Callable[[int], bytes]:
    """Return the shape of one piece again and again."""

    def make(size: int) -> bytes:
        return head + piece * (size // len(piece)) + tail

    return make


def numbered(template: bytes, head: bytes = b"") -> Callable[[int], bytes]:
    """Return the shape of a piece again and again, each with its number where a ``%d``
    is.
    """

    def make(size: int) -> bytes:
        pieces, left = [head], size
        places = template.count(b"%d")
        for number in count():
            pieces.append(template % ((number,) * places))
            left -= len(pieces[-1])
            if left <= 0:
                return b"".join(pieces)
        raise AssertionError("numbers do not end")

    return make
