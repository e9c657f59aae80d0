"""Robot tags in a crawl, in the meta: those of the page, and of no other."""

from __future__ import annotations

import pytest
import scrapy
from crawlers import get_crawler
from crawling import LinksSpider, crawl, ensureDeferred
from mandelbot import RobotTag, RobotTags
from scrapy.exceptions import NotConfigured
from tagged import OBEY, meta, page, paths, site, spider_of
from webs import Answer

from scrapy_mandelbot.spidermiddlewares.robot_tags import (
    ObeyingRobotTagsMiddleware,
    RobotTagsMiddleware,
)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, RobotTagsMiddleware),
        ({"MANDELBOT_ROBOT_TAGS": "annotate"}, RobotTagsMiddleware),
        ({"MANDELBOT_ROBOT_TAGS": "obey"}, ObeyingRobotTagsMiddleware),
        ({"MANDELBOT_NOFOLLOW_LINKS": True}, ObeyingRobotTagsMiddleware),
    ],
)
def test_requests_pass_a_middleware_only_where_a_setting_asks_for_it(
    make_crawler, settings, kind
):
    """The one that reads tags alone does not see what callbacks yield."""
    made = RobotTagsMiddleware.from_crawler(make_crawler(**settings))
    assert type(made) is kind


@ensureDeferred
async def test_by_default_tags_are_in_meta_and_nothing_is_dropped(webs):
    """Every response has its tags in meta; a page without has none there."""
    web = site(
        webs, {"/none": page("/none/below", head=meta("none")), "/plain": page()}
    )
    tags = {}

    class Spider(LinksSpider):
        start_urls = [web.url + "/"]

        def parse(self, response):
            tags[response.url.removeprefix(web.url)] = response.meta["robot_tags"]
            yield from super().parse(response)

    result = await crawl(Spider)

    assert paths(result, web) == ["/", "/none", "/none/below", "/plain"]
    assert tags["/none"].none
    assert tags["/none"].sources[0] == RobotTag("meta", "none", line=1)
    assert tags["/"] == tags["/plain"] == tags["/none/below"] == RobotTags()
    counted = {
        name: n
        for name, n in result.stats.items()
        if name.startswith("mandelbot/tags/")
    }
    assert counted == {
        f"mandelbot/tags/{name}": 1 for name in ("pages", "noindex", "nofollow")
    }


@ensureDeferred
async def test_off_is_off(webs):
    """Nothing is read."""
    web = site(webs, {"/none": page(head=meta("none"))})
    keys = set()

    class Spider(LinksSpider):
        start_urls = [web.url + "/"]
        custom_settings = {"MANDELBOT_ROBOT_TAGS": "off"}

        def parse(self, response):
            keys.update(response.meta)
            yield from super().parse(response)

    result = await crawl(Spider, OBEY)

    assert paths(result, web) == ["/", "/none"]
    assert "robot_tags" not in keys
    assert not any(name.startswith("mandelbot/tags/") for name in result.stats)


@ensureDeferred
async def test_copied_meta_has_no_tags_of_another_page(webs, tmp_path):
    """Tags that came with a request, from JOBDIR even, do not stay: nor on an error
    page.
    """
    web = site(webs, {"/none": page("/next", head=meta("none"))})
    web.pages["/next"] = page()
    web.pages["/gone"] = Answer(b"gone", 410)
    came = {}

    class Spider(scrapy.Spider):
        name = "copies"

        async def start(self):
            stale = {"robot_tags": RobotTags(noindex=True, nofollow=True)}
            yield scrapy.Request(web.url + "/none", meta=dict(stale))
            yield scrapy.Request(web.url + "/none/below", meta=dict(stale))
            yield scrapy.Request(
                web.url + "/gone", meta=dict(stale), errback=self.failed
            )

        def parse(self, response):
            came[response.url.removeprefix(web.url)] = response.meta["robot_tags"]
            if response.url.endswith("/none"):
                yield scrapy.Request(web.url + "/next", self.parse, meta=response.meta)
            yield {"url": response.url}

        def failed(self, failure):
            came["/gone"] = failure.value.response.meta["robot_tags"]

    result = await crawl(Spider, {"JOBDIR": str(tmp_path)})

    assert came.pop("/none").none
    assert came == dict.fromkeys(["/none/below", "/next", "/gone"], RobotTags())
    assert result.stats["scheduler/enqueued/disk"] == 4
    assert len(result.items) == 3


@ensureDeferred
async def test_tags_are_those_of_where_a_redirect_ends(webs):
    """A redirect's own tags are of no page, and redirects are followed whatever the
    tags.
    """
    web = site(webs, {"/from": Answer(b"", 302)})
    web.pages["/from"].headers.update({"Location": "/to", "X-Robots-Tag": "none"})
    web.pages["/to"] = page("/to/below", tag="nofollow")

    result = await crawl(spider_of(web), OBEY)

    assert paths(result, web) == ["/", "/to"]
    assert web.asked("/to/below") == 0
    assert result.stats["mandelbot/tags/pages"] == 1


@ensureDeferred
async def test_pages_that_robots_txt_forbids_have_no_tags(webs):
    """Nobody sees them; fetched all the same, they count.

    (Robots exclusion standard)
    """
    web = site(webs, {"/secret": page("/secret/below", head=meta("none"))})
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /secret\n")
    assert "mandelbot/tags/pages" not in (await crawl(spider_of(web), OBEY)).stats

    class Spider(LinksSpider):
        async def start(self):
            yield scrapy.Request(
                web.url + "/secret", meta={"dont_obey_robotstxt": True}
            )

    result = await crawl(Spider, OBEY)

    assert result.items == []
    assert result.stats["mandelbot/tags/pages"] == 1
    assert web.asked("/secret/below") == 0


@ensureDeferred
async def test_the_agent_is_the_one_that_robots_txt_is_read_for(webs):
    """ROBOTSTXT_USER_AGENT, else the request's User-Agent, else USER_AGENT."""
    web = webs()
    names = ("robotsbot", "requestbot", "settingsbot")
    tag = [
        f"{name}: max-snippet:{number}" for number, name in enumerate(names, start=1)
    ]
    web.pages["/"] = page(tag=tag)
    seen = []

    class Spider(scrapy.Spider):
        name = "agents"

        async def start(self):
            yield scrapy.Request(web.url + "/", dont_filter=True)
            headers = {"User-Agent": "Requestbot/2.0"}
            yield scrapy.Request(web.url + "/", headers=headers, dont_filter=True)

        def parse(self, response):
            seen.append(response.meta["robot_tags"].max_snippet)

    settings = {"USER_AGENT": "Settingsbot (+https://example.com)"}
    await crawl(Spider, settings)
    assert sorted(seen) == [2, 3]
    await crawl(Spider, {**settings, "ROBOTSTXT_USER_AGENT": ["Robotsbot"]})
    assert seen[2:] == [1, 1]


@pytest.mark.parametrize(
    "setting", [{"MANDELBOT_ENABLED": False}, {"MANDELBOT_ROBOT_TAGS": "off"}]
)
def test_switched_off_it_is_not_there(setting):
    """A middleware that does nothing costs something for each page."""
    crawler = get_crawler(settings_dict={"MANDELBOT_STORE": "memory", **setting})
    with pytest.raises(NotConfigured):
        RobotTagsMiddleware.from_crawler(crawler)


@ensureDeferred
async def test_switched_off_there_is_nothing(webs):
    """MANDELBOT_ENABLED = False: stock Scrapy."""
    web = site(webs, {"/none": page(head=meta("none"))})

    result = await crawl(spider_of(web), {**OBEY, "MANDELBOT_ENABLED": False})

    assert paths(result, web) == ["/", "/none"]
    assert "mandelbot/tags/pages" not in result.stats
