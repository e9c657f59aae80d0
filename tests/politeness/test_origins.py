"""What a site is. (Mandelbot, "Location of robots.txt"; RFC 9309, section 2.3)"""

from __future__ import annotations

from urllib.parse import urlparse

import pytest

from scrapy_mandelbot.politeness import robots_url, site_of

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
    ["https://www.example.com/", "http://subdomain.example.com/", "http://www.example.com:8080/"],
)
def test_mandelbot_location_other_sites(other):
    """The three URLs to which http://www.example.com/robots.txt does not apply."""
    assert site_of(urlparse(other)) != "http://www.example.com"


def test_mandelbot_location_of_robots_txt():
    """For http://www.example.com/dogs/barking.html it is http://www.example.com/robots.txt."""
    site = site_of(urlparse("http://www.example.com/dogs/barking.html"))
    assert robots_url(site) == "http://www.example.com/robots.txt"
