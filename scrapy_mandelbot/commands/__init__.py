"""What the package adds to the command ``scrapy``.

Scrapy loads ``robots`` on every call, whatever the call is for: importing it costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import _ArgumentGroup


def add_choices(group: _ArgumentGroup) -> None:
    """Add the options of check that say what counts."""
    group.add_argument(
        "--select",
        metavar="CODE",
        action="append",
        help="check: these findings alone; a code, or all of error, warning, note; may be repeated",
    )
    group.add_argument(
        "--ignore", metavar="CODE", action="append", help="check: all but these findings"
    )
    group.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        help="check, audit: what is no success, warnings too, if not said otherwise",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="check: the project's choices, else the nearest .robots-check.cfg",
    )
