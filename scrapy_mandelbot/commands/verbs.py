"""The verbs of the command, each with what does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.commands.audit_verb import audit
from scrapy_mandelbot.commands.cache_verb import look_at_copies
from scrapy_mandelbot.commands.check_verb import check
from scrapy_mandelbot.commands.fix_verb import fix
from scrapy_mandelbot.commands.job_verb import look_at_job
from scrapy_mandelbot.commands.ledger_verb import look_at_ledger
from scrapy_mandelbot.commands.sitemap_verb import list_sitemaps
from scrapy_mandelbot.commands.url_verbs import compare, explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.commands.job import Job, Result

VERBS: dict[str, Callable[[Job], Result]] = {
    "check": check,
    "fix": fix,
    "explain": explain,
    "compare": compare,
    "sitemaps": list_sitemaps,
    "cache": look_at_copies,
    "job": look_at_job,
    "ledger": look_at_ledger,
    "audit": audit,
}
