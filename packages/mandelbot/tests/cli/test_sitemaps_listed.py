"""``mandelbot sitemaps``: what files cite."""

from __future__ import annotations

import gzip
import json

from small_webs import Answer

HEAD = '<?xml version="1.0"?><{} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def urlset(*urls: str) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"{HEAD.format('urlset')}{entries}</urlset>".encode()


def index(*urls: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"{HEAD.format('sitemapindex')}{entries}</sitemapindex>".encode()


def test_sitemaps_of_a_file_are_listed(robots):
    """As written, each once."""
    run = robots(
        "sitemaps", "-", stdin=b"Sitemap: https://a/x.xml\nSitemap: /y\nSitemap: /y\n"
    )
    assert (run.returncode, run.stdout) == (0, b"https://a/x.xml\n/y\n")
    run = robots("sitemaps", "-", stdin=b"")
    assert (run.returncode, run.stdout) == (0, b"standard input cites no sitemap.\n")


def test_sitemaps_of_a_site_are_read(webs, robots):
    """Indexes to their end, each sitemap once; entries are counted, problems told."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"Sitemap: /index.xml\n")
    web.pages["/index.xml"] = Answer(
        index(web.url + "/a.xml.gz", web.url + "/b.txt", web.url + "/index.xml")
    )
    web.pages["/a.xml.gz"] = Answer(
        gzip.compress(urlset(web.url + "/1", web.url + "/2", ""))
    )
    web.pages["/b.txt"] = Answer(f"{web.url}/3\n".encode())
    run = robots("sitemaps", web.url, "--read")
    assert (
        run.stdout.decode().replace(web.url, "") == "/index.xml\n"
        "    index: 3 entries\n"
        "/a.xml.gz\n"
        "    urlset: 2 entries\n"
        "    entry 3: an entry has no URL: it is left out\n"
        "/b.txt\n"
        "    text: 1 entry\n"
    )
    assert (run.returncode, run.stderr) == (1, b"")
    assert web.asked("/index.xml") == 1
    listed = robots("sitemaps", web.url, "--format", "json")
    (sitemap,) = json.loads(listed.stdout)["sitemaps"]
    assert (sitemap["url"], sitemap["entries"]) == (web.url + "/index.xml", None)
    assert listed.returncode == 0
    assert web.asked("/index.xml") == 1


def test_an_unavailable_sitemap_is_an_error(webs, robots):
    """Exit code 3; the others are read."""
    web = webs()
    cited = (
        f"Sitemap: {web.url}/gone.xml\nSitemap: http://127.0.0.1:1/\nSitemap:"
        " /here.txt\n"
    )
    web.pages["/robots.txt"] = Answer(cited.encode())
    web.pages["/here.txt"] = Answer(f"{web.url}/1\n".encode())
    run = robots("sitemaps", web.url, "--read", "--format", "json")
    found = [
        (one["failure"], one["entries"]) for one in json.loads(run.stdout)["sitemaps"]
    ]
    assert found == [
        ("the status is 404", None),
        ("connection refused", None),
        (None, 1),
    ]
    assert run.returncode == 3


def test_an_endless_sitemap_index_is_read_to_a_limit(webs, robots):
    """A hundred sitemaps are read in a call; how many more there are is told."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"Sitemap: /index.xml\n")
    web.pages["/index.xml"] = Answer(index(*(f"{web.url}/{n}.txt" for n in range(120))))
    run = robots("sitemaps", web.url, "--read")
    assert run.stdout.decode().endswith("And 21 more sitemaps, not read.\n")
    assert len(web.hits) == 101
