"""Paths with placeholders, as feeds have them: ``%(name)s`` and ``%(time)s``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from scrapy_mandelbot.settings.values import SettingsError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def filled_in(
    setting: str, path: str, crawler: Crawler, *, time: str | None = None
) -> str:
    """Fill in the placeholders of a path that a setting names.

    `time`: what ``%(time)s`` stands for; None: the present time.

    Raises:
        SettingsError: nothing fills one of them.
    """
    if "%" not in path:
        return path
    spider = crawler.spider
    now = datetime.now(timezone.utc).replace(microsecond=0)
    values = {name: getattr(spider, name, None) for name in dir(spider)}
    values["time"] = now.isoformat().replace(":", "-") if time is None else time
    try:
        return path % values
    except (KeyError, TypeError, ValueError):
        takes = (
            "a path with placeholders such as %(name)s and %(time)s, or attributes of"
            " the spider"
        )
        raise SettingsError(setting, path, takes) from None
