"""What the three sites of the demo web hold."""

from importlib.resources import files

from sample_project.demoweb.server import Site

ROBOTS = files(__package__) / "robots"


def demo_sites(outage):
    """Return the sites of the demo web.

    Args:
        outage: seconds for which the shop answers 503.
    """
    return [rules(), shop(outage), journal()]


def rules():
    """A site whose robots.txt uses everything that such a file can say."""
    open_pages = [
        "/about.html",
        "/Private/garden.html",
        "/private/letters/may.html",
        "/drafts/index.html",
        "/papers/report.pdf?page=2",
        "/files.php",
        "/box.zip",
        "/money-back.html",
        "/price.html",
    ]
    closed_pages = [
        "/private/diary.html",
        "/papers/drafts/first.html",
        "/papers/report.pdf",
        "/login.php",
        "/all.zip",
        "/money",
        "/price$list.html",
        "/caf%C3%A9/menu.html",
    ]
    return Site(
        links={"/": open_pages + closed_pages},
        closed=closed_pages,
        files={
            # any line end will do
            "/robots.txt": robots_txt("rules").replace("\n", "\r\n"),
            "/sitemap.xml": sitemap("urlset", ["/about.html", "/price.html"]),
        },
        sitemaps=["/sitemap.xml"],
    )


def shop(outage):
    """A site that answers 503 for a while, in the middle of the crawl."""
    shelves = {
        f"/shelf/{i}": [f"/shelf/{i}/{j}" for j in range(1, 6)] for i in range(1, 6)
    }
    return Site(
        links={"/": [*shelves, "/basket"], **shelves},
        closed=["/basket"],
        files={"/robots.txt": robots_txt("shop")},
        outage=outage,
        outage_after=10,
    )


def journal():
    """A site with a redirected robots.txt, and a sitemap of issues without links.

    Each issue links to the next, so its crawl takes a while.
    """
    issues = {f"/issue/{i}": [f"/issue/{i + 1}"] for i in range(1, 20)}
    return Site(
        links={"/": ["/issue/1", "/subscribers/letters.html"], **issues},
        closed=["/subscribers/letters.html"],
        redirects={"/robots.txt": "/policies/robots.txt"},
        files={
            "/policies/robots.txt": robots_txt("journal"),
            "/sitemap_index.xml.gz": sitemap(
                "sitemapindex", ["/1999.xml.gz", "/2000.xml"]
            ),
            "/1999.xml.gz": sitemap("urlset", ["/1999/spring", "/1999/autumn"]),
            "/2000.xml": sitemap("urlset", ["/2000/spring", "/issue/1"]),
        },
        unlinked=["/1999/spring", "/1999/autumn", "/2000/spring"],
        sitemaps=["/sitemap_index.xml.gz"],
    )


def robots_txt(name):
    """Return the text of a file in robots/, where {site} stands for the site's URL."""
    return (ROBOTS / f"{name}.txt").read_text(encoding="utf-8")


def sitemap(kind, paths):
    """Return a sitemap (kind "urlset") or an index of sitemaps ("sitemapindex")."""
    entry = {"urlset": "url", "sitemapindex": "sitemap"}[kind]
    entries = "".join(f"<{entry}><loc>{{site}}{path}</loc></{entry}>" for path in paths)
    return (
        f"<{kind}"
        f' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{kind}>'
    )
