"""How a robots.txt comes, and what must be found: "Checking robots.txt theory"
(Moderatobot).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Comes:
    """How a file comes, and what must be found."""

    section: str
    says: str
    delivery: tuple[tuple[str, object], ...]
    codes: tuple[str, ...] = ()


PLACE = "File name and location"
ACCESS = "File access"
TIMEOUT = "Robots.txt timeout"
FORMAT = "File format"
ROOT = "https://example.com/robots.txt"

DELIVERIES = (
    Comes(PLACE, "Names in lower case are processed.", (("url", ROOT),)),
    Comes(
        PLACE,
        "Names in upper case are processed, with a warning.",
        (("url", "https://example.com/ROBOTS.TXT"),),
        ("name-in-capitals",),
    ),
    Comes(
        PLACE,
        "The file must be in the root directory.",
        (("url", "https://example.com/a/robots.txt"),),
        ("wrong-location",),
    ),
    Comes(
        PLACE,
        "It must be named robots.txt.",
        (("url", "https://example.com/robot.txt"),),
        ("wrong-location",),
    ),
    Comes(
        PLACE,
        "With a query it is another URL.",
        (("url", f"{ROOT}?x=1"),),
        ("wrong-location",),
    ),
    Comes(
        PLACE,
        "Only the name in capitals is there.",
        (("url", ROOT), ("status", 404), ("in_capitals", True)),
        ("only-in-capitals", "status-not-found"),
    ),
    Comes(
        ACCESS,
        "Ten redirects that lead on.",
        (("redirects", 10), ("status", 302)),
        ("too-many-redirects", "unfinished-redirect"),
    ),
    Comes(PLACE, "A file on disk may be anywhere.", (("url", "/srv/www/robots.txt"),)),
    Comes(PLACE, "On any disk.", (("url", "C:\\www\\robots.txt"),)),
    Comes(
        PLACE,
        "Who logs in is not part of the site.",
        (("url", "https://me@example.com/robots.txt"), ("final_url", ROOT)),
    ),
    Comes(
        PLACE,
        "Each subdomain has its own: the file of another site is no finding but a"
        " note.",
        (("url", ROOT), ("final_url", "https://www.example.com/robots.txt")),
        ("other-site",),
    ),
    Comes(
        PLACE,
        "Different protocols have different files.",
        (("url", ROOT), ("final_url", "http://example.com/robots.txt")),
        ("other-site",),
    ),
    Comes(
        PLACE,
        "Different ports have different files.",
        (("url", ROOT), ("final_url", "https://example.com:8443/robots.txt")),
        ("other-site",),
    ),
    Comes(
        PLACE,
        "What is no URL is not where robots look.",
        (("url", "http://[x/robots.txt"),),
        ("wrong-location",),
    ),
    *(
        Comes(ACCESS, f"{count} redirects.", (("redirects", count),), codes)
        for count, codes in (
            (0, ()),
            (4, ()),
            (5, ("many-redirects",)),
            (9, ("many-redirects",)),
            (10, ("many-redirects",)),
            (11, ("too-many-redirects",)),
            (25, ("too-many-redirects",)),
        )
    ),
    *(
        Comes(ACCESS, f"Status {status}.", (("status", status),), codes)
        for status, codes in (
            (200, ()),
            (201, ("status-not-200",)),
            (204, ("status-not-200",)),
            (301, ("unfinished-redirect",)),
            (401, ("status-forbids",)),
            (403, ("status-forbids",)),
            (404, ("status-not-found",)),
            (410, ("status-not-found",)),
            (400, ("status-client-error",)),
            (429, ("status-too-many-requests",)),
            (500, ("status-server-error",)),
            (503, ("status-server-error",)),
            (599, ("status-server-error",)),
            (100, ("status-unknown",)),
            (-1, ("status-unknown",)),
        )
    ),
    *(
        Comes(TIMEOUT, f"{seconds} seconds.", (("seconds", seconds),), codes)
        for seconds, codes in (
            (0.0, ()),
            (4.99, ()),
            (5.0, ("slow",)),
            (9.9, ("slow",)),
            (10.0, ("too-slow",)),
        )
    ),
    Comes(
        ACCESS, "Half a file.", (("status", 200), ("incomplete", True)), ("incomplete",)
    ),
    *(
        Comes(FORMAT, f"Content-Type {header!r}.", (("content_type", header),), codes)
        for header, codes in (
            ("text/plain", ()),
            ("Text/Plain; Charset=UTF-8", ()),
            ('text/plain;charset="utf-8"', ()),
            ("", ("no-content-type",)),
            ("text/html", ("not-text-plain",)),
            ("text/plain; charset=windows-1251", ("charset-not-utf-8",)),
        )
    ),
    *(
        Comes(
            FORMAT,
            f"Content-Encoding {header!r}.",
            (("content_encoding", header),),
            codes,
        )
        for header, codes in (
            ("", ()),
            ("gzip", ()),
            ("gzip, br", ()),
            ("compressed", ("unknown-content-encoding",)),
        )
    ),
)
