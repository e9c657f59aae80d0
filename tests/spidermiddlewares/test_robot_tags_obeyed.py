"""Robot tags in a crawl, obeyed when asked to: what a page forbids is dropped, and
nothing else.
"""

from __future__ import annotations

import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from mandelbot import RobotTag
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from tagged import OBEY, meta, page, paths, site, spider_of
from webs import Answer

PAST, FUTURE = "25 Jun 2010 15:00:00 PST", "Tue, 25 Jun 2999 15:00:00 PST"


class EveryPage(LinksSpider):
    """An item for each response, and a request for the page below it."""

    def parse(self, response):
        yield {"url": response.url}
        if response.url.count("/") == 3 and not response.url.endswith("/"):
            yield scrapy.Request(response.url + "/below", self.parse)
        elif response.url.endswith("/"):
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link, self.parse)


@ensureDeferred
async def test_each_directive_acts(webs):
    """nofollow drops requests, noindex items, none both, in headers and pages, and no
    other.
    """
    acts = {
        # what the page says: is there an item of it, and is the page below it fetched
        "noindex": (False, True),
        "nofollow": (True, False),
        "none": (False, False),
        "noindex, nofollow": (False, False),
        f"unavailable_after: {PAST}": (False, True),
        f"unavailable_after: {FUTURE}": (True, True),
        "noindex, indexifembedded": (False, True),
        "noarchive, nosnippet, max-snippet:0": (True, True),
        "all": (True, True),
        "examplebot: none": (False, False),
        "otherbot: none": (True, True),
    }
    pages, expected = {}, {}
    for number, (tag, outcome) in enumerate(acts.items()):
        name, _, content = tag.rpartition("bot: ")
        pages[f"/header{number}"] = page(tag=tag)
        pages[f"/meta{number}"] = page(
            head=meta(content, f"{name}bot" if name else "robots")
        )
        pages[f"/pdf{number}"] = Answer(
            b"%PDF-1.7 <meta name=robots content=none>",
            headers={"Content-Type": "application/pdf", "X-Robots-Tag": tag},
        )
        pages[f"/image{number}"] = Answer(
            b"\x89PNG\r\n\x1a\n\0\0\0",
            headers={"Content-Type": "image/png", "X-Robots-Tag": tag},
        )
        expected.update(
            {f"/{kind}{number}": outcome for kind in ("header", "meta", "pdf", "image")}
        )
    web = site(webs, pages)

    result = await crawl(EveryPage, OBEY, start_urls=[web.url + "/"])

    items = set(paths(result, web))
    found = {path: (path in items, web.asked(f"{path}/below") == 1) for path in pages}
    assert found == expected
    no_items = sum(not item for item, _ in expected.values())
    no_requests = sum(not requests for _, requests in expected.values())
    assert result.stats["mandelbot/tags/items_dropped"] == no_items
    assert result.stats["mandelbot/tags/requests_dropped"] == no_requests
    assert result.stats["mandelbot/tags/unavailable"] == 4
    assert result.stats["mandelbot/tags/nofollow"] == no_requests
    assert result.stats["mandelbot/tags/noindex"] == no_items - 4
    assert result.stats["mandelbot/tags/pages"] == 4 * (len(acts) - 1)
    assert len(result.signals("output_dropped")) == no_items + no_requests


@ensureDeferred
async def test_dropped_output_is_logged_counted_and_signalled(webs):
    """A debug line and a signal say what, whose, and the tag with where it stood."""
    web = webs()
    head = '\n<meta charset="utf-8">\n' + meta("nofollow", "examplebot")
    web.pages["/"] = page("/next", head=head, tag=["max-snippet:5", "noindex"])
    dropped = []

    class Spider(LinksSpider):
        start_urls = [web.url + "/"]

        def output_dropped(self, response, output, tag):
            dropped.append((response.url, output, tag))

    result = await crawl(Spider, OBEY)

    url = web.url + "/"
    by_header = RobotTag("header", "noindex")
    by_meta = RobotTag("meta", "nofollow", agent="examplebot", line=3)
    assert [
        (one["output"], one["tag"]) for one in result.signals("output_dropped")
    ] == [
        ({"url": url, "status": 200}, by_header),
        (dropped[1][1], by_meta),
    ]
    assert [(at, tag) for at, _, tag in dropped] == [(url, by_header), (url, by_meta)]
    assert dropped[1][1].url == web.url + "/next"
    start = "Dropped by robot tags: "
    tag = 'nofollow in <meta name="examplebot"> on line 3'
    assert result.logged(start) == [
        f"{start}item (<200 {url}>: X-Robots-Tag: noindex)",
        f"{start}<GET {web.url}/next> (<200 {url}>: {tag})",
    ]


@ensureDeferred
async def test_a_request_may_be_exempt(webs):
    """By its key, a page's tags are not obeyed, or a single request is not dropped."""
    web = webs()
    pages = {
        path: page(path + "/below", head=meta("none")) for path in ("/a", "/b", "/c")
    }
    web.pages.update(pages)
    web.pages.update({path + "/below": page() for path in pages})

    class Spider(LinksSpider):
        async def start(self):
            yield scrapy.Request(web.url + "/a", meta={"dont_obey_robot_tags": True})
            yield scrapy.Request(web.url + "/b", self.parse_b)
            yield scrapy.Request(web.url + "/c")

        def parse_b(self, response):
            yield {"url": response.url}
            exempt = {"dont_obey_robot_tags": True}
            yield scrapy.Request(response.url + "/below", self.parse, meta=exempt)

    result = await crawl(Spider, OBEY)

    assert paths(result, web) == ["/a", "/a/below", "/b/below"]


@ensureDeferred
async def test_a_nofollow_page_may_request_itself_again(webs):
    """A request for the page itself follows no link: a spider shown a login tries
    again.
    """
    web = webs()
    answers = [page("/x", head=meta("none"), tag="none"), page()]
    web.pages["/"] = lambda _: answers.pop(0)

    class Spider(scrapy.Spider):
        name = "again"
        start_urls = [web.url + "/"]

        def parse(self, response):
            yield {"url": response.url}
            if response.meta["robot_tags"].none:
                yield response.request.replace(dont_filter=True)

    result = await crawl(Spider, OBEY)

    assert web.asked("/") == 2
    assert paths(result, web) == ["/"]


@ensureDeferred
async def test_callbacks_of_every_kind(webs):
    """The tags apply equally to a generator, an async generator, a coroutine and a
    list.
    """
    kinds = ("generator", "async_generator", "coroutine", "function", "nothing")
    web = site(
        webs, {f"/{kind}": page(head=meta("noindex, nofollow")) for kind in kinds}
    )

    class Spider(scrapy.Spider):
        name = "kinds"

        async def start(self):
            yield {"url": web.url + "/start"}
            for kind in kinds:
                yield scrapy.Request(f"{web.url}/{kind}", getattr(self, kind))

        def output(self, response):
            return [
                {"url": response.url},
                response.follow(response.url + "/below"),
                None,
            ]

        def generator(self, response):
            yield from self.output(response)

        async def async_generator(self, response):
            for one in self.output(response):
                yield one

        async def coroutine(self, response):
            return self.output(response)

        def function(self, response):
            # it may be changed, and is obeyed all the same
            del response.meta["robot_tags"]
            return self.output(response)

        def nothing(self, response):
            return None

    result = await crawl(Spider, OBEY)

    assert paths(result, web) == ["/start"]
    assert not any(web.asked(f"/{kind}/below") for kind in kinds)
    assert result.stats["mandelbot/tags/items_dropped"] == 4
    assert result.stats["mandelbot/tags/requests_dropped"] == 4
    assert "spider_exceptions/count" not in result.stats


@ensureDeferred
async def test_tags_apply_to_what_other_middlewares_add(webs):
    """They stand between the spider and us."""
    web = site(webs, {"/x": page(head=meta("none"))})

    class Adding:
        async def process_spider_output(self, response, result):
            assert "robot_tags" in response.meta
            async for one in result:
                yield one
            yield {"url": response.url + "#added"}

    settings = {**OBEY, "SPIDER_MIDDLEWARES": {Adding: 543}}
    result = await crawl(spider_of(web), settings)

    assert paths(result, web) == ["/", "/#added"]


@ensureDeferred
async def test_nofollow_links_are_followed_by_default(webs):
    """With the option, a URL is dropped if every link to it on the page is
    rel="nofollow".
    """
    links = (
        *('<a href="/plain">x</a>', "<a rel=nofollow href='/never'>x</a>"),
        '<a href="never#again" rel="noopener NoFollow">x</a>',
        '<a href=" /twice?b=2&amp;a=1#x" rel="ugc NOFOLLOW">x</a>',
        '<a href="/twice?a=1&b=2">x</a>',
        *(
            '<area href="/area" rel="nofollow">',
            '<a rel="x-nofollow" href="/other">x</a>',
        ),
        '<a rel="nofollow" href="//[x">no URL</a>',
    )
    web = webs()
    web.pages["/"] = page(*links)
    for path in ("/plain", "/never", "/twice?b=2&a=1", "/area", "/other"):
        web.pages[path] = page()

    class Spider(CrawlSpider):
        name = "rules"
        start_urls = [web.url + "/"]
        rules = [Rule(LinkExtractor(tags=("a", "area")), callback="parse_page")]

        def parse_page(self, response):
            return {"url": response.url}

    everything = ["/area", "/never", "/other", "/plain", "/twice?b=2&a=1"]
    assert paths(await crawl(Spider), web) == everything

    result = await crawl(
        Spider, {"MANDELBOT_NOFOLLOW_LINKS": True, "MANDELBOT_ROBOT_TAGS": "off"}
    )
    assert paths(result, web) == ["/other", "/plain", "/twice?b=2&a=1"]
    assert result.stats["mandelbot/tags/links_dropped"] == 3
    assert {one["tag"] for one in result.signals("output_dropped")} == {
        RobotTag("link", "nofollow")
    }
    assert result.logged("Dropped by robot tags")[0].endswith(
        f'(<200 {web.url}/>: rel="nofollow" on every link to it)'
    )


@ensureDeferred
async def test_a_form_is_no_link(webs):
    """Only a GET is taken for the following of a link, and a page may be exempt."""
    web = webs()
    web.pages["/"] = page('<a rel="nofollow" href="/form">x</a>')
    web.pages["/exempt"] = page('<a rel="nofollow" href="/get">x</a>')
    web.pages["/form"] = web.pages["/get"] = page()

    class Spider(LinksSpider):
        async def start(self):
            yield scrapy.Request(web.url + "/", self.parse_front)
            yield scrapy.Request(
                web.url + "/exempt", meta={"dont_obey_robot_tags": True}
            )

        def parse_front(self, response):
            yield scrapy.Request(web.url + "/form", self.parse, method="POST")

    result = await crawl(Spider, {"MANDELBOT_NOFOLLOW_LINKS": True})

    assert paths(result, web) == ["/exempt", "/form", "/get"]
