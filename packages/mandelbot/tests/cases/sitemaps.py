"""What the documents about sitemaps show: each example with its entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from inspect import cleandoc

from mandelbot import SitemapEntry

UTC = timezone.utc
URL = "http://www.example.com/sitemap.xml"


@dataclass(frozen=True)
class SitemapCase:
    """A file, and what it lists."""

    document: str
    """Which one shows it, and where."""
    says: str
    """What must hold, as a sentence."""
    body: str
    """The file, indented as the table is."""
    entries: tuple[SitemapEntry, ...]
    kind: str = "urlset"
    problems: tuple[str, ...] = ()
    """The codes of what is wrong with it; the documents' own examples have nothing."""

    @property
    def octets(self) -> bytes:
        """The file as it is fetched."""
        return cleandoc(self.body).encode()


def day(year: int, month: int = 1, date: int = 1) -> datetime:
    return datetime(year, month, date, tzinfo=UTC)


SAMPLE = """
    <?xml version="1.0" encoding="UTF-8"?>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
       <url>
          <loc>http://www.example.com/</loc>
          <lastmod>2005-01-01</lastmod>
          <changefreq>monthly</changefreq>
          <priority>0.8</priority>
       </url>
    </urlset>
"""
HOME = SitemapEntry("http://www.example.com/", day(2005), "2005-01-01", "monthly", 0.8)

CASES = (
    SitemapCase(
        "sitemaps.org, Sample XML Sitemap",
        "One URL with all optional tags is read with all of them.",
        SAMPLE,
        (HOME,),
    ),
    SitemapCase(
        "sitemaps.org, Entity escaping, Sample XML Sitemap",
        "Several URLs, each with other tags, are read in order; &amp; is an ampersand.",
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
           <url>
              <loc>http://www.example.com/</loc>
              <lastmod>2005-01-01</lastmod>
              <changefreq>monthly</changefreq>
              <priority>0.8</priority>
           </url>
           <url>
              <loc>http://www.example.com/catalog?item=12&amp;desc=vacation_hawaii</loc>
              <changefreq>weekly</changefreq>
           </url>
           <url>
              <loc>http://www.example.com/catalog?item=73&amp;desc=vacation_new_zealand</loc>
              <lastmod>2004-12-23</lastmod>
              <changefreq>weekly</changefreq>
           </url>
           <url>
              <loc>http://www.example.com/catalog?item=74&amp;desc=vacation_newfoundland</loc>
              <lastmod>2004-12-23T18:00:15+00:00</lastmod>
              <priority>0.3</priority>
           </url>
           <url>
              <loc>http://www.example.com/catalog?item=83&amp;desc=vacation_usa</loc>
              <lastmod>2004-11-23</lastmod>
           </url>
        </urlset>
        """,
        (
            HOME,
            SitemapEntry(
                "http://www.example.com/catalog?item=12&desc=vacation_hawaii",
                changefreq="weekly",
            ),
            SitemapEntry(
                "http://www.example.com/catalog?item=73&desc=vacation_new_zealand",
                *(day(2004, 12, 23), "2004-12-23", "weekly"),
            ),
            SitemapEntry(
                "http://www.example.com/catalog?item=74&desc=vacation_newfoundland",
                datetime(2004, 12, 23, 18, 0, 15, tzinfo=UTC),
                "2004-12-23T18:00:15+00:00",
                priority=0.3,
            ),
            SitemapEntry(
                "http://www.example.com/catalog?item=83&desc=vacation_usa",
                *(day(2004, 11, 23), "2004-11-23"),
            ),
        ),
    ),
    SitemapCase(
        "sitemaps.org, Entity escaping",
        "A URL of other characters is the same escaped, as UTF-8, as entities and as"
        " percents.",
        """
        <urlset>
        <url><loc>http://www.example.com/ümlat.html&amp;q=name</loc></url>
        <url><loc>http://www.example.com/&#252;mlat.html&amp;q=name</loc></url>
        <url><loc>http://www.example.com/&#xFC;mlat.html&#38;q=name</loc></url>
        <url><loc>http://www.example.com/%C3%BCmlat.html&amp;q=name</loc></url>
        <url><loc>http://www.example.com/?&apos;&quot;&gt;&lt;</loc></url>
        </urlset>
        """,
        (
            *[SitemapEntry("http://www.example.com/%C3%BCmlat.html&q=name")] * 4,
            SitemapEntry("http://www.example.com/?%27%22%3E%3C"),
        ),
    ),
    SitemapCase(
        "sitemaps.org, Sample XML Sitemap Index",
        "An index lists sitemaps, with the time of each.",
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
           <sitemap>
              <loc>http://www.example.com/sitemap1.xml.gz</loc>
              <lastmod>2004-10-01T18:23:17+00:00</lastmod>
           </sitemap>
           <sitemap>
              <loc>http://www.example.com/sitemap2.xml.gz</loc>
              <lastmod>2005-01-01</lastmod>
           </sitemap>
        </sitemapindex>
        """,
        (
            SitemapEntry(
                "http://www.example.com/sitemap1.xml.gz",
                datetime(2004, 10, 1, 18, 23, 17, tzinfo=UTC),
                "2004-10-01T18:23:17+00:00",
            ),
            SitemapEntry(
                "http://www.example.com/sitemap2.xml.gz", day(2005), "2005-01-01"
            ),
        ),
        kind="index",
    ),
    SitemapCase(
        "sitemaps.org, Other Sitemap formats, Text file",
        "A text file lists one URL a line.",
        """
        http://www.example.com/catalog?item=1
        http://www.example.com/catalog?item=11
        """,
        (
            SitemapEntry("http://www.example.com/catalog?item=1"),
            SitemapEntry("http://www.example.com/catalog?item=11"),
        ),
        kind="text",
    ),
    SitemapCase(
        "sitemaps.org, Extending the Sitemaps protocol",
        "Tags of a namespace of one's own are kept as data.",
        """
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
                xmlns:example="http://www.example.com/schemas/example_schema">
           <url>
              <loc>http://www.example.com/</loc>
              <example:example_tag>
                 <example:inner>text</example:inner>
              </example:example_tag>
           </url>
        </urlset>
        """,
        (
            SitemapEntry(
                "http://www.example.com/", extensions={"example_tag": {"inner": "text"}}
            ),
        ),
    ),
    SitemapCase(
        "Google Search Central, Image sitemaps",
        "Images are a list for each page, from other hosts too.",
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
                xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
          <url>
            <loc>https://example.com/sample1.html</loc>
            <image:image>
              <image:loc>https://example.com/image.jpg</image:loc>
            </image:image>
            <image:image>
              <image:loc>https://example.com/photo.jpg</image:loc>
            </image:image>
          </url>
          <url>
            <loc>https://example.com/sample2.html</loc>
            <image:image>
              <image:loc>https://example.org/picture.jpg</image:loc>
            </image:image>
          </url>
        </urlset>
        """,
        (
            SitemapEntry(
                "https://example.com/sample1.html",
                extensions={
                    "image": [
                        {"loc": "https://example.com/image.jpg"},
                        {"loc": "https://example.com/photo.jpg"},
                    ]
                },
            ),
            SitemapEntry(
                "https://example.com/sample2.html",
                extensions={"image": [{"loc": "https://example.org/picture.jpg"}]},
            ),
        ),
    ),
    SitemapCase(
        "Google Search Central, Video sitemaps and alternatives",
        "A video keeps every tag, with attributes; those that may repeat are lists.",
        """
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
                xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">
          <url>
            <loc>https://www.example.com/videos/some_video_landing_page.html</loc>
            <video:video>
              <video:thumbnail_loc>https://www.example.com/thumbs/123.jpg</video:thumbnail_loc>
              <video:title>Grilling steaks for summer</video:title>
              <video:description>
                Alkis shows you how to get perfectly done steaks every time
              </video:description>
              <video:content_loc>http://streamserver.example.com/video123.mp4</video:content_loc>
              <video:player_loc>https://www.example.com/videoplayer.php?video=123</video:player_loc>
              <video:duration>600</video:duration>
              <video:publication_date>2007-11-05T19:20:30+08:00</video:publication_date>
              <video:restriction relationship="allow">IE GB US CA</video:restriction>
              <video:price currency="EUR">1.99</video:price>
              <video:tag>steak</video:tag>
              <video:uploader info="https://www.example.com/users/grillymcgrillerson"
                >GrillyMcGrillerson</video:uploader>
              <video:live>no</video:live>
            </video:video>
          </url>
        </urlset>
        """,
        (
            SitemapEntry(
                "https://www.example.com/videos/some_video_landing_page.html",
                extensions={
                    "video": [
                        {
                            "thumbnail_loc": "https://www.example.com/thumbs/123.jpg",
                            "title": "Grilling steaks for summer",
                            "description": (
                                "Alkis shows you how to get perfectly done steaks "
                                "every time"
                            ),
                            "content_loc": (
                                "http://streamserver.example.com/video123.mp4"
                            ),
                            "player_loc": (
                                "https://www.example.com/videoplayer.php?video=123"
                            ),
                            "duration": "600",
                            "publication_date": "2007-11-05T19:20:30+08:00",
                            "restriction": {
                                "relationship": "allow",
                                "text": "IE GB US CA",
                            },
                            "price": [{"currency": "EUR", "text": "1.99"}],
                            "tag": ["steak"],
                            "uploader": {
                                "info": (
                                    "https://www.example.com/users/grillymcgrillerson"
                                ),
                                "text": "GrillyMcGrillerson",
                            },
                            "live": "no",
                        }
                    ]
                },
            ),
        ),
    ),
    SitemapCase(
        "Google Search Central, News sitemaps",
        "News keep their publication and title.",
        """
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
                xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
          <url>
            <loc>http://www.example.org/business/article55.html</loc>
            <news:news>
              <news:publication>
                <news:name>The Example Times</news:name>
                <news:language>en</news:language>
              </news:publication>
              <news:publication_date>2008-12-23</news:publication_date>
              <news:title>Companies A, B in Merger Talks</news:title>
            </news:news>
          </url>
        </urlset>
        """,
        (
            SitemapEntry(
                "http://www.example.org/business/article55.html",
                extensions={
                    "news": [
                        {
                            "publication": {
                                "name": "The Example Times",
                                "language": "en",
                            },
                            "publication_date": "2008-12-23",
                            "title": "Companies A, B in Merger Talks",
                        }
                    ]
                },
            ),
        ),
    ),
    SitemapCase(
        "Google Search Central, Localized versions of your pages, Sitemap",
        "The versions of a page in other languages are pairs of hreflang and URL.",
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
          xmlns:xhtml="http://www.w3.org/1999/xhtml">
          <url>
            <loc>https://www.example.com/english/page.html</loc>
            <xhtml:link
                       rel="alternate"
                       hreflang="de"
                       href="https://www.example.de/deutsch/page.html"/>
            <xhtml:link
                       rel="alternate"
                       hreflang="de-ch"
                       href="https://www.example.de/schweiz-deutsch/page.html"/>
            <xhtml:link
                       rel="alternate"
                       hreflang="en"
                       href="https://www.example.com/english/page.html"/>
          </url>
        </urlset>
        """,
        (
            SitemapEntry(
                "https://www.example.com/english/page.html",
                alternates=(
                    ("de", "https://www.example.de/deutsch/page.html"),
                    ("de-ch", "https://www.example.de/schweiz-deutsch/page.html"),
                    ("en", "https://www.example.com/english/page.html"),
                ),
            ),
        ),
    ),
    SitemapCase(
        "RSS 2.0 specification, Sample file",
        "An item's link is its URL, its pubDate its time; the channel's own link is"
        " none.",
        """
        <?xml version="1.0"?>
        <rss version="2.0">
           <channel>
              <title>Liftoff News</title>
              <link>http://liftoff.msfc.nasa.gov/</link>
              <pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate>
              <item>
                 <title>Star City</title>
                 <link>http://liftoff.msfc.nasa.gov/news/2003/news-starcity.asp</link>
                 <description>How do Americans get ready? See
                   &lt;a href="http://howe.iki.rssi.ru/"&gt;Star City&lt;/a&gt;.
                 </description>
                 <pubDate>Tue, 03 Jun 2003 09:39:21 GMT</pubDate>
                 <guid>http://liftoff.msfc.nasa.gov/2003/06/03.html#item573</guid>
              </item>
              <item>
                 <description>An item without a link, with a permalink.</description>
                 <pubDate>Fri, 30 May 2003 11:06:42 +0200</pubDate>
                 <guid>http://liftoff.msfc.nasa.gov/2003/05/30.html#item572</guid>
              </item>
              <item><guid isPermaLink="false">item571</guid></item>
           </channel>
        </rss>
        """,
        (
            SitemapEntry(
                "http://liftoff.msfc.nasa.gov/news/2003/news-starcity.asp",
                datetime(2003, 6, 3, 9, 39, 21, tzinfo=UTC),
                "Tue, 03 Jun 2003 09:39:21 GMT",
            ),
            SitemapEntry(
                "http://liftoff.msfc.nasa.gov/2003/05/30.html#item572",
                datetime(2003, 5, 30, 11, 6, 42, tzinfo=timezone(timedelta(hours=2))),
                "Fri, 30 May 2003 11:06:42 +0200",
            ),
        ),
        kind="rss",
        problems=("no-loc",),
    ),
    SitemapCase(
        "RFC 4287, 1.1 Examples",
        "An entry's link without another relation is its URL, updated its time.",
        """
        <?xml version="1.0" encoding="utf-8"?>
        <feed xmlns="http://www.w3.org/2005/Atom">
          <title type="text">dive into mark</title>
          <updated>2005-07-31T12:29:29Z</updated>
          <link rel="alternate" type="text/html" hreflang="en" href="http://example.org/"/>
          <link rel="self" type="application/atom+xml" href="http://example.org/feed.atom"/>
          <entry>
            <title>Atom draft-07 snapshot</title>
            <link rel="enclosure" type="audio/mpeg" length="1337"
              href="http://example.org/audio/ph34r_my_podcast.mp3"/>
            <link rel="alternate" type="text/html"
              href="http://example.org/2005/04/02/atom?a=1&amp;b"/>
            <id>tag:example.org,2003:3.2397</id>
            <updated>2005-07-31T12:29:29Z</updated>
            <published>2003-12-13T08:29:29-04:00</published>
            <content type="xhtml" xml:lang="en" xml:base="http://diveintomark.org/">
              <div xmlns="http://www.w3.org/1999/xhtml">
                <p><i>[Update: The Atom draft is finished.]</i></p>
              </div>
            </content>
          </entry>
        </feed>
        """,
        (
            SitemapEntry(
                "http://example.org/2005/04/02/atom?a=1&b",
                datetime(2005, 7, 31, 12, 29, 29, tzinfo=UTC),
                "2005-07-31T12:29:29Z",
            ),
        ),
        kind="atom",
    ),
    SitemapCase(
        "RSS 1.0 specification, 5.1 Minimalist RSS",
        "Items beside the channel are found too, and dates of Dublin Core.",
        """
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
          xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
          <channel rdf:about="http://www.xml.com/xml/news.rss">
            <link>http://xml.com/pub</link>
          </channel>
          <item rdf:about="http://xml.com/pub/2000/08/09/xslt/xslt.html">
            <link>http://xml.com/pub/2000/08/09/xslt/xslt.html</link>
            <dc:date>2000-08-09</dc:date>
          </item>
        </rdf:RDF>
        """,
        (
            SitemapEntry(
                "http://xml.com/pub/2000/08/09/xslt/xslt.html",
                day(2000, 8, 9),
                "2000-08-09",
            ),
        ),
        kind="rss",
    ),
)
