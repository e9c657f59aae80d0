"""The sample project's check: whatever differs between crawl and demo web, a comparison
fails.
"""

from datetime import datetime, timezone

import pytest
from sample_project.check import compare
from sample_project.demoweb.server import Site
from sample_project.record import Pause, SiteRecord

URL = "http://127.0.0.1:80"
NOON = datetime(2025, 1, 1, 12, tzinfo=timezone.utc)


class Stats(dict):
    get_value = dict.get


@pytest.fixture
def crawl():
    """A crawl that went well: its records, its stats, and what the site has counted."""
    site = Site(
        links={"/": ["/a", "/closed"]},
        closed=["/closed"],
        unlinked=["/alone"],
        files={"/robots.txt": ""},
        sitemaps=["/sitemap.xml"],
        outage=3,
        outage_after=1,
    )
    site.url = URL
    site.answers.update(
        {("/robots.txt", 200): 1, ("/", 200): 1, ("/a", 503): 2, ("/a", 200): 1}
    )
    record = SiteRecord(
        robots_known=True,
        pages=[(NOON, f"{URL}/"), (NOON, f"{URL}/a")],
        forbidden=[(f"{URL}/closed", None)],
        pauses=[Pause(NOON, "503", resumed_at=NOON, paused_for=3.0)],
        sitemaps=[f"{URL}/sitemap.xml"],
    )
    stats = Stats(
        {
            "robotstxt/forbidden": 1,
            "downloader/response_status_count/503": 2,
            "mandelbot/pause/count": 1,
            "mandelbot/pause/resumed": 1,
        }
    )
    return {URL: record}, stats, [site]


def broken(crawl):
    return [row.what for row in compare(*crawl) if not row.holds]


def test_a_good_crawl_holds(crawl):
    """Nothing differs where the crawl reported all that the demo web counted."""
    assert broken(crawl) == []


def test_pages_that_no_link_leads_to_may_arrive(crawl):
    """A spider may find more than links lead to, if it reports it."""
    records, _, (site,) = crawl
    site.answers["/alone", 200] += 1
    records[URL].pages.append((NOON, f"{URL}/alone"))
    assert broken(crawl) == []


@pytest.mark.parametrize(
    ("path", "status", "fails"),
    [
        ("/a", 200, ["pages crawled"]),
        ("/alone", 200, ["pages crawled"]),
        ("/closed", 200, ["pages crawled", "requests for those"]),
        ("/closed", 503, ["requests for those", "answers of 503"]),
        ("/robots.txt", 200, ["robots.txt, once"]),
        ("/robots.txt", 301, ["robots.txt, once"]),
        ("/a", 503, ["answers of 503"]),
    ],
)
def test_what_the_crawl_does_not_tell_of(crawl, path, status, fails):
    """A comparison fails if the demo web has one request more than the crawl."""
    _, _, (site,) = crawl
    site.answers[path, status] += 1
    assert broken(crawl) == fails


@pytest.mark.parametrize(
    ("attribute", "fails"),
    [
        ("pages", ["pages crawled", "open pages, once each"]),
        ("forbidden", ["pages forbidden"]),
        ("sitemaps", ["sitemaps"]),
        ("pauses", ["pauses", "pauses ended"]),
    ],
)
@pytest.mark.parametrize("change", [list.pop, lambda values: values.append(values[-1])])
def test_a_missing_or_double_figure_fails_the_check(crawl, attribute, fails, change):
    """A thing that the crawl does not report, or reports twice, makes a comparison
    fail.
    """
    records, _, _ = crawl
    change(getattr(records[URL], attribute))
    assert broken(crawl) == fails


def test_a_pause_that_goes_on(crawl):
    """A pause that has not ended makes a comparison fail."""
    records, _, _ = crawl
    records[URL].pauses[0].resumed_at = None
    assert broken(crawl) == ["pauses ended"]


def test_a_site_that_was_never_heard_of(crawl):
    """A site without any record makes all comparisons fail but that nothing forbidden
    was asked.
    """
    records, _, _ = crawl
    records.clear()
    assert len(broken(crawl)) == 7


@pytest.mark.parametrize("stat", ["robotstxt/forbidden", "mandelbot/pause/count"])
def test_stats_count_too(crawl, stat):
    """Scrapy's stats have to say the same as the demo web."""
    _, stats, _ = crawl
    del stats[stat]
    assert len(broken(crawl)) == 1
