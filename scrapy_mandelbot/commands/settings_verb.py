"""The verb ``settings``: what is in force in a project, and from where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from scrapy_mandelbot.commands.call import Result
from scrapy_mandelbot.config import settings_in_force
from scrapy_mandelbot.robots.reports.terminal_text import columns, joined
from scrapy_mandelbot.robots.shown import without_credentials

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.call import Invocation

_ADDON = "scrapy_mandelbot.Addon"


def show_settings(job: Invocation) -> Result:
    """Tell of each setting, as a crawl would have it; a spider's own are not looked at."""
    settings = job.settings.copy()
    addon = load_object(_ADDON)
    if any(load_object(one) is addon for one in settings.getdict("ADDONS")):
        addon().update_settings(settings)
    rows = [
        {**row._asdict(), "value": _told(row.value), "old_name": row.old_name or None}
        for row in settings_in_force(settings)
    ]
    lines = []
    for name, value, source, old in ((*row.values(),) for row in rows):
        told = source if old is None else f"{source}, as {old}: write {name}"
        lines.append((str(name), repr(value), told))
    text = joined("  ".join(line).rstrip() for line in columns(lines))
    return Result(0, {"settings": rows}, text)


def _told(value: object) -> object:
    """Return a value as JSON has it, without passwords."""
    if isinstance(value, str):
        return without_credentials(value)
    return value if isinstance(value, int | float | list | dict | None) else str(value)
