"""``cache``: the copies of robots.txt files that a project keeps."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.layout import PLAIN, columns, counted, joined
from scrapy_mandelbot.politeness import is_fresh
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.stores import Copy

_HEAD = ("status", "bytes", "fetched (UTC)", "", "site")


def listed(
    store: str | None, copies: Iterable[tuple[str, Copy]], now: float, fresh_for: float
) -> dict[str, Any]:
    """Return what is kept: of each copy all but the file itself."""
    rows = [described(site, copy, now, fresh_for) for site, copy in copies]
    return {"store": store, "copies": rows}


def described(site: str, copy: Copy, now: float, fresh_for: float) -> dict[str, Any]:
    """Return a copy without its body."""
    return {
        "site": site,
        "url": copy.url,
        "status": copy.status,
        "bytes": len(copy.body),
        "fetched_at": datetime.fromtimestamp(copy.fetched_at, tz=timezone.utc).isoformat(),
        "fresh": is_fresh(now, copy.fetched_at, fresh_for),
        "etag": copy.etag,
        "last_modified": copy.last_modified,
    }


def whole(site: str, copy: Copy, now: float, fresh_for: float) -> dict[str, Any]:
    """Return a copy with its body as text; octets that are not UTF-8 are escaped."""
    return {
        **described(site, copy, now, fresh_for),
        "text": copy.body.decode("utf-8", "backslashreplace"),
    }


def list_text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return the list for a terminal."""
    rows = [
        (
            str(one["status"]),
            f"{one['bytes']:,}",
            one["fetched_at"][:16].replace("T", " "),
            "" if one["fresh"] else "stale",
            printable(one["site"]),
        )
        for one in report["copies"]
    ]
    if not rows:
        return "No copies are kept.\n"
    head, *cells = columns([_HEAD, *rows], right=frozenset({0, 1}))
    lines = [paint("dim", "  ".join(head)), *("  ".join(row) for row in cells)]
    return joined([*lines, "", f"{counted(len(rows), 'copy', 'copies')} in {report['store']}"])


def whole_text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return a copy for a terminal: what is known of it, and the file with its lines numbered."""
    fetched_at = report["fetched_at"][:16].replace("T", " ")
    stale = "" if report["fresh"] else ", stale"
    size = counted(report["bytes"], "byte")
    lines = [
        paint("strong", printable(report["url"] or report["site"])),
        f"  status {report['status']}, {size}, fetched {fetched_at} UTC{stale}",
    ]
    for name, value in (("ETag", report["etag"]), ("Last-Modified", report["last_modified"])):
        if value:
            lines.append(f"  {name}: {printable(value)}")
    body = report["text"].replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    if body:
        lines += ["", *(f"{n:>5}  {printable(t)}" for n, t in enumerate(body.split("\n"), start=1))]
    return joined(lines)
