"""What a job keeps of how its sites are to be asked: a run that goes on is as careful as the last.

Its pauses are in the store as well, for other crawls and for those without a job, but there a crash
costs the last second. Here they are committed at the end of the turn of the loop in which they
began, with what no other crawl needs: sections that are set aside, and that a site was on its way
back. All of it ends with a probe, be it over by now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import events
from scrapy_mandelbot.jobs.site_states import pauses_of, read_left, site_of_line, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scrapy_mandelbot.crawl import Crawl, KeptJob
    from scrapy_mandelbot.events import Event

IN_JOB = "site/"
"""What the names begin with under which a job has them."""
_CHANGES = {
    events.PAUSED,
    events.OVERHEARD,
    events.PROLONGED,
    events.RESUMED,
    events.RECOVERED,
    events.GIVEN_UP,
    events.SECTION_PAUSED,
    events.SECTION_PROLONGED,
    events.SECTION_RESUMED,
    events.SECTION_GIVEN_UP,
}


class KeptSites:
    """Keeps it of those sites that change.

    Args:
        job: keeps it.
        crawl: what is known of sites.
        save_soon: has the job committed at the end of this turn of the loop.
    """

    def __init__(self, job: KeptJob, crawl: Crawl, save_soon: Callable[[], None]) -> None:
        self._job = job
        self._crawl = crawl
        self._save_soon = save_soon
        self._changed: set[str] = set()
        crawl.events.listeners.append(self._hear)
        job.before_commits(self._keep)

    def restore(self, lines: Iterable[str]) -> None:
        """Go on with what the last run has left.

        Args:
            lines: names of those in which requests wait. Of other sites only pauses go on that are
                not over: nothing would end them.
        """
        now, waiting = self._crawl.now(), set(map(site_of_line, lines))
        for name, state in self._job.kept(IN_JOB).items():
            site = name.removeprefix(IN_JOB)
            pauses = [one for one in read_left(state) if site in waiting or one.until > now]
            for pause in pauses:
                self._crawl.throttle.take_over(site, pause)
            if not pauses:
                self._job.put(name, None)

    def _hear(self, event: Event, values: Mapping[str, Any]) -> None:
        if event in _CHANGES:
            self._changed.add(values["site"])
            self._save_soon()

    def _keep(self) -> None:
        for name in self._changed:
            site = self._crawl.sites.get(name)
            self._job.put(IN_JOB + name, None if site is None else written(pauses_of(site)) or None)
        self._changed.clear()
