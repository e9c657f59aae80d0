"""What a crawl has said of itself, per site."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class Pause:
    """A pause of a site; going on while resumed_at is None."""

    at: datetime
    reason: str
    resumed_at: datetime | None = None
    paused_for: float | None = None  # seconds


@dataclass
class SiteRecord:
    """What happened on one site."""

    robots_known: bool = False
    pages: list = field(default_factory=list)  # (time, URL)
    forbidden: list = field(default_factory=list)  # (URL, rule)
    pauses: list = field(default_factory=list)
    sitemaps: list = field(default_factory=list)
