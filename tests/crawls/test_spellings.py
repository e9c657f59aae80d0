"""A forbidden page that a server serves for other spellings of its path, too."""

from __future__ import annotations

import pytest
import scrapy
from crawling import crawl, ensureDeferred
from webs import Answer

pytestmark = pytest.mark.usefixtures("loop_is_turned")
SPELLINGS = ["/x/../no", "/./no", "//no", "/%2e/no", "/x/%2E%2E/no?q=1"]


@ensureDeferred
@pytest.mark.parametrize("by", ["start", "redirect"])
async def test_no_spelling_of_a_forbidden_path_is_sent(webs, by):
    """Neither as a link nor as the target of a redirect."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /no\nAllow: /\n")
    for number, path in enumerate(SPELLINGS):
        web.pages[path] = Answer(b"forbidden")
        web.pages[f"/to/{number}"] = Answer(b"", 302, {"Location": web.url + path})
    web.pages["/yes/../fine"] = Answer(b"page")

    class Spider(scrapy.Spider):
        name = "spellings"

        async def start(self):
            yield scrapy.Request(web.url + "/yes/../fine")
            for number, path in enumerate(SPELLINGS):
                yield scrapy.Request(
                    web.url + (path if by == "start" else f"/to/{number}")
                )

        def parse(self, response):
            yield {"url": response.url}

    result = await crawl(Spider)

    assert [path for path in SPELLINGS if web.asked(path)] == []
    assert result.urls() == [web.url + "/yes/../fine"]
    # two are one page to the dupe filter
    seen = result.stats["mandelbot/requests/seen"]
    assert result.stats["mandelbot/requests/forbidden"] + seen == len(SPELLINGS)
