"""The URLs of a sitemap."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request
from w3lib.url import safe_url_string

from mandelbot.sitemaps.urls import _SAFE_ALREADY, absolute_url, is_relative

BASE = "https://example.com/maps/sitemap.xml"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com/a", "https://example.com/a"),
        ("HTTPS://Example.COM/A", "https://example.com/A"),
        ("https://example.com", "https://example.com"),
        ("/a", "https://example.com/a"),
        ("a", "https://example.com/maps/a"),
        ("../a", "https://example.com/a"),
        ("?a", "https://example.com/maps/sitemap.xml?a"),
        ("//example.org/a", "https://example.org/a"),
        ("https://example.com/?", "https://example.com/"),
        ("https://example.com/#a", "https://example.com/#a"),
        (" \n\t\ufeff\xa0https://example.com/a\x00 ", "https://example.com/a"),
        ("https://example.com/a\n b", "https://example.com/a%20b"),
        ("https://example.com/é?é", "https://example.com/%C3%A9?%C3%A9"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.com/%zz%41", "https://example.com/%zz%41"),
        ("http://user:pass@example.com:8080/", "http://user:pass@example.com:8080/"),
        ("http://[::1]:80/", "http://[::1]:80/"),
    ],
)
def test_urls_become_absolute_and_safe(text, url):
    """A URL is resolved against the sitemap's, and written as Scrapy's Request writes
    it.
    """
    assert absolute_url(BASE, text) == url
    assert Request(url).url == url


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "http://", "https:///a", "http:a", "http:/a", "http://["),
        *(
            "http://a:b/",
            "http://a:99999/",
            "javascript:alert(1)",
            "data:,a",
            "file:///etc/passwd",
        ),
        *(
            "mailto:a@example.com",
            "ftp://example.com/a",
            "s3://bucket/key",
            "http://\u2100/",
        ),
    ],
)
def test_what_the_web_cannot_be_asked_for_is_none(text):
    """What is no URL, or is of another scheme, is no entry: file: least of all."""
    assert absolute_url(BASE, text) is None


def test_a_host_in_brackets_is_an_address():
    """Python rejects these since 3.11.4; before, the URL is the one that Scrapy makes
    of it.
    """
    try:
        expected = Request("http://[x]/").url
    except ValueError:
        expected = None
    assert absolute_url(BASE, "http://[x]/") == expected


hosts = st.lists(st.text("ab-0x", min_size=1, max_size=4), max_size=3).map(".".join)
ports = st.sampled_from(["", ":80", ":443", ":08", ":0", ":99999", ":"])
paths = st.text("aZ09-._~!$&'()*+,;=:@/?#%|^ ", max_size=12)
urls = st.builds(
    "{}://{}{}/{}".format, st.sampled_from(["http", "https"]), hosts, ports, paths
)


@settings(max_examples=examples(1000))
@given(urls)
def test_what_is_taken_as_safe_is_safe(url):
    """The short way gives what w3lib gives, which is the URL as it is."""
    if _SAFE_ALREADY.fullmatch(url):
        assert safe_url_string(url) == url == absolute_url(BASE, url)


relative = st.text("aZ0-._~/", min_size=1, max_size=12)
bases = st.builds("https://example.com/{}".format, st.text("ab.-_~/?%é", max_size=9))


@settings(max_examples=examples(1000))
@given(relative, bases)
def test_a_plain_path_is_put_behind_its_base(path, base):
    """The short way gives what urllib and w3lib give, in whatever document it is."""
    assert absolute_url(base, path) == safe_url_string(urljoin(base, path))


@given(st.one_of(st.text(), st.text("htps:/[]@#?%.é\0 \ud800", max_size=20)))
def test_no_url_raises(text):
    """Whatever is written there, the answer is None or a URL that a Request takes."""
    url = absolute_url(BASE, text)
    assert is_relative(text) in {True, False}
    if url is not None:
        assert re.match("https?://", url)
        assert Request(url).url == url
