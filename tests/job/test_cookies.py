"""The cookies of a job: what is stored of the jars, when, and what the next run has."""

from __future__ import annotations

import logging
import pickle
import stat
import time
from collections import defaultdict
from http.cookiejar import Cookie

import pytest
from scrapy import Request
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Response
from scrapy.http.cookies import CookieJar

from scrapy_mandelbot.job import cookies as cookies_module
from scrapy_mandelbot.job.cookies import (
    IN_JOB,
    CookieWatch,
    JobCookies,
    read_cookie,
)
from scrapy_mandelbot.job.job_store import JOB_FILE as FILE
from scrapy_mandelbot.job.sqlite_job import SqliteJob

SHOP = "https://shop.example/"


class Browser:
    """A crawl's cookies middleware, the job's watch over it, and what was stored."""

    def __init__(self, middleware=None) -> None:
        self.middleware = middleware or CookiesMiddleware()
        self.jars = self.middleware.jars
        self.watch = CookieWatch(self.jars, time.time)
        self.stored: dict[str, bytes] = {}
        self.writes = 0

    def get(self, *set_cookies: str, url: str = SHOP, **meta) -> None:
        """Fetch a page whose response sets these cookies."""
        request = Request(url, meta=meta)
        self.middleware.process_request(request)
        response = Response(url, headers={"Set-Cookie": list(set_cookies)})
        self.middleware.process_response(request, response)
        self.watch.touched(request)

    def sends(self, url: str = SHOP, **meta) -> set[str]:
        """Return the cookies of the next request to a URL."""
        request = Request(url, meta=meta)
        self.middleware.process_request(request)
        header = request.headers.get("Cookie") or b""
        return set(filter(None, header.decode().split("; ")))

    def commit(self, changes=None) -> int:
        """Store what has changed, as a job does; return how many cookies."""
        changes = self.watch.changes() if changes is None else changes
        for change in changes:
            self.stored[change.place.key] = change.body
        self.stored = {key: body for key, body in self.stored.items() if body}
        return len(changes)

    def next_run(self) -> Browser:
        browser = Browser(type(self.middleware)())
        browser.stored = dict(self.stored)
        browser.watch.restore(browser.stored.values())
        return browser


@pytest.fixture
def browser():
    return Browser()


def test_the_next_run_sends_the_same_cookies(browser):
    """Session cookies too: a login is one more often than not."""
    browser.get("sid=1; Path=/; HttpOnly; Secure", "lang=de; Path=/de; Max-Age=3600")
    browser.commit()
    later = browser.next_run()
    assert later.sends() == {"sid=1"}
    assert later.sends(SHOP + "de/x") == {"sid=1", "lang=de"}
    assert later.sends("https://other.example/") == set()
    assert later.watch.all_changes() == []


@pytest.mark.parametrize(
    ("url", "cookie", "sent"),
    [
        ("http://127.0.0.1:8000/", "sid=1", True),
        ("http://localhost/", "sid=1", True),
        ("https://www.shop.example/", "sid=1; Domain=shop.example", True),
        ("https://www.shop.example/", "sid=1; Domain=.shop.example", True),
        ("https://münchen.example/", "sid=1", True),
        ("https://shop.co.uk/", "sid=1; Domain=co.uk", False),
    ],
)
def test_cookies_of_any_kind_of_host_are_found(browser, url, cookie, sent):
    browser.get(cookie, url=url)
    assert browser.commit() == sent
    assert bool(browser.next_run().sends(url)) == sent


def test_each_jar_is_restored_by_its_key(browser):
    """None, a number, a text, a tuple: whatever Scrapy takes that is a plain value."""
    keys = [None, 1, "1", b"1", ("user", 7)]
    for number, key in enumerate(keys):
        browser.get(f"sid={number}", cookiejar=key)
    assert browser.commit() == len(keys)
    later = browser.next_run()
    for number, key in enumerate(keys):
        assert later.sends(cookiejar=key) == {f"sid={number}"}


def test_a_jar_whose_key_is_no_plain_value_is_not_stored(browser, caplog):
    """Said once, without the value of a cookie; the crawl itself has the jar."""
    key = type("Key", (), {})()
    browser.get("sid=secret", cookiejar=key)
    browser.get("sid=secret; Path=/a", cookiejar=key)
    assert browser.commit() == 0
    assert browser.sends(cookiejar=key) == {"sid=secret"}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "no plain value" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("value", ["sid=ü", "sid=\u2603", 'sid="a b"', "sid=", "sid"])
def test_odd_values_come_back_as_they_were(browser, value):
    browser.get(value)
    assert browser.commit() == 1
    before = {repr(vars(cookie)) for cookie in browser.jars[None]}
    after = {repr(vars(cookie)) for cookie in browser.next_run().jars[None]}
    assert before == after


def test_a_cookie_that_changes_with_each_page_is_written_once_a_commit(browser):
    for number in range(50):
        browser.get(f"token={number}")
    assert browser.commit() == 1
    assert browser.commit() == 0
    browser.get("token=49")
    assert browser.commit() == 0, "the same value is no change"
    assert browser.next_run().sends() == {"token=49"}


@pytest.mark.parametrize("how", ["Max-Age=0", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_cookie_that_the_site_deletes_is_deleted_in_the_job(browser, how):
    browser.get("sid=1", "keep=2")
    browser.commit()
    browser.get(f"sid=1; {how}")
    assert browser.commit() == 1
    assert browser.next_run().sends() == {"keep=2"}


def test_an_expired_cookie_is_not_restored(browser):
    browser.get("sid=1; Max-Age=1", "keep=2")
    browser.commit()
    later = Browser()
    later.watch = CookieWatch(later.jars, lambda: time.time() + 5)
    later.stored = browser.stored
    assert later.watch.restore(later.stored.values()) == 1
    assert [cookie.name for cookie in later.jars[None]] == ["keep"]
    later.commit(later.watch.all_changes())
    assert len(later.stored) == 1, "at the end of the run it leaves the job"


def test_what_a_spider_does_to_a_jar_is_stored_with_the_next_page_or_at_the_end(
    browser,
):
    """It may add cookies, clear them, and replace or drop a jar."""
    browser.get("sid=1", "lang=de")
    browser.get("sid=2", cookiejar="two")
    browser.get("sid=3", cookiejar="three")
    browser.commit()
    jar = browser.jars[None]
    jar.clear("shop.example", "/", "lang")
    browser.get()
    assert browser.commit() == 1
    browser.jars["two"] = CookieJar()
    del browser.jars["three"]
    own = Request(SHOP)
    for cookie in browser.jars["four"].make_cookies(
        Response(SHOP, headers={"Set-Cookie": "sid=4"}), own
    ):
        browser.jars["four"].set_cookie(cookie)
    assert browser.commit() == 0
    assert browser.commit(browser.watch.all_changes()) == 3
    later = browser.next_run()
    assert later.sends() == {"sid=1"}
    assert later.sends(cookiejar="four") == {"sid=4"}
    assert not later.sends(cookiejar="two") | later.sends(cookiejar="three")


def test_a_request_without_merged_cookies_costs_nothing(browser):
    browser.get("sid=1", dont_merge_cookies=True)
    assert browser.commit() == 0


def test_a_hundred_thousand_jars_cost_a_commit_no_more_than_one(browser):
    """What is compared is what the requests since the last commit may have changed."""
    for number in range(2_000):
        browser.get(f"sid={number}", cookiejar=number)
    assert browser.commit() == 2_000
    looked_at = []
    find = cookies_module.engine.cookies_of

    def cookies_of(jar, domains):
        looked_at.append(jar)
        return find(jar, domains)

    browser.get("sid=new", cookiejar=7)
    cookies_module.engine.cookies_of = cookies_of
    try:
        assert browser.commit() == 1
    finally:
        cookies_module.engine.cookies_of = find
    assert looked_at == [browser.jars[7]]


def test_no_more_cookies_are_stored_than_the_limits_say(browser, monkeypatch, caplog):
    """Of a domain, in all, and of one cookie; the crawl itself has them all."""
    monkeypatch.setattr(cookies_module, "MOST_COOKIES", 25)
    monkeypatch.setattr(cookies_module, "MOST_OF_A_DOMAIN", 20)
    browser.get(*(f"c{number}=1" for number in range(30)))
    assert browser.commit() == 20
    browser.get(*(f"c{number}=1" for number in range(30)), url="https://b.example/")
    assert browser.commit() == 5
    assert "comes after 25 others" in caplog.text
    assert len(browser.sends()) == 30
    browser.get("c1=2")
    assert browser.commit() == 1, "a stored one may change"
    browser.get("c1=" + "x" * cookies_module.LONGEST_COOKIE)
    assert browser.commit() == 1, "the long one is not stored any more"
    assert len(browser.watch) == 24


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x80",
        pickle.dumps(Cookie),
        pickle.dumps((None, 1)),
        pickle.dumps((None, *range(17))),
        pickle.dumps(([], "a", "b", "c")),
        pickle.dumps((None, 1, 2, 3)),
    ],
)
def test_a_damaged_or_foreign_cookie_is_skipped(browser, body, caplog):
    """Reading it runs no code, and the others are restored."""
    browser.get("sid=1")
    browser.commit()
    browser.stored["x"] = body
    assert browser.next_run().sends() == {"sid=1"}
    assert "cannot be read" in caplog.text


def test_another_workers_change_counts_unless_this_crawl_has_a_newer_one(browser):
    other = Browser()
    other.get("sid=other", "lang=en")
    theirs = {change.place.name: change for change in other.watch.changes()}
    for change in theirs.values():
        browser.watch.take(change.written())
    assert browser.sends() == {"sid=other", "lang=en"}
    assert browser.watch.all_changes() == [], "it is no change of this crawl"
    browser.get("sid=mine")
    browser.watch.take(theirs["sid"].written())
    assert browser.sends() == {"sid=mine", "lang=en"}
    (mine,) = browser.watch.changes()
    other.watch.take(mine.written())
    assert other.sends() == {"sid=mine", "lang=en"}
    other.get("lang=; Max-Age=0")
    (gone,) = other.watch.changes()
    browser.watch.take(gone.written())
    assert browser.sends() == {"sid=mine"}
    assert read_cookie(gone.written()) == (gone.place, None)


class StoredInFile:
    """The part of a job that stores cookies, over its file."""

    def __init__(self, path) -> None:
        self.file = SqliteJob(path)
        self.put = self.file.states.put
        self.kept = self.file.states.with_prefix

    def before_commits(self, call) -> None:
        self.call = call

    def commit(self) -> None:
        self.call()
        self.file.commit()


def test_the_file_has_each_commits_cookies_and_none_after_the_end(tmp_path):
    """A kill loses none of a page that was acknowledged; a new crawl begins without."""
    path = tmp_path / FILE
    browser = Browser()
    job = StoredInFile(path)
    kept = JobCookies(job, browser.watch)
    kept.restore()
    browser.get("sid=1")
    job.commit()
    browser.get("sid=lost")
    job.file.database.close()  # as at a kill

    browser = Browser()
    job = StoredInFile(path)
    kept = JobCookies(job, browser.watch)
    kept.restore()
    assert browser.sends() == {"sid=1"}
    browser.get("sid=2")
    kept.close(is_finished=True)
    job.commit()
    assert job.kept(IN_JOB) == {}
    job.file.close()


def test_only_the_crawls_user_may_read_the_file(tmp_path):
    """Its log too; a file that an older version has made is closed to others."""
    path = tmp_path / FILE
    path.touch(mode=0o644)
    path.chmod(0o644)
    job = SqliteJob(path)
    job.states.put("a", b"b")
    job.commit()
    modes = {
        part.name: stat.S_IMODE(part.stat().st_mode) for part in tmp_path.iterdir()
    }
    assert set(modes.values()) == {0o600}, modes
    assert len(modes) == 3
    job.close()


def test_jars_are_found_where_they_are_as_scrapys(make_crawler):
    """In a subclass, and in a copy of the middleware; no others are touched."""

    class Copy:
        def __init__(self) -> None:
            self.jars = defaultdict(CookieJar)

    class Other:
        def __init__(self) -> None:
            self.jars = defaultdict(list)

    class Sub(CookiesMiddleware):
        pass

    crawler = make_crawler()
    middleware = crawler.engine.downloader.middleware = type("", (), {})()
    copy, other, sub = Copy(), Other(), Sub()
    for middlewares, jars in (
        ([], None),
        ([other], None),
        ([other, copy], copy.jars),
        ([copy, sub], sub.jars),
    ):
        middleware.middlewares = middlewares
        assert cookies_module.engine.cookie_jars(crawler) is jars
