"""What a site is. (Mandelbot, "Location of robots.txt"; RFC 9309, section 2.3)"""

from __future__ import annotations

from itertools import product
from urllib.parse import SplitResult, urlparse

import pytest

from mandelbot.origins import _site, robots_url, site_of, without_user

SAME = [
    ("http://www.example.com/dogs/barking.html", "http://www.example.com"),
    ("http://www.example.com:80/", "http://www.example.com"),
    ("https://www.example.com:443/", "https://www.example.com"),
    ("http://user:secret@www.example.com/", "http://www.example.com"),
    ("HTTP://WWW.Example.COM/", "http://www.example.com"),
    ("http://www.example.com./", "http://www.example.com"),
    ("http://www.example.com:8080/", "http://www.example.com:8080"),
    ("https://www.example.com:80/", "https://www.example.com:80"),
    ("http://[::1]:8080/", "http://[::1]:8080"),
    ("http://[::1]/", "http://[::1]"),
    ("http://www.example.com:abc/", "http://www.example.com:abc"),
    ("http://www.example.com:99999/", "http://www.example.com:99999"),
    ("http:///nowhere", "http://"),
]


@pytest.mark.parametrize(("url", "site"), SAME)
def test_site_of(url, site):
    """A site is scheme, host and port, the default port left out, and nothing else."""
    assert site_of(urlparse(url)) == site


@pytest.mark.parametrize(
    "other",
    [
        "https://www.example.com/",
        "http://subdomain.example.com/",
        "http://www.example.com:8080/",
    ],
)
def test_mandelbot_location_other_sites(other):
    """The three URLs to which http://www.example.com/robots.txt does not apply."""
    assert site_of(urlparse(other)) != "http://www.example.com"


def test_mandelbot_location_of_robots_txt():
    """For http://www.example.com/dogs/barking.html it is
    http://www.example.com/robots.txt.
    """
    site = site_of(urlparse("http://www.example.com/dogs/barking.html"))
    assert robots_url(site) == "http://www.example.com/robots.txt"


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://user:secret@example.com/a@b", "https://example.com/a@b"),
        ("https://user:sec@ret@example.com:8443?x=@", "https://example.com:8443?x=@"),
        ("//user@example.com#@", "//example.com#@"),
        ("https://example.com//a@b", "https://example.com//a@b"),
        ("/a@b", "/a@b"),
        ("", ""),
    ],
)
def test_without_user(url, bare):
    """Neither user nor password stays, and all else does."""
    assert without_user(url) == bare


@pytest.mark.parametrize("scheme", ["http", "https", "s3"])
def test_a_host_that_needs_no_reading_is_read_the_same(scheme):
    """Most are their site's as written, which is seen without parsing them."""
    hosts = [
        "",
        ".",
        "a",
        "A",
        "a.",
        "a..b",
        ".a",
        "a_b-1.example",
        "a%41",
        "\xe9.ch",
        "[::1]",
    ]
    ports = [
        "",
        ":",
        ":0",
        ":80",
        ":443",
        ":0443",
        ":999",
        ":1000",
        ":8080",
        ":65535",
        ":99999",
    ]
    ports += [":100000", ":8080:", ":80a0", ":\u0661\u0661\u0661\u0661", " ", "\n"]
    for netloc in map("".join, product(["", "@", "user@", "u:1000@"], hosts, ports)):
        assert site_of(SplitResult(scheme, netloc, "/", "", "")) == _site(
            scheme, netloc
        ), netloc
