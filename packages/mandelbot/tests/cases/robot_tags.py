"""What the documents say about X-Robots-Tag headers and robots meta tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone


@dataclass(frozen=True)
class TagCase:
    """A response, who reads it, and what it says to them."""

    section: str
    """The document that says so, and where in it."""
    says: str
    """What must hold, as a sentence."""
    headers: tuple[str, ...] = ()
    """The values of its X-Robots-Tag headers."""
    page: str | bytes = b""
    """Its HTML."""
    means: dict[str, object] = field(default_factory=dict)
    """The fields that are not as they are without any tag."""
    unknown: tuple[str, ...] = ()
    agent: str | tuple[str, ...] = "Examplebot"
    others: tuple[tuple[str, str], ...] = ()
    """Further headers."""

    @property
    def all_headers(self) -> list[tuple[str, str]]:
        return [*(("X-Robots-Tag", value) for value in self.headers), *self.others]

    @property
    def octets(self) -> bytes:
        return self.page if isinstance(self.page, bytes) else self.page.encode()


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc,arg-type]


STANDARD = "Robots exclusion standard, 'Meta tags and headers'"
GOOGLE = "Google, 'Robots meta tag, data-nosnippet, and X-Robots-Tag specifications'"
GOOGLE_META = f"{GOOGLE}, 'Using the robots meta tag'"
GOOGLE_HEADER = f"{GOOGLE}, 'Using the X-Robots-Tag HTTP header'"
GOOGLE_RULES = f"{GOOGLE}, 'Valid indexing and serving rules'"
GOOGLE_COMBINED = f"{GOOGLE}, 'Handling combined indexing and serving rules'"
GOOGLE_2007 = (
    "Google, 'Robots Exclusion Protocol: now with even more flexibility' (2007)"
)
BING = "Bing, 'Robots Metatags'"
YANDEX = "Yandex, 'Robots meta tag and X-Robots-Tag HTTP header'"
MDN = "MDN, 'X-Robots-Tag'"
RFC_9110 = "RFC 9110, section 5.3 'Field Order'"

NOINDEX = {"noindex": True}
NOFOLLOW = {"nofollow": True}
NONE = {"noindex": True, "nofollow": True}
NOSNIPPET = {"nosnippet": True, "max_snippet": 0, "max_video_preview": 0}


def meta(content: str, name: str = "robots") -> str:
    return f'<meta name="{name}" content="{content}">'


JOINED = (
    "noarchive, unavailable_after: Tue, 25 Jun 2027 15:00:00 PST, nofollow, examplebot:"
    " max-snippet:5, unavailable_after: Tuesday, 01-Jun-27 00:00:00 GMT, otherbot:"
    " noindex"
)

CASES = (
    TagCase(
        STANDARD,
        "A noindex meta tag.",
        page='<meta name="robots" content="noindex" />',
        means=NOINDEX,
    ),
    TagCase(STANDARD, "A noindex header.", headers=("noindex",), means=NOINDEX),
    TagCase(
        GOOGLE_META,
        "A page with the tag in its head.",
        page="""<!DOCTYPE html>
<html><head>
  <meta name="robots" content="noindex">
  (...)
</head>
<body>(...)</body>
</html>""",
        means=NOINDEX,
    ),
    TagCase(
        GOOGLE_META,
        "Both the name and the content are case-insensitive.",
        page='<META NAME="RoBoTs" CONTENT="NoIndex">',
        means=NOINDEX,
    ),
    TagCase(
        GOOGLE_META,
        "A tag with a robot's name is that robot's.",
        page=meta("nosnippet", "googlebot"),
        agent="Googlebot",
        means=NOSNIPPET,
    ),
    TagCase(
        GOOGLE_META,
        "A tag with a robot's name is no other's.",
        page=meta("nosnippet", "googlebot"),
        means={},
    ),
    *(
        TagCase(
            GOOGLE_META,
            f"Several robots have a tag each; {agent} hears its own.",
            page=meta("notranslate", "googlebot") + meta("nosnippet", "googlebot-news"),
            agent=agent,
            means=means,
        )
        for agent, means in (
            ("Googlebot", {"notranslate": True}),
            ("Googlebot-News", NOSNIPPET),
        )
    ),
    TagCase(
        GOOGLE_META,
        "A robot with two names hears what is said to either.",
        page=meta("notranslate", "googlebot") + meta("noarchive", "googlebot-news"),
        agent=("Googlebot-News", "Googlebot"),
        means={"notranslate": True, "noarchive": True},
    ),
    TagCase(
        GOOGLE_META,
        "AdsBot-Google is spoken to by its own name.",
        page=meta("noindex", "AdsBot-Google"),
        agent="AdsBot-Google (+http://www.google.com/adsbot.html)",
        means=NOINDEX,
    ),
    TagCase(
        GOOGLE_HEADER,
        "Several headers count together.",
        headers=("noimageindex", "unavailable_after: 25 Jun 2010 15:00:00 PST"),
        means={"noimageindex": True, "unavailable_after": utc(2010, 6, 25, 23)},
    ),
    *(
        TagCase(
            GOOGLE_HEADER,
            f"A header may name the robot that it is for; read as {agent}.",
            headers=("googlebot: nofollow", "otherbot: noindex, nofollow"),
            agent=agent,
            means=means,
        )
        for agent, means in (
            ("googlebot", NOFOLLOW),
            ("OtherBot", NONE),
            ("Examplebot", {}),
        )
    ),
    TagCase(
        GOOGLE_HEADER,
        "User agent and values are not case-sensitive.",
        headers=("EXAMPLEBOT: NOINDEX",),
        means=NOINDEX,
    ),
    TagCase(
        GOOGLE_HEADER,
        "Nor is the header's name.",
        others=(("x-rObOts-taG", "noindex"),),
        means=NOINDEX,
    ),
    *(
        TagCase(
            GOOGLE_RULES,
            f"{name} says just that.",
            headers=(name,),
            means={name: True},
        )
        for name in (
            "noindex",
            "nofollow",
            "notranslate",
            "noimageindex",
            "indexifembedded",
        )
    ),
    TagCase(GOOGLE_RULES, "all has no effect.", headers=("all",), means={}),
    TagCase(GOOGLE_RULES, "none is noindex, nofollow.", headers=("none",), means=NONE),
    TagCase(
        GOOGLE_RULES,
        "nosnippet: neither a text snippet nor a video preview.",
        headers=("nosnippet",),
        means=NOSNIPPET,
    ),
    TagCase(
        GOOGLE_RULES,
        "indexifembedded may stand beside noindex, and does not undo it.",
        headers=("noindex, indexifembedded",),
        means={"noindex": True, "indexifembedded": True},
    ),
    TagCase(
        GOOGLE_RULES,
        "max-snippet:0 is nosnippet, and says nothing about video previews.",
        page=meta("max-snippet:0"),
        means={"nosnippet": True, "max_snippet": 0},
    ),
    TagCase(
        GOOGLE_RULES,
        "max-snippet:20.",
        page=meta("max-snippet:20"),
        means={"max_snippet": 20},
    ),
    TagCase(
        GOOGLE_RULES,
        "max-snippet:-1 leaves the length to the robot.",
        page=meta("max-snippet:-1"),
        means={"max_snippet": -1},
    ),
    *(
        TagCase(
            GOOGLE_RULES,
            f"{text} is ignored: no parseable number.",
            headers=(text,),
            unknown=(text,),
        )
        for text in (
            "max-snippet:",
            "max-snippet: many",
            "max-video-preview:-2",
            "max-snippet:٣",
        )
    ),
    *(
        TagCase(
            GOOGLE_RULES,
            f"max-image-preview takes {value}.",
            headers=(f"max-image-preview:{value}",),
            means={"max_image_preview": value},
        )
        for value in ("none", "standard", "large")
    ),
    TagCase(
        GOOGLE_RULES,
        "max-image-preview takes no other value.",
        headers=("max-image-preview: huge, noindex",),
        means=NOINDEX,
        unknown=("max-image-preview: huge",),
    ),
    TagCase(
        GOOGLE_RULES,
        "max-video-preview:-1 is no limit.",
        page=meta("max-video-preview:-1"),
        means={"max_video_preview": -1},
    ),
    TagCase(
        GOOGLE_RULES,
        "unavailable_after takes an ISO 8601 date.",
        page=meta("unavailable_after: 2020-09-21"),
        means={"unavailable_after": utc(2020, 9, 21)},
    ),
    TagCase(
        GOOGLE_RULES,
        "unavailable_after is ignored if no valid date is specified.",
        headers=("unavailable_after: tomorrow",),
        unknown=("unavailable_after: tomorrow",),
    ),
    TagCase(
        GOOGLE_2007,
        "unavailable_after takes an RFC 850 date, in a robot's own tag.",
        page=(
            '<META NAME="GOOGLEBOT" CONTENT="unavailable_after: 25-Aug-2007 15:00:00'
            ' EST">'
        ),
        agent="Googlebot",
        means={"unavailable_after": utc(2007, 8, 25, 20)},
    ),
    TagCase(
        GOOGLE_HEADER,
        "Of conflicting rules the more restrictive applies: nosnippet over"
        " max-snippet:50.",
        page=meta("max-snippet:50") + meta("nosnippet"),
        means=NOSNIPPET,
    ),
    TagCase(
        GOOGLE_HEADER,
        "Of two numbers the smaller applies, whichever comes first.",
        headers=("max-snippet:50", "max-snippet:20", "max-snippet:30"),
        means={"max_snippet": 20},
    ),
    *(
        TagCase(
            GOOGLE_HEADER,
            "A number is more restrictive than no limit.",
            headers=headers,
            means={"max_snippet": 20, "max_video_preview": 7},
        )
        for headers in (
            (
                "max-snippet:-1, max-video-preview:7",
                "max-snippet:20, max-video-preview:-1",
            ),
            (
                "max-snippet:20, max-video-preview:-1",
                "max-snippet:-1, max-video-preview:7",
            ),
        )
    ),
    TagCase(
        GOOGLE_HEADER,
        "Of two sizes the smaller applies, in header and page.",
        headers=("max-image-preview:large",),
        page=meta("max-image-preview:none") + meta("max-image-preview:standard"),
        means={"max_image_preview": "none"},
    ),
    TagCase(
        GOOGLE_HEADER,
        "Of two dates the earlier applies, whatever their zones.",
        headers=(
            "unavailable_after: 2027-06-25T15:00:00Z",
            "unavailable_after: 2027-06-25T16:00:00+02:00",
        ),
        means={"unavailable_after": utc(2027, 6, 25, 14)},
    ),
    TagCase(
        GOOGLE_COMBINED,
        "A comma-separated list.",
        page=meta("noindex, nofollow"),
        means=NONE,
    ),
    TagCase(
        GOOGLE_COMBINED,
        "Multiple meta tags.",
        page=meta("noindex") + meta("nofollow"),
        means=NONE,
    ),
    TagCase(
        GOOGLE_COMBINED,
        "Values with a number and a word.",
        page=meta("max-snippet:20, max-image-preview:large"),
        means={"max_snippet": 20, "max_image_preview": "large"},
    ),
    TagCase(
        GOOGLE_COMBINED,
        "The sum of the negative rules, general and a robot's own, in the page.",
        page=meta("nofollow") + meta("noindex", "googlebot"),
        agent="Googlebot",
        means=NONE,
    ),
    TagCase(
        MDN,
        "The sum of the negative rules, general and a robot's own, in headers.",
        headers=("nofollow", "googlebot: noindex"),
        agent="googlebot",
        means=NONE,
    ),
    *(
        TagCase(
            MDN,
            "A robot's rules end where the next robot's begin, in one header; read as"
            f" {agent}.",
            headers=("BadBot: noindex, nofollow, googlebot: nofollow",),
            agent=agent,
            means=means,
        )
        for agent, means in (
            ("badbot", NONE),
            ("Googlebot", NOFOLLOW),
            ("Examplebot", {}),
        )
    ),
    TagCase(
        MDN,
        "General rules may stand before a robot's.",
        headers=("noarchive, googlebot: noindex",),
        means={"noarchive": True},
    ),
    TagCase(
        MDN,
        "A date has a comma and colons of its own.",
        headers=("unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT",),
        means={"unavailable_after": utc(2025, 12, 3, 13, 9, 53)},
    ),
    TagCase(
        RFC_9110,
        "Headers that a proxy on the way has joined with commas.",
        headers=(JOINED,),
        means={
            "noarchive": True,
            "nofollow": True,
            "max_snippet": 5,
            "unavailable_after": utc(2027, 6, 1),
        },
    ),
    TagCase(
        BING,
        "noindex,follow.",
        page=meta("noindex,follow", "bingbot"),
        agent="bingbot/2.0",
        means=NOINDEX,
    ),
    *(
        TagCase(
            BING, f"{name}: no cached page.", page=meta(name), means={"noarchive": True}
        )
        for name in ("noarchive", "nocache")
    ),
    TagCase(
        BING,
        "noodp is kept, and known to nobody any more.",
        page=meta("noodp"),
        unknown=("noodp",),
    ),
    TagCase(
        BING,
        "The limits of previews.",
        page=meta("max-snippet:400, max-image-preview:large, max-video-preview:-1"),
        means={
            "max_snippet": 400,
            "max_image_preview": "large",
            "max_video_preview": -1,
        },
    ),
    TagCase(
        YANDEX,
        "Several directives.",
        page=meta("noindex, nofollow", "yandex"),
        agent="Yandex",
        means=NONE,
    ),
    TagCase(
        YANDEX,
        "noyaca is kept.",
        page=meta("noyaca, none"),
        means=NONE,
        unknown=("noyaca",),
    ),
)
