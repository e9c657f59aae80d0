"""``scrapy robots sitemaps`` and ``cache``: what files cite, and what is stored."""

from __future__ import annotations

import json
import time

import pytest
from crawling import ensureDeferred
from webs import Answer

from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.sqlite import SqliteStore

HEAD = '<?xml version="1.0"?><{} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def urlset(*urls: str) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"{HEAD.format('urlset')}{entries}</urlset>".encode()


@pytest.fixture
def copies(project, tmp_path):
    """Two copies in the project's store."""
    store = SqliteStore(tmp_path / ".scrapy" / "mandelbot.db")
    now = time.time()
    body = b"User-agent: *\nDisallow: /\x1b\xff\n"
    store.put_copy(
        "https://a.example",
        CachedRobots(body, 200, now, "https://a.example/r.txt", '"tag"'),
    )
    store.put_copy("https://b.example", CachedRobots(b"", 404, now - 200_000))
    store.close()
    return body


def test_cached_files_are_listed(robots, copies):
    """Site, status, size, when, and whether it still serves."""
    run = robots("cache", "list")
    head, first, second, _, last = run.stdout.decode().splitlines()
    assert head.split() == ["status", "bytes", "fetched", "(UTC)", "site"]
    assert (first.split()[0], first.split()[-1]) == ("200", "https://a.example")
    assert second.split()[-2:] == ["stale", "https://b.example"]
    assert last.startswith("2 copies in ")
    report = json.loads(robots("cache", "list", "--format", "json").stdout)
    assert [(one["site"], one["fresh"]) for one in report["copies"]] == [
        ("https://a.example", True),
        ("https://b.example", False),
    ]


def test_a_cached_file_is_shown(robots, copies):
    """By any URL of its site: where it was, what it says, harmless."""
    run = robots("cache", "show", "https://a.example/some/page")
    text = run.stdout.decode()
    assert text.startswith("https://a.example/r.txt\n  status 200, 28 bytes, fetched ")
    assert '  ETag: "tag"\n' in text
    assert text.endswith("    1  User-agent: *\n    2  Disallow: /\\x1b\\xff\n")
    run = robots("cache", "show", "https://c.example")
    assert (run.returncode, run.stdout) == (1, b"")
    assert (
        run.stderr == b"scrapy robots: no robots.txt of https://c.example is cached\n"
    )


def test_cached_files_are_dropped(robots, copies):
    """One, or all; then the site is asked anew."""
    assert robots("cache", "drop", "https://c.example").returncode == 1
    run = robots("cache", "drop", "https://a.example/x")
    assert (run.returncode, run.stdout) == (0, b"dropped https://a.example\n")
    assert robots("cache", "drop", "--all").stdout == b"dropped https://b.example\n"
    assert robots("cache", "list").stdout == b"No robots.txt is cached.\n"


def test_no_store_yet_and_a_broken_one(robots, project, tmp_path):
    """The one is empty, the other one clear line."""
    assert robots("cache", "list").stdout == b"No robots.txt is cached.\n"
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database, whatever its name may be" * 100)
    run = robots("cache", "list", "-s", f"MANDELBOT_STORE={broken}")
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.decode() == f"scrapy robots: {broken}: file is not a database\n"


@ensureDeferred
async def test_the_command_reads_the_cache_of_a_crawl(
    webs, forked, robots_later, project
):
    """What Scrapy's fetch has kept in this project, the command shows."""
    from twisted.internet.threads import deferToThread

    web = webs()
    web.chain(1)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /x\n")
    project.write_text(project.read_text().replace("'project.spiders'", ""))
    fetch = ("scrapy", "fetch", "--nolog", web.url)
    fetched = await deferToThread(forked.program, project.parent.parent, *fetch)
    assert fetched.returncode == 0, fetched.stderr
    run = await robots_later("cache", "show", web.url)
    assert "    2  Disallow: /x\n" in run.stdout.decode()
