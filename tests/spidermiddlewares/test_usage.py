"""Usage preferences in a crawl: reported, obeyed, recorded."""

from __future__ import annotations

import gzip
import json

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from mandelbot.preferences.statements import Usage
from webs import Answer

AGENT = {"USER_AGENT": "Examplebot/1.0 (+https://example.com)"}
ROBOTS = b"""\
License: https://example.com/license.xml
User-agent: *
Disallow: /never
Content-Usage: /usage-no train-ai=n, search=y
Content-Usage: /usage-yes train-ai=y

User-agent: GPTBot
Disallow: /token
"""
TDMREP = b'[{"location": "/tdm-file", "tdm-reservation": 1, "tdm-policy": "https://e.example/p"}]'


def page(head: str = "", **headers: str) -> Answer:
    kind = {"Content-Type": "text/html; charset=utf-8"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(
        f"<html><head>{head}</head><body>x</body></html>".encode(), headers=kind | named
    )


PAGES = {
    "/plain": page(),
    "/usage-no": page(),
    "/usage-yes": page(),
    "/usage-header": page(Content_Usage="train-ai=n"),
    "/signal-header": page(Content_Signal="ai-train=no, search=yes"),
    "/tdm-file": page(),
    "/tdm-header": page(tdm_reservation="1"),
    "/tdm-meta": page('<meta name="tdm-reservation" content="1">'),
    "/noai": page('<meta name="robots" content="noai">'),
    "/noml": page(X_Robots_Tag="noml"),
    "/noimageai": page(X_Robots_Tag="noimageai"),
    "/token": page(),
    "/license": page(Link='<https://e.example/l>; rel="license"'),
    "/search-no": page(Content_Signal="search=no"),
}
"""All six kinds of statement: Content-Usage, Content-Signal, TDMRep, tags, licences,
tokens.
"""
REFUSED_BEFORE = {"/usage-no", "/tdm-file", "/token"}
REFUSED = {
    "train-ai": {
        *REFUSED_BEFORE,
        *(
            "/usage-header",
            "/signal-header",
            "/tdm-header",
            "/tdm-meta",
            "/noai",
            "/noml",
        ),
    },
    "search": {"/search-no"},
    "tdm": {"/tdm-file", "/tdm-header", "/tdm-meta"},
    "ai-input": set(),
}


class EveryPage(LinksSpider):
    """Asks for every page, and keeps what is said of it."""

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, self.parse)

    def parse(self, response):
        usage = response.meta.get("usage")
        yield {"url": response.url, "answers": usage.answers if usage else None}


def site(webs, *, tdmrep: bytes | None = TDMREP):
    web = webs()
    web.pages.update(PAGES)
    web.pages["/robots.txt"] = Answer(ROBOTS, headers={"Content-Type": "text/plain"})
    if tdmrep is not None:
        web.pages["/.well-known/tdmrep.json"] = Answer(
            tdmrep, headers={"Content-Type": "application/json"}
        )
    return web


async def crawled(web, **settings):
    urls = [web.url + path for path in PAGES]
    return await crawl(EveryPage, AGENT | settings, start_urls=urls)


def paths(result, web) -> set[str]:
    return {item["url"].removeprefix(web.url) for item in result.items}


@pytest.mark.parametrize("purpose", REFUSED)
@ensureDeferred
async def test_items_are_kept_and_dropped_by_purpose(webs, purpose):
    """Of each page whose use is refused, and of no other; what is refused before is not
    asked.
    """
    web = site(webs)
    result = await crawled(web, MANDELBOT_PURPOSE=purpose, MANDELBOT_USAGE="obey")
    assert paths(result, web) == PAGES.keys() - REFUSED[purpose]
    # The file is asked for where it speaks of the purpose, and once.
    assert web.asked("/.well-known/tdmrep.json") == (purpose in {"train-ai", "tdm"})
    before = REFUSED_BEFORE & REFUSED[purpose]
    assert {path for path in PAGES if not web.asked(path)} == before
    stats = result.stats
    assert stats.get("mandelbot/usage/requests_dropped", 0) == len(before)
    assert stats.get("mandelbot/usage/items_dropped", 0) == len(
        REFUSED[purpose] - before
    )
    assert len(result.signals("usage_disallowed")) == len(REFUSED[purpose])


@ensureDeferred
async def test_annotate_fills_meta_and_drops_nothing(webs):
    """Every page has its usage in the meta, with each statement and where it stood;
    stats count.

    Once, at the end, a warning says how many items are kept though their owners refuse
    the use.
    """
    web = site(webs)
    result = await crawled(
        web, MANDELBOT_PURPOSE=["train-ai"], MANDELBOT_USAGE="annotate"
    )
    answers = {
        item["url"].removeprefix(web.url): item["answers"]["train-ai"]
        for item in result.items
    }
    assert answers.keys() == PAGES.keys()
    assert {path for path, said in answers.items() if said == "disallowed"} == REFUSED[
        "train-ai"
    ]
    assert {path for path, said in answers.items() if said == "allowed"} == {
        "/usage-yes"
    }
    assert result.stats["mandelbot/usage/pages"] == len(PAGES)
    assert result.stats["mandelbot/usage/disallowed"] == len(REFUSED["train-ai"])
    assert result.stats["mandelbot/usage/allowed"] == 1
    assert (
        result.stats["mandelbot/usage/unknown"]
        == len(PAGES) - len(REFUSED["train-ai"]) - 1
    )
    # the licence is of all pages
    assert result.stats["mandelbot/usage/terms"] == len(PAGES)
    assert result.stats["mandelbot/usage/items_against"] == len(REFUSED["train-ai"])
    (told,) = result.logged("Kept ")
    assert told.startswith(
        f"Kept {len(REFUSED['train-ai'])} items of pages whose owners disallow"
    )
    assert not result.signals("usage_disallowed")


@ensureDeferred
async def test_a_purpose_alone_is_obeyed(webs):
    """To keep what owners refuse has to be asked for."""
    web = site(webs)
    result = await crawled(web, MANDELBOT_PURPOSE="train-ai")
    assert paths(result, web) == PAGES.keys() - REFUSED["train-ai"]
    assert not result.logged("Kept ")


@ensureDeferred
async def test_without_a_purpose_no_meta_stats_or_requests(webs):
    """No meta key, no stat, no file asked for."""
    web = site(webs)
    result = await crawled(web, MANDELBOT_USAGE="obey")
    assert paths(result, web) == PAGES.keys()
    assert all(item["answers"] is None for item in result.items)
    ours = ("mandelbot/usage",)
    assert not [stat for stat in result.stats if stat.startswith(ours)]
    assert not web.asked("/.well-known/tdmrep.json")


@ensureDeferred
async def test_items_of_unknown_use_can_be_dropped(webs):
    """With MANDELBOT_USAGE_UNKNOWN = "drop" only what is allowed is kept; it is asked
    for first.
    """
    web = site(webs)
    result = await crawled(
        web,
        MANDELBOT_PURPOSE="train-ai",
        MANDELBOT_USAGE="obey",
        MANDELBOT_USAGE_UNKNOWN="drop",
    )
    assert paths(result, web) == {"/usage-yes"}
    assert web.asked("/plain") == 1
    reported = [one["statement"] for one in result.signals("usage_disallowed")]
    assert reported.count(None) == len(PAGES) - len(REFUSED["train-ai"]) - 1


@ensureDeferred
async def test_several_purposes_are_wanted_together(webs):
    """What is refused for one of them is dropped."""
    web = site(webs)
    result = await crawled(
        web, MANDELBOT_PURPOSE="search, train-ai", MANDELBOT_USAGE="obey"
    )
    assert paths(result, web) == PAGES.keys() - REFUSED["search"] - REFUSED["train-ai"]


@ensureDeferred
async def test_the_hook_gets_each_dropped_item_and_request(webs):
    """A response with its item, or no response and the request; with the statement."""
    web = site(webs)
    received = []

    class Spider(EveryPage):
        def usage_disallowed(self, response, output, statement):
            received.append((response, output, statement))

    urls = [web.url + path for path in ("/noai", "/token")]
    settings = {"MANDELBOT_PURPOSE": "train-ai", "MANDELBOT_USAGE": "obey"}
    result = await crawl(Spider, AGENT | settings, start_urls=urls)
    by_path = {
        (response or output).url.removeprefix(web.url): (response, output, statement)
        for response, output, statement in received
    }
    response, output, statement = by_path["/token"]
    assert response is None
    assert isinstance(output, scrapy.Request)
    assert (statement.source, statement.line) == ("control-token", 8)
    response, output, statement = by_path["/noai"]
    assert output["url"] == response.url
    assert statement.where == "meta"
    assert len(result.logged("Not requested, as its use is disallowed: <GET")) == 1
    assert len(result.logged("Dropped, as its use is disallowed: item (<200")) == 1


@ensureDeferred
async def test_a_page_may_be_exempt(webs):
    """By its meta key its request is sent and its items pass."""
    web = site(webs)

    class Spider(EveryPage):
        async def start(self):
            for path in ("/token", "/noai"):
                meta = {"dont_obey_usage": True}
                yield scrapy.Request(web.url + path, self.parse, meta=meta)

    settings = {"MANDELBOT_PURPOSE": "train-ai", "MANDELBOT_USAGE": "obey"}
    result = await crawl(Spider, AGENT | settings)
    assert paths(result, web) == {"/token", "/noai"}


@ensureDeferred
async def test_meta_of_another_page_does_not_count(webs):
    """What a spider copies from one page's meta is replaced by what is said of the
    next.
    """
    web = site(webs)

    class Spider(EveryPage):
        async def start(self):
            yield scrapy.Request(web.url + "/usage-yes", self.first)

        def first(self, response):
            yield response.follow("/plain", self.parse, meta=response.meta)

    settings = {"MANDELBOT_PURPOSE": "train-ai", "MANDELBOT_USAGE": "annotate"}
    result = await crawl(Spider, AGENT | settings)
    assert [item["answers"]["train-ai"] for item in result.items] == ["unknown"]


@pytest.mark.parametrize("status", [404, 500, 200])
@ensureDeferred
async def test_a_site_without_a_tdm_file_is_asked_once(webs, status):
    """One that says 404, that fails, or that sends a page for it: nothing is reserved
    there.
    """
    web = site(webs, tdmrep=None)
    web.pages["/.well-known/tdmrep.json"] = Answer(b"<html>no</html>", status=status)
    result = await crawled(web, MANDELBOT_PURPOSE="tdm", MANDELBOT_USAGE="obey")
    assert "/tdm-file" in paths(result, web)
    assert web.asked("/.well-known/tdmrep.json") == 1
    assert result.stats["mandelbot/usage/tdm_files"] == 1


@ensureDeferred
async def test_a_tdm_file_may_be_elsewhere_on_the_site(webs):
    """A redirect is followed, and no request waits for itself."""
    web = site(webs, tdmrep=None)
    web.pages["/.well-known/tdmrep.json"] = Answer(
        status=302, headers={"Location": "/tdm.json"}
    )
    web.pages["/tdm.json"] = Answer(TDMREP)
    result = await crawled(web, MANDELBOT_PURPOSE="tdm", MANDELBOT_USAGE="obey")
    assert "/tdm-file" not in paths(result, web)


@ensureDeferred
async def test_a_stored_tdm_file_is_used_by_the_next_run(webs, tmp_path):
    """It is kept in the store as a copy of robots.txt is."""
    web = site(webs)
    settings = {
        "MANDELBOT_PURPOSE": "tdm",
        "MANDELBOT_STORE": str(tmp_path / "copies.db"),
    }
    for _ in range(2):
        result = await crawled(web, MANDELBOT_USAGE="obey", **settings)
        assert "/tdm-file" not in paths(result, web)
    assert web.asked("/.well-known/tdmrep.json") == 1


def asked_for_tdm(web):
    return [hit for hit in web.hits if hit.path == "/.well-known/tdmrep.json"]


@pytest.mark.parametrize("status", [429, 500, 503])
@ensureDeferred
async def test_an_unreachable_tdm_file_leaves_the_stored_one_in_force(
    webs, tmp_path, status
):
    """A good copy stays in use while the file is unavailable, and is not replaced."""
    web = site(webs)
    settings = {
        "MANDELBOT_PURPOSE": "tdm",
        "MANDELBOT_USAGE": "obey",
        "MANDELBOT_STORE": str(tmp_path / "copies.db"),
        "MANDELBOT_CACHE": {"ttl": 0},
    }
    for answer in (Answer(TDMREP), Answer(status=status), Answer(status=status)):
        web.pages["/.well-known/tdmrep.json"] = answer
        result = await crawl(
            EveryPage, AGENT | settings, start_urls=[web.url + "/tdm-file"]
        )
        assert not result.items
    assert len(asked_for_tdm(web)) == 3


@ensureDeferred
async def test_a_truncated_tdm_file_is_not_stored(webs, tmp_path):
    """The rules that came count, the file is asked for again by the next run, and
    unconditionally.

    What is kept of it would be confirmed as if it were whole.
    """
    web = site(webs)
    other = b'[{"location": "/plain", "tdm-reservation": 1},' + b" " * 500 + TDMREP[1:]
    packed = gzip.compress(other, mtime=0)
    headers = {"Content-Encoding": "gzip", "ETag": '"whole"'}
    settings = {
        "MANDELBOT_PURPOSE": "tdm",
        "MANDELBOT_USAGE": "obey",
        "MANDELBOT_STORE": str(tmp_path / "copies.db"),
    }
    kept = []
    for body in (packed[:-30], packed, packed):
        web.pages["/.well-known/tdmrep.json"] = Answer(body, headers=headers)
        urls = [web.url + path for path in ("/plain", "/tdm-file")]
        result = await crawl(EveryPage, AGENT | settings, start_urls=urls)
        kept.append(paths(result, web))
    assert kept == [{"/tdm-file"}, set(), set()]
    hits = asked_for_tdm(web)
    assert len(hits) == 2
    assert not any("if-none-match" in hit.headers for hit in hits)


@ensureDeferred
async def test_a_tdm_file_that_was_confirmed_can_be_confirmed_again(webs, tmp_path):
    """A 304 need not repeat the validators (RFC 9110, section 15.4.5): those of the
    copy hold.
    """
    web = site(webs)
    date = "Sun, 01 Nov 2026 12:00:00 GMT"

    def tdmrep(request):
        if request.getHeader("If-Modified-Since") == date:
            return Answer(b"", 304)
        return Answer(TDMREP, headers={"Last-Modified": date})

    web.pages["/.well-known/tdmrep.json"] = tdmrep
    settings = {
        "MANDELBOT_PURPOSE": "tdm",
        "MANDELBOT_USAGE": "obey",
        "MANDELBOT_STORE": str(tmp_path / "copies.db"),
        "MANDELBOT_CACHE": {"ttl": 0},
    }
    for _ in range(3):
        result = await crawl(
            EveryPage, AGENT | settings, start_urls=[web.url + "/tdm-file"]
        )
        assert not result.items
    assert [hit.status for hit in asked_for_tdm(web)] == [200, 304, 304]


@ensureDeferred
async def test_a_tdm_file_is_fetched_by_the_pages_proxy(webs):
    """By its proxy, with what that wants to know."""
    web = site(webs)
    proxy = webs()
    proxy.pages.update({web.url + path: answer for path, answer in web.pages.items()})

    class Spider(EveryPage):
        async def start(self):
            yield scrapy.Request(
                web.url + "/tdm-file",
                self.parse,
                headers={"Proxy-Authorization": "Basic YTpi"},
                meta={"proxy": proxy.url},
            )

    result = await crawl(
        Spider, AGENT | {"MANDELBOT_PURPOSE": "tdm", "MANDELBOT_USAGE": "obey"}
    )
    assert not result.items
    (hit,) = [one for one in proxy.hits if one.path.endswith("/tdmrep.json")]
    assert hit.headers["proxy-authorization"] == "Basic YTpi"
    assert not web.hits


@ensureDeferred
async def test_the_file_is_read_without_being_obeyed(webs):
    """With ROBOTSTXT_OBEY off its rules do not count, and what it says of uses does."""
    web = site(webs)
    web.pages["/never"] = page()
    urls = [web.url + path for path in ("/never", "/usage-no", "/plain")]
    settings = {
        "ROBOTSTXT_OBEY": False,
        "MANDELBOT_PURPOSE": "train-ai",
        "MANDELBOT_USAGE": "obey",
    }
    result = await crawl(EveryPage, AGENT | settings, start_urls=urls)
    assert paths(result, web) == {"/never", "/plain"}


@ensureDeferred
async def test_an_unavailable_robots_txt_that_is_not_obeyed_is_fetched_once(webs):
    """Not again for every page: what it says is unknown."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(status=503)
    settings = {
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 1,
        "MANDELBOT_PURPOSE": "train-ai",
        "MANDELBOT_USAGE": "obey",
    }
    urls = [web.url + path for path in ("/plain", "/usage-no", "/noai")]
    result = await crawl(EveryPage, AGENT | settings, start_urls=urls)
    assert paths(result, web) == {"/plain", "/usage-no"}
    assert web.asked("/robots.txt") == 1


# Terms instead of a page.

TERMS = {
    "/license": Answer(
        status=401, headers={"WWW-Authenticate": 'License error="invalid_request"'}
    ),
    "/price": Answer(status=402, headers={"crawler-price": "USD 0.01"}),
    "/challenge": Answer(status=403, headers={"cf-mitigated": "challenge"}),
    "/closed": Answer(status=403),
    "/login": Answer(status=401, headers={"WWW-Authenticate": "Basic realm=x"}),
}


@ensureDeferred
async def test_terms_are_logged_once_a_site_and_counted(webs):
    """Without a purpose, too. An ordinary refusal states none. None is tried again."""
    web = webs()
    web.pages.update(TERMS)
    urls = [web.url + path for path in TERMS]
    settings = {"RETRY_HTTP_CODES": [401, 402, 403], "RETRY_TIMES": 2}
    result = await crawl(EveryPage, AGENT | settings, start_urls=urls)
    assert result.stats["mandelbot/usage/terms_stated"] == 3
    start = f"{web.url} states terms in place of a page: "
    (line,) = result.logged(start)
    assert line.removeprefix(start).startswith(
        ("401, WWW-", "402, crawler-", "403, cf-miti")
    )
    asked = {path: web.asked(path) for path in TERMS}
    assert asked == {
        "/license": 1,
        "/price": 1,
        "/challenge": 1,
        "/closed": 3,
        "/login": 3,
    }


def test_usage_in_meta_can_be_kept_with_a_job():
    """JOBDIR pickles the meta of a request that a spider copied it to."""
    import pickle

    from mandelbot.preferences.in_pages import page_usage

    usage = page_usage([("Content-Usage", "train-ai=n")], b"", "a")
    assert pickle.loads(pickle.dumps(usage)) == usage
    assert isinstance(usage, Usage)
    assert json.dumps(usage.answers)
