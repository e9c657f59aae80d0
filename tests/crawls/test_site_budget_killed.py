"""A budget of pages where a run is killed: the crawls are processes of their own."""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from jobs import SPIDER
from webs import site

PAGES = 30
DYING = SPIDER.replace(
    '        yield {"url": response.url}\n',
    """        self.parsed = getattr(self, "parsed", 0) + 1
        if self.parsed == DIES_AFTER:
            import os, signal
            os.kill(os.getpid(), signal.SIGKILL)
        yield {"url": response.url}
""",
)


@pytest.mark.slow
@pytest.mark.parametrize("after", [2, 12, 25])
@ensureDeferred
async def test_a_killed_run_counts_no_page_twice(webs, job, after):
    """What was in flight at its death is sent anew, and counted then."""
    web = site(webs, 60)
    limits = f'MANDELBOT_SITE_BUDGET={{"pages": {PAGES}}}'
    dying = DYING.replace("DIES_AFTER", str(after))
    await job.run([web.url + "/"], limits, spider=dying)
    log, _ = await job.run([web.url + "/"], limits)
    assert "Closing spider (budget_reached)" in log, log
    # an item of a page that was not settled at the death may be in the feed, too
    assert f"{61 - PAGES} left in the queue" in log, log
    log, _ = await job.run([web.url + "/"])
    assert "Closing spider (finished)" in log, log
    assert len(job.items()) == 61
