"""What the documents say about X-Robots-Tag headers and robots meta tags, as a table."""

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
GOOGLE_2007 = "Google, 'Robots Exclusion Protocol: now with even more flexibility' (2007)"
BING = "Bing, 'Robots Metatags'"
YANDEX = "Yandex, 'Robots meta tag and X-Robots-Tag HTTP header'"
MDN = "MDN, 'X-Robots-Tag'"
HTML = "HTML (WHATWG)"
RFC_9110 = "RFC 9110, section 5.3 'Field Order'"
DECIDED = "decided here"

NOINDEX = {"noindex": True}
NOFOLLOW = {"nofollow": True}
NONE = {"noindex": True, "nofollow": True}
NOSNIPPET = {"nosnippet": True, "max_snippet": 0, "max_video_preview": 0}


def meta(content: str, name: str = "robots") -> str:
    return f'<meta name="{name}" content="{content}">'


JOINED = (
    "noarchive, unavailable_after: Tue, 25 Jun 2027 15:00:00 PST, nofollow, examplebot: "
    "max-snippet:5, unavailable_after: Tuesday, 01-Jun-27 00:00:00 GMT, otherbot: noindex"
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
        for agent, means in (("googlebot", NOFOLLOW), ("OtherBot", NONE), ("Examplebot", {}))
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
        for name in ("noindex", "nofollow", "notranslate", "noimageindex", "indexifembedded")
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
        GOOGLE_RULES, "max-snippet:20.", page=meta("max-snippet:20"), means={"max_snippet": 20}
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
        for text in ("max-snippet:", "max-snippet: many", "max-video-preview:-2", "max-snippet:٣")
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
        page='<META NAME="GOOGLEBOT" CONTENT="unavailable_after: 25-Aug-2007 15:00:00 EST">',
        agent="Googlebot",
        means={"unavailable_after": utc(2007, 8, 25, 20)},
    ),
    TagCase(
        GOOGLE_HEADER,
        "Of conflicting rules the more restrictive applies: nosnippet over max-snippet:50.",
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
            ("max-snippet:-1, max-video-preview:7", "max-snippet:20, max-video-preview:-1"),
            ("max-snippet:20, max-video-preview:-1", "max-snippet:-1, max-video-preview:7"),
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
        GOOGLE_COMBINED, "Multiple meta tags.", page=meta("noindex") + meta("nofollow"), means=NONE
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
            f"A robot's rules end where the next robot's begin, in one header; read as {agent}.",
            headers=("BadBot: noindex, nofollow, googlebot: nofollow",),
            agent=agent,
            means=means,
        )
        for agent, means in (("badbot", NONE), ("Googlebot", NOFOLLOW), ("Examplebot", {}))
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
        "Headers that somebody on the way has joined with commas.",
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
        TagCase(BING, f"{name}: no cached page.", page=meta(name), means={"noarchive": True})
        for name in ("noarchive", "nocache")
    ),
    TagCase(
        BING, "noodp is kept, and known to nobody any more.", page=meta("noodp"), unknown=("noodp",)
    ),
    TagCase(
        BING,
        "The limits of previews.",
        page=meta("max-snippet:400, max-image-preview:large, max-video-preview:-1"),
        means={"max_snippet": 400, "max_image_preview": "large", "max_video_preview": -1},
    ),
    TagCase(
        YANDEX,
        "Several directives.",
        page=meta("noindex, nofollow", "yandex"),
        agent="Yandex",
        means=NONE,
    ),
    TagCase(YANDEX, "noyaca is kept.", page=meta("noyaca, none"), means=NONE, unknown=("noyaca",)),
    TagCase(
        DECIDED,
        "What allows does not win over what forbids (with Yandex it does, with Google not).",
        page=meta("all") + meta("index, follow, archive"),
        headers=("noindex, nofollow, noarchive",),
        means={**NONE, "noarchive": True},
    ),
    TagCase(
        DECIDED,
        "'robots:' and '*:' in a header are everyone.",
        headers=("otherbot: noindex, robots: nofollow", "*: noarchive"),
        means={"nofollow": True, "noarchive": True},
    ),
    TagCase(
        DECIDED,
        "A directive with a number that nobody knows is no robot: what follows is for all.",
        headers=("max-audio-preview:30, nofollow", "priority: 7, noindex"),
        means=NONE,
        unknown=("max-audio-preview:30", "priority: 7"),
    ),
    TagCase(
        DECIDED,
        "A robot may have a name like that all the same.",
        headers=("max-bot: noindex, nofollow",),
        agent="Max-Bot",
        means=NONE,
    ),
    TagCase(
        DECIDED,
        "A robot's name may have a version.",
        headers=("Examplebot/2.1: noindex",),
        means=NOINDEX,
    ),
    TagCase(
        DECIDED,
        "A robot is known by the names in its User-Agent header.",
        page=meta("noindex", "Examplebot"),
        agent="Mozilla/5.0 (compatible; Examplebot/1.0; +https://example.com/bot)",
        means=NOINDEX,
    ),
    TagCase(
        DECIDED,
        "The description of a page says nothing to a robot whose header has that word.",
        page=meta("noindex", "description") + meta("nofollow", "viewport"),
        agent="Description Viewport Robot/1.0 (my crawler)",
    ),
    *(
        TagCase(DECIDED, "Other separators, as pages have them.", page=meta(text), means=NONE)
        for text in ("noindex nofollow", "noindex; nofollow", "noindex|nofollow", ",noindex,,none")
    ),
    TagCase(
        DECIDED,
        "Words that are not all known are one unknown directive.",
        page=meta("please noindex this, nofollow"),
        means=NOFOLLOW,
        unknown=("please noindex this",),
    ),
    TagCase(
        DECIDED,
        "A hyphen does for an underscore.",
        headers=("unavailable-after: 2027-06-25, max_snippet: 3",),
        means={"unavailable_after": utc(2027, 6, 25), "max_snippet": 3},
    ),
    TagCase(
        DECIDED,
        "A date that is none costs only itself.",
        headers=("unavailable_after: Tue, 99 Jun 2027 15:00:00 PST, noindex",),
        means=NOINDEX,
        unknown=("unavailable_after: Tue", "99 Jun 2027 15:00:00 PST"),
    ),
    TagCase(
        DECIDED,
        "A word that could be a zone's is none behind a comma.",
        headers=("unavailable_after: 25 Jun 2027 15:00:00, none",),
        means={**NONE, "unavailable_after": utc(2027, 6, 25, 15)},
    ),
    *(
        TagCase(
            DECIDED,
            "Of a header or a tag 4,096 characters are read, of a directive 200.",
            headers=(text,) if where == "header" else (),
            page=meta(text) if where == "page" else "",
            means=NOFOLLOW,
            unknown=("x" * 200,),
        )
        for where in ("header", "page")
        for text in (f"nofollow, {'x' * 300}, {'all, ' * 800}noindex",)
    ),
    TagCase(
        DECIDED,
        "An agent's name in a page's tag stands in its name, not in its content.",
        page=meta("examplebot: noindex"),
        unknown=("examplebot: noindex",),
    ),
    TagCase(
        f"{HTML}, 13.1.2.3 'Attributes'",
        "Attributes in any order, with quotes of either kind or none.",
        page="<meta content='noindex' name=robots><meta content=nofollow name='robots'/>",
        means=NONE,
    ),
    TagCase(
        f"{HTML}, 13.1.2.3 'Attributes'",
        "White space around the equals sign and within the tag.",
        page='<meta\n\tname = "robots"\n\fcontent\r\n=\r\n"noindex"\n>',
        means=NOINDEX,
    ),
    TagCase(
        f"{HTML}, 13.2.5.33 'Attribute name state'",
        "Of an attribute that is there twice the first counts.",
        page='<meta name="robots" name="other" content="noindex" content="nofollow">',
        means=NOINDEX,
    ),
    TagCase(
        f"{HTML}, 13.5 'Named character references'",
        "Character references in names and values.",
        page='<meta name="&#114;obots" content="no&#x69;ndex&comma; nofollow">',
        means=NONE,
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.5 'Tokenization'",
            f"What is in {what} is no tag, and what comes after is.",
            page=f"<head>{before}{meta('noindex')}{after}{meta('nofollow')}</head>",
            means=NOFOLLOW,
        )
        for what, before, after in (
            ("a comment", "<!-- ", " -->"),
            ("a comment with a strange end", "<!-- ", " --!>"),
            ("a script", "<script>var x = '", "';</script>"),
            ("a script with a comment", "<SCRIPT TYPE=a><!--\n", "\n//--></SCRIPT >"),
            ("a style", "<style>/* ", " */</style>"),
            ("a title", "<title>", "</title>"),
            ("noscript", "<noscript>", "</noscript>"),
            ("a template", "<template>", "</template>"),
            ("a template in a template", "<template><template></template>", "</template>"),
            ("a value", "<link title='", "'>"),
        )
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.6.4.4 'The \"in head\" insertion mode'",
            f"What comes after {what} is not of the head.",
            page=f"<html><head>{meta('noindex')}{end}{meta('nofollow')}",
            means=NOINDEX,
        )
        for what, end in (
            ("the body's beginning", "</head><body>"),
            ("the body's beginning in capitals", "</HEAD>\n<BODY class=x>"),
            ("an element that cannot be in a head", "<p>"),
            ("such an element after the head's end", "</head>\n<div>"),
            ("an image", "<img src=x>"),
            ("the body's end", "</body>"),
            ("a title that does not end", "<title>"),
            ("a comment that does not end", "<!--"),
        )
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.6.4 'The rules for parsing tokens in HTML content'",
            f"{what} ends no head.",
            page=f"<!doctype html><html><head>{before}{meta('noindex')}",
            means=NOINDEX,
        )
        for what, before in (
            ("The end tag of the head", "</head>"),
            ("A processing instruction", '<?xml version="1.0"?>'),
            ("A short comment", "<!-->"),
            ("A comment nearly as short", "<!--->"),
            ("An end tag out of place", "</p></div>"),
            ("A base, a link, a meta", '<base href="/"><link rel=x><meta charset=utf-8>'),
            ("A markup declaration", "<![CDATA[x]]>"),
            ("Text out of place", "text < & >"),
            ("Markup in a value", '<meta name=description content="<p>The <body> element</p>">'),
            ("A head in a script", "<script>d.write('<head></head><body>')</script>"),
            (
                "A head after an end of another kind, in a script",
                ("<script>d.write('</style></head><body>')</script>"),
            ),
            ("A head in a comment", "<!-- <head></head><body> -->"),
            ("A quote too many", '<meta name="description" content="say "hello" to">'),
            ("A tag in another's", '<link rel="a"b" <link>'),
        )
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.5 'Tokenization'",
            "A tag that does not end is none.",
            page=meta("nofollow") + page,
            means=NOFOLLOW,
        )
        for page in (
            "<meta name=robots content=noindex",
            '<meta name="robots" content="noindex>',
            "<meta name=robots content='noindex",
            "<meta name=robots content=",
        )
    ),
    TagCase(
        f"{HTML}, 4.2.5 'The meta element'",
        "Without content, or with its name in another attribute, it says nothing.",
        page='<meta name=robots><meta property="robots" content="noindex">'
        '<meta name="" content="noindex"><meta content="noindex">',
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.3.2 'Determining the character encoding'",
            f"A page in {encoding}.",
            page=f"{mark}<!doctype html>\n{meta('noindex, nöarchive')}".encode(encoding),
            means=NOINDEX,
            unknown=("nöarchive",),
        )
        for encoding, mark in (
            *(("utf-8", ""), ("utf-8", "\ufeff"), ("utf-8", "\0"), ("latin-1", "")),
            *(("utf-16-le", "\ufeff"), ("utf-16-le", ""), ("utf-16-le", "\n <!-- か -->")),
            *(("utf-16-be", "\ufeff"), ("utf-16-be", ""), ("utf-16-be", "\n <!-- か -->")),
        )
    ),
    TagCase(
        f"{HTML}, 13.2.3.2 'Determining the character encoding'",
        "A page in ISO-2022-JP, whose text has ASCII's bytes.",
        page=f"<title>あ</title>{meta('noindex, あ')}".encode("iso2022_jp"),
        means=NOINDEX,
        unknown=("あ",),
    ),
)
