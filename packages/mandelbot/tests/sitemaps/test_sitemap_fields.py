"""What an entry says of its page beside the URL."""

from __future__ import annotations

import pytest

from mandelbot import SitemapReader

URL = "https://example.com/maps/sitemap.xml"


@pytest.mark.parametrize(
    ("element", "field", "value", "code"),
    [
        ("<lastmod>yesterday</lastmod>", "lastmod", None, "bad-lastmod"),
        ("<lastmod>yesterday</lastmod>", "lastmod_text", "yesterday", "bad-lastmod"),
        ("<lastmod> </lastmod>", "lastmod", None, ""),
        ("<changefreq> Daily </changefreq>", "changefreq", "daily", ""),
        ("<changefreq>often</changefreq>", "changefreq", None, "bad-changefreq"),
        ("<priority>1.0</priority>", "priority", 1.0, ""),
        ("<priority>0</priority>", "priority", 0.0, ""),
        ("<priority>1.1</priority>", "priority", None, "bad-priority"),
        ("<priority>-0.1</priority>", "priority", None, "bad-priority"),
        ("<priority>nan</priority>", "priority", None, "bad-priority"),
        ("<priority>high</priority>", "priority", None, "bad-priority"),
        ("<priority>0.1</priority><priority>0.2</priority>", "priority", 0.1, ""),
        (
            '<link rel="alternate" href="/de"/>',
            "alternates",
            (("", "https://example.com/de"),),
            "",
        ),
        ('<link rel="alternate" href="data:x"/>', "alternates", (), "bad-alternate"),
        # Google, App Indexing; npm's `sitemap` writes it for `androidLink`
        (
            '<link rel="alternate" href="android-app://com.example/https/example.com/p"/>',
            "alternates",
            (),
            "",
        ),
        ('<link rel="alternate" href=" IOS-APP://1/p"/>', "alternates", (), ""),
        ('<link rel="amphtml" href="/amp"/>', "alternates", (), ""),
        ("<link>/de</link>", "alternates", (), ""),
        ("<a:mobile/>", "extensions", {"mobile": ""}, ""),
        ("<x>1</x><x>2</x><x>3</x>", "extensions", {"x": ["1", "2", "3"]}, ""),
        (
            "<x a='1' xmlns:b='2'>&lt;</x>",
            "extensions",
            {"x": {"a": "1", "text": "<"}},
            "",
        ),
        ("<x text='1'>2</x>", "extensions", {"x": {"text": ["1", "2"]}}, ""),
        ("<video/>", "extensions", {"video": [""]}, ""),
    ],
)
def test_fields(element, field, value, code):
    """A field that makes no sense is None and a problem; the entry stays."""
    body = f"<urlset><url><loc>https://example.com/1</loc>{element}</url></urlset>".encode()
    reader = SitemapReader(URL)
    (entry,) = [*reader.feed(body), *reader.close()]
    assert getattr(entry, field) == value
    assert [problem.code for problem in reader.problems] == [code] * bool(code)


def test_fields_in_any_order_and_with_any_prefix():
    """The short way and reading element by element give the same entries."""
    fields = [
        "<loc>/1</loc>",
        "<lastmod>2020-01-01</lastmod>",
        "<changefreq>daily</changefreq>",
    ]
    fields += ["<priority>0.5</priority>"]
    short, turned = "".join(fields), "".join(reversed(fields))
    prefixed = short.replace("<", "<s:").replace("<s:/", "</s:")
    entries = f"<url>{short}</url><url>{turned}</url><s:url>{prefixed}</s:url>"
    body = f"<urlset>{entries}</urlset>"
    reader = SitemapReader(URL)
    entries = [*reader.feed(body.encode()), *reader.close()]
    assert entries == entries[:1] * 3
    assert (entries[0].changefreq, entries[0].priority) == ("daily", 0.5)
