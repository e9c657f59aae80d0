"""Network errors of a library, which Scrapy's handler for HTTP/2 passes on."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred

pytestmark = pytest.mark.usefixtures("loop_is_turned")

ProtocolError = type("ProtocolError", (Exception,), {"__module__": "h2.exceptions"})


class Breaks:
    """Stands nearest the download handler, and fails for a page as h2 does."""

    times = 1

    def __init__(self):
        self.left = self.times

    def process_request(self, request):
        if request.url.endswith("/page/1") and self.left:
            self.left -= 1
            raise ProtocolError("Invalid input in state CLOSED")


class BreaksForEver(Breaks):
    times = 1_000


@pytest.mark.parametrize(
    ("breaks", "others", "pages", "retries"),
    [
        (Breaks, {}, 3, 1),
        (BreaksForEver, {}, 2, 2),
        (Breaks, {"RETRY_ENABLED": False}, 2, None),
        # the project says what is retried
        (Breaks, {"RETRY_EXCEPTIONS": ["builtins.OSError"]}, 2, None),
    ],
)
@ensureDeferred
async def test_an_error_of_h2_is_retried_as_a_lost_connection(
    webs, breaks, others, pages, retries
):
    """As often as RETRY_TIMES says, unless the project names the exceptions."""
    web = webs()
    web.chain(2)
    settings = {"DOWNLOADER_MIDDLEWARES": {breaks: 990}, "RETRY_TIMES": 2, **others}
    crawled = await crawl(LinksSpider, settings, start_urls=[web.url])
    assert len(crawled.items) == pages
    assert crawled.stats.get("retry/count") == retries
