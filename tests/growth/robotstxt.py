"""Files, URLs and robots' names made to be as slow to read as possible."""

from __future__ import annotations

import random
from itertools import count

from mandelbot import DIALECTS, RobotsTxt, lint, normalize, usage
from mandelbot.preferences.of_file import preference_lines
from mandelbot.robotstxt.agents import header_text, product_tokens
from mandelbot.robotstxt.paths import as_servers_read_it
from mandelbot.robotstxt.times import rate_at

from growth import Row, numbered, repeated

AGENT = "Mandelbot/1.0 (+https://www.example.com/bot)"
_SITE = "https://www.example.com"
_URL = _SITE + "/" + "a" * 1000 + "/b?a=1"

_ALL = b"User-agent: *\n"
_TWO = b"User-agent: *\nRobot-version: 2.0\n"  # globs, in the dialect that knows them
_RULE = _TWO + b"Disallow: /"


def _two_lists(agents, rules):
    """Return the shape of a run of User-agent lines and as many rules."""

    def make(size):
        return numbered(agents)(size // 2) + numbered(rules)(size // 2)

    return make


def _nested(template, head=_ALL):
    """Return the shape of rules that begin each other."""

    def make(size):
        lines, left = [head], size
        for length in count(1):
            lines.append(template % ((b"a" * length,) * template.count(b"%b")))
            left -= len(lines[-1])
            if left <= 0:
                return b"".join(lines)
        raise AssertionError("numbers do not end")

    return make


def _random(size):
    return random.Random(1).randbytes(size)


def _utf16(size):
    return "\ufeff".encode("utf-16-le") + "User-agent: *\nDisallow: /é\n".encode(
        "utf-16-le"
    ) * (size // 54)


FILES = {
    # Of the use of pages.
    "preferences": numbered(b"Content-Usage: /%d train-ai=n\n", _ALL),
    "preferences for one path": numbered(
        b"Content-Usage: /a train-ai=n, a%d=y\n", _ALL
    ),
    "preferences with wildcards": numbered(
        b"Content-Usage: /*a*b?%d train-ai=n\n", _ALL
    ),
    "signals": numbered(b"Content-Signal: ai-train=no, a%d=yes\n", _ALL),
    "signals of paths": numbered(b"Content-Signal: /%d ai-train=no\n", _ALL),
    "a control token": repeated(b"User-agent: GPTBot\nDisallow: /a\n\n"),
    "licences": numbered(b"License: /%d\n"),
    # Rules.
    "rules": numbered(b"Disallow: /path/%d/of/some/length\n", _ALL),
    "one rule again and again": repeated(b"Disallow: /a\n", _ALL),
    "rules, Allow and Disallow": numbered(b"Disallow: /%d\nAllow: /%d/a\n", _ALL),
    "one path, Allow and Disallow": repeated(b"Disallow: /a\nAllow: /a\n", _ALL),
    "nested rules": _nested(b"Disallow: /%b\n"),
    "nested rules with stars": _nested(b"Disallow: /%b*b\nAllow: /%b*$\n"),
    "empty rules": repeated(b"Disallow:\n", _ALL),
    "full URLs": numbered(b"Disallow: https://www.example.com/%d\n", _ALL),
    "paths without a slash": numbered(b"Disallow: p%d\n", _ALL),
    "long rules": repeated(b"Disallow: /" + b"a" * 990 + b"\n", _ALL),
    "one long rule": repeated(b"a", _RULE),
    "rules with comments": numbered(b"Disallow: /%d # why\n", _ALL),
    "one rule with comments": repeated(b"Disallow: /a # why\n", _ALL),
    "outside of groups": numbered(b"Disallow: /%d\n"),
    "refusals of older drafts": numbered(b"DisallowAITraining: /%d\n", _ALL),
    "one robot again and again": repeated(b"User-agent: a\nSitemap: x\n"),
    "hosts as paths": numbered(
        b"Sitemap: https://h%d.com/s.xml\nDisallow: /h%d.com/\n", _ALL
    ),
    "invisible characters in a line": repeated(b"\xe2\x80\x8b", _RULE, b"\n"),
    # Sitemaps.
    "signs before fields": repeated(b"* Disallow: /a\n", _ALL),
    "signs before a field": repeated(b"*", _ALL, b"Disallow: /a\n"),
    "names in brackets": numbered(b"User-agent: [bot%d]\n"),
    "hyphens in a name": repeated(b"-", b"User-agent: chat", b"gpt\n"),
    "sitemaps as links": numbered(b"Sitemap: [%d](https://a.b/s.xml)\n"),
    "brackets of a link": repeated(b"[a](", b"Sitemap: ", b"https://a.b/s.xml)\n"),
    "semicolons behind a sitemap": repeated(b";", b"Sitemap: https://a.b/s.xml", b"\n"),
    "blanks before a sitemap": repeated(b" ", b"Sitemap", b"https://a.b/s.xml\n"),
    "blanks and no sitemap": repeated(b" ", b"Sitemap", b"x\n"),
    "sitemaps without a colon": numbered(b"Sitemap https://a.b/%d.xml\n"),
    "sitemaps in a line": repeated(b"https://a.b/s.xml, ", b"Sitemap: ", b"\n"),
    "sitemaps without a field": numbered(b"https://a.b/%d.xml\n"),
    "a long sitemap without a field": repeated(b"sitemap", b"https://a.b/", b"/\n"),
    # Wildcards.
    "stars in a line": repeated(b"*", _RULE, b"b\n"),
    "stars and letters in a line": repeated(b"*a", _RULE, b"*b\n"),
    "dollars in a line": repeated(b"$", _RULE, b"\n"),
    "rules of stars": repeated(b"Disallow: /*a*a*a*a*a*b\n", _TWO),
    "rules with a star": numbered(b"Disallow: /*/%d\n", _TWO),
    "rules with a star, one head each": numbered(b"Disallow: /%d*a\n", _TWO),
    "rules with a star, two heads": numbered(
        b"Disallow: /*x%d\nAllow: /a*y%d$\n", _TWO
    ),
    "rules with an end": numbered(b"Disallow: /*%d$\nAllow: /%d$\n", _TWO),
    "directory indexes": numbered(b"Allow: /%d/index.html\n", _ALL),
    # Globs.
    "question marks in a line": repeated(b"?", _RULE, b"\n"),
    "stars and question marks in a line": repeated(b"*?", _RULE, b"\n"),
    "stars, question marks, letters in a line": repeated(b"*?a", _RULE, b"\n"),
    "brackets in a line": repeated(b"[a-z]", _RULE, b"\n"),
    "wide brackets in a line": repeated(b"[!-~]", _RULE, b"\n"),
    "wide brackets, no two alike": numbered(b"[!%d -~]", _RULE),
    "stars and brackets in a line": repeated(b"*[!b]a", _RULE, b"\n"),
    "open brackets in a line": repeated(b"[", _RULE, b"\n"),
    "brackets in brackets in a line": repeated(b"[[a]", _RULE, b"\n"),
    "empty brackets in a line": repeated(b"[]", _RULE, b"\n"),
    "backslashes in a line": repeated(b"\\a", _RULE, b"\n"),
    "rules with a question mark": numbered(b"Disallow: /*?a%d\n", _TWO),
    "rules of stars and question marks": repeated(b"Disallow: /*a?*a?*a?b\n", _TWO),
    "rules of wide brackets": numbered(b"Disallow: /*[!-~]a%d\n", _TWO),
    "rules of brackets, no two alike": numbered(b"Disallow: /*[!%d]a\n", _TWO),
    "globs in each other": _nested(b"Disallow: /%b*?b\nAllow: /%b[!b]*?$\n", _TWO),
    "long globs": repeated(b"Disallow: /" + b"*?a" * 300 + b"\n", _TWO),
    # Escapes, octets.
    "percent signs in a line": repeated(b"%", _RULE, b"\n"),
    "escapes in a line": repeated(b"%41", _RULE, b"\n"),
    "escapes of octets in a line": repeated(b"%e9", _RULE, b"\n"),
    "UTF-8 in a line": repeated("日".encode(), _RULE, b"\n"),
    "octets in a line": repeated(b"\xe9", _RULE, b"\n"),
    "rules with escapes": numbered(b"Disallow: /%%7e%d%%2f\n", _ALL),
    "rules in UTF-8": numbered("Disallow: /é%d\n".encode(), _ALL),
    "rules with octets": numbered(b"Disallow: /\xe9%d\n", _ALL),
    "UTF-16": _utf16,
    "random octets": _random,
    # Groups.
    "many agents, many rules": _two_lists(b"User-agent: bot%d\n", b"Disallow: /%d\n"),
    "many groups": numbered(b"User-agent: bot%d\nDisallow: /%d\n\n"),
    "many groups of two": numbered(
        b"User-agent: a%d\nUser-agent: b\nDisallow: /%d\n\n"
    ),
    "one group again and again": repeated(b"User-agent: *\nDisallow: /a\n"),
    "groups for one agent": numbered(b"User-agent: *\nDisallow: /%d\n\n"),
    "groups for one agent and another": numbered(
        b"User-agent: a\nDisallow: /%d\nUser-agent: a\nUser-agent: b\nAllow: /%d\n"
    ),
    "groups for two agents in turn": numbered(
        b"User-agent: a\nDisallow: /%d\n\nUser-agent: b\nDisallow: /%d\n\n"
    ),
    "one agent again and again": repeated(b"User-agent: bot\n"),
    "agents, each twice": lambda size: numbered(b"User-agent: bot%d\n")(size // 2) * 2,
    "agents without a name": repeated(b"User-agent:\n"),
    "agents and blank lines": numbered(b"User-agent: bot%d\n\n"),
    "agents and comments": numbered(b"# what\nUser-agent: bot%d # why\nDisallow: /\n"),
    "agents of several words": numbered(
        b"User-agent: bot %d/1.0, other\nDisallow: /\n"
    ),
    "a long name": repeated(b"a", b"User-agent: ", b"\nDisallow: /\n"),
    "words in a name": repeated(b"a ", b"User-agent: ", b"\nDisallow: /\n"),
    "versions": repeated(b"User-agent: *\nRobot-version: 2.0\nDisallow: /a\n\n"),
    "odd versions": repeated(b"User-agent: *\nRobot-version: 2.1\nDisallow: /a\n\n"),
    "versions in a group": repeated(b"Robot-version: 2.0\n", _ALL),
    "digits of a version": repeated(b"9", b"User-agent: *\nRobot-version: 2."),
    "dots of a version": repeated(b".1", b"User-agent: *\nRobot-version: 2", b"x\n"),
    # Other fields.
    "sitemaps": numbered(b"Sitemap: https://www.example.com/%d.xml\n"),
    "one sitemap": repeated(b"Sitemap: https://www.example.com/sitemap.xml\n"),
    "relative sitemaps": numbered(b"Sitemap: %d.xml\n"),
    "hosts": numbered(b"Host: www%d.example.com\n"),
    "parameters": numbered(b"Clean-param: p%d&q /a\n"),
    "parameters in a line": repeated(b"p&", b"Clean-param: ", b" /a\n"),
    "delays": numbered(b"Crawl-delay: %d\n", _ALL),
    "digits of a delay": repeated(b"9", _ALL + b"Crawl-delay: "),
    "rates": numbered(b"Request-rate: 1/%d\n", _TWO),
    "rates at times": repeated(b"Request-rate: 1/10m 1300-1659\n", _TWO),
    "digits of a rate": repeated(b"9", _TWO + b"Request-rate: 1/"),
    "spaces of a rate": repeated(b" ", _TWO + b"Request-rate: 1/1", b"x\n"),
    "rates in other words": numbered(b"Request-rate: %d/3h 09.00-15.00\n", _TWO),
    "bare rates": numbered(b"Request-rate: %d\n", _TWO),
    "times": repeated(b"Visit-time: 0600-0845\n", _TWO),
    "times in other words": repeated(b"Visit-time: 12.00-17.00\n", _TWO),
    "spaces of a time": repeated(b" ", _TWO + b"Visit-time: 0600", b"x\n"),
    "comments to people": numbered(b"Comment: number %d\n", _TWO),
    "unknown fields": numbered(b"Field%d: x\n", _ALL),
    "misspelt fields": repeated(b"Dissalow: /a\n", _ALL),
    "misspelt fields, no two alike": numbered(b"Disal%dlow: /a\n", _ALL),
    "a long field": repeated(b"a", _ALL, b": x\n"),
    "noindex": numbered(b"Noindex: /%d\n", _ALL),
    # Lines.
    "colons in a line": repeated(b":", _ALL + b"x", b"\n"),
    "colons in a comment": repeated(b"a:", _ALL + b"#", b"\n"),
    "colons in a rule": repeated(b":", _RULE, b"\n"),
    "rules in a comment": repeated(b"Disallow: * ", _ALL + b"# ", b"\nDisallow: /a\n"),
    "lines of colons": repeated(b":::::::::\n", _ALL),
    "lines without a colon": repeated(b"Disallow /a\n", _ALL),
    "words without a colon": repeated(b"Disallow ", _ALL, b"\n"),
    "lines of one word": repeated(b"a\n", _ALL),
    "names of fields in a line": repeated(b" user-agent", b"", b"\n"),
    "user agents in a line": repeated(b"User-agent: * ", b"", b"\n"),
    "disallows in a line": repeated(b"disallow ", _ALL, b": /\n"),
    "spaces in a line": repeated(b" ", _ALL, b"Disallow: /a\n"),
    "spaces before a colon": repeated(b" ", _ALL + b"Disallow", b": /a\n"),
    "spaces before no colon": repeated(b" ", _ALL + b"Disallow", b"/a\n"),
    "spaces after a colon": repeated(b" ", _ALL + b"Disallow:", b"/a\n"),
    "spaces in a rule": repeated(b" ", _RULE, b"x\n"),
    "spaces and tabs": repeated(b" \t\v\f", _ALL, b"Disallow: /a\n"),
    "spaces, then an agent": repeated(b" ", b"", b"User-agent: *\nDisallow: /a\n"),
    "spaces in lines": repeated(b" " * 99 + b"\n", _ALL),
    "hashes in a line": repeated(b"#", _RULE, b"\n"),
    "spaces and hashes in a line": repeated(b" #", _RULE, b"\n"),
    "letters and hashes in a line": repeated(b"a#", _RULE, b"\n"),
    "hashes before a colon": repeated(b"#", _ALL + b"x", b": a\n"),
    "letters and hashes before a colon": repeated(b"a#", _ALL + b"x", b": a\n"),
    "lines of comments": numbered(b"# %d\n", _ALL),
    "one long comment": repeated(b"a ", _ALL + b"# ", b"\n"),
    "blank lines": repeated(b"\n", _ALL, b"Disallow: /a\n"),
    "CR LF": repeated(b"\r\n", _ALL, b"Disallow: /a\n"),
    "CR": repeated(b"\r", _ALL, b"Disallow: /a\n"),
    "rules, CR": numbered(b"Disallow: /%d\r", _ALL),
    "rules, CR LF": numbered(b"Disallow: /%d\r\n", _ALL),
    "NUL": repeated(b"\0", _ALL, b"Disallow: /a\n"),
    "NUL in lines": repeated(b"\0x\n", _ALL, b"Disallow: /a\n"),
    "lines longer than Google reads": repeated(
        b"Disallow: /" + b"a" * 16_700 + b"\n", _ALL
    ),
    "controls": repeated(b"Disallow: /a\x1b[31m\n", _ALL),
    "no line end in another sense": repeated(
        b"Disallow: /a\x0b\x0c\x1c\x1d\xc2\x85\n", _ALL
    ),
    "HTML": repeated(b'<p class="a">text: more</p>\n', b"<!DOCTYPE html><html>"),
    "tags in a line": repeated(b"<", b""),
}

URLS = {
    "letters": repeated(b"a", b"/"),
    "escapes": repeated(b"%41", b"/"),
    "escapes of octets": repeated(b"%e9", b"/"),
    "percent signs": repeated(b"%", b"/"),
    "UTF-8": repeated("日".encode(), b"/"),
    "slashes": repeated(b"/"),
    "fragments": repeated(b"#", b"/"),
    "question marks": repeated(b"?", b"/"),
    "users": repeated(b"@", b"https://"),
    "brackets": repeated(b"[", b"https://"),
    "colons": repeated(b":", b"https://a"),
    "a scheme": repeated(b"a", b"", b"://a/"),
    "schemes": repeated(b"a://"),
}

NAMES = {
    "letters": repeated(b"a"),
    "words": repeated(b"a "),
    "words, no two alike": numbered(b"a%d/1.0 "),
    "slashes": repeated(b"/"),
    "brackets": repeated(b"("),
    "dots": repeated(b".", b"", b" x"),
    "digits": repeated(b"1", b"a ", b"( x"),
    "URLs": numbered(b"+https://a%d "),
}

_FEW = (
    b"User-agent: *\nDisallow: /a*b*c$\nDisallow: /%41\nAllow: /*?a=\nDisallow:"
    b" /*a*a*a*a*b\n\nUser-agent: bot\nUser-agent: a\nRobot-version: 2.0\nDisallow:"
    b" /[a-z]*?b\nAllow: /*a?a*b\nDisallow: /*[!b]?*[!c]x\n"
)


def _reading(name):
    """Return what parses a file in the dialect of that name."""
    return lambda body: RobotsTxt.parse(body, dialect=name, max_bytes=None)


def _asked(name, times):
    """Return what parses a file and lets it decide so often: the second time makes the
    index.
    """

    def prepare(body):
        robots = _reading(name)(body)
        for _ in range(times):
            robots.allowed(_SITE + "/", AGENT)
        return robots

    return prepare


def _in_words(robots):
    return str(robots.verdict(_URL, AGENT))


_SAID = {
    "crawl_delay": lambda robots: robots.crawl_delay(AGENT),
    "request_rates": lambda robots: robots.request_rates(AGENT),
    "visit_times": lambda robots: robots.visit_times(AGENT),
    "comments": lambda robots: robots.comments(AGENT),
    "mentioned": lambda robots: robots.mentioned,
    "values_for": lambda robots: robots.values_for(AGENT, "comment"),
    "decider": lambda robots: robots.decider(AGENT).values("crawl-delay"),
    "sitemaps": lambda robots: robots.sitemaps,
    "hosts": lambda robots: robots.hosts,
    "clean_params": lambda robots: robots.clean_params,
    "licenses": lambda robots: robots.licenses,
}


def _rows_of(name):
    """Yield the rows of a dialect.

    Each decision is a turn of its own: requests come one by one.
    """
    function = "robotstxt.RobotsTxt."
    read, ask = _reading(name), lambda robots: robots.allowed(_URL, AGENT)
    yield Row(f"{function}parse", read, FILES, name)
    yield Row(f"{function}verdict", _in_words, FILES, f"{name}, at first", read)
    yield Row(
        f"{function}allowed", ask, FILES, f"{name}, making the index", _asked(name, 1)
    )
    if name in _INDEXED_IN_THEIR_WAY:
        yield Row(
            f"{function}allowed", ask, FILES, f"{name}, by the index", _asked(name, 2)
        )
    yield Row(
        f"{function}records", lambda it: it.records, FILES, name, read, bound=SLOW
    )
    yield Row(f"{function}sitemaps", lambda it: it.sitemaps, FILES, name, read)
    # The normal form is proved by six dialects, Protego and urllib.robotparser.
    # For many agents that share many rules its cost grows faster than the file, up to
    # the bound of questions.py: a limit, and so no growth. A sample of what hostile
    # globs decide takes seconds.
    files = {
        shape: file
        for shape, file in FILES.items()
        if shape != "many agents, many rules"
    }
    yield Row(
        "robotstxt.normalize",
        lambda it: normalize(it, max_decisions=2_000),
        files,
        name,
        read,
        bound=8 * SLOW,
    )

    few = RobotsTxt.parse(_FEW, dialect=name)
    yield Row(
        f"{function}allowed",
        lambda url: few.allowed(url, "bot"),
        URLS,
        f"{name}, by URL",
        bytes.decode,
    )
    yield Row(
        f"{function}verdict",
        lambda url: str(few.verdict(url, "bot")),
        URLS,
        f"{name}, by URL",
        bytes.decode,
    )
    yield Row(
        f"{function}allowed",
        lambda agent: RobotsTxt.parse(_FEW, dialect=name).allowed("/", agent),
        NAMES,
        f"{name}, by agent",
        bytes.decode,
    )


SLOW = 0.5
"""Seconds for 100 KB of what only a command does: nothing waits for it but who asked.
"""

_NO_OTHER_READING = {"rfc9309"}  # but for how long a copy is fresh it is Mandelbot's
_PATHS = {
    "slashes": repeated(b"/", b"https://example.com"),
    "dot segments": repeated(b"../", b"https://example.com/"),
    "escaped dots": repeated(b"%2e/", b"https://example.com/"),
    "segments": repeated(b"a/", b"https://example.com/", b"//"),
}
_HEADERS = {
    "names": numbered(b"Robot%d/1.0 "),
    "one name": repeated(b"a"),
    "brackets": repeated(b"("),
    "URLs": repeated(b"+https://example.com "),
    "octets": repeated(b"\xff"),
}


def _text(value):
    return value.decode("latin-1")


# the others have less to look up
_INDEXED_IN_THEIR_WAY = ("mandelbot", "google", "extended2")
# as all dialects read the fields that are no rules
_READ_ALIKE = ("mandelbot", "extended2")

ROWS = (
    *(
        row
        for name in DIALECTS
        if name not in _NO_OTHER_READING
        for row in _rows_of(name)
    ),
    Row(
        "robotstxt.lint",
        lint,
        FILES,
        prepare=_reading("mandelbot"),
        # so many pairs of rules are compared, however few rules there are
        bound=2 * SLOW,
    ),
    *(
        Row(f"robotstxt.RobotsTxt.{field}", run, FILES, name, _reading(name))
        for name in _READ_ALIKE
        for field, run in _SAID.items()
    ),
    *(
        Row(
            "preferences.usage",
            lambda robots: usage(robots, _URL, AGENT),
            FILES,
            name,
            _reading(name),
        )
        for name in _READ_ALIKE
    ),
    *(
        Row(
            "preferences.preference_lines",
            lambda robots: preference_lines(robots, AGENT),
            FILES,
            name,
            _reading(name),
        )
        for name in _READ_ALIKE
    ),
    Row(
        "robotstxt.rate_at",
        lambda rates: rate_at(rates, 600),
        {name: FILES[name] for name in ("rates", "rates at times")},
        prepare=lambda body: RobotsTxt.parse(body, dialect="extended2").request_rates(
            AGENT
        ),
    ),
    Row("robotstxt.as_servers_read_it", as_servers_read_it, _PATHS, prepare=_text),
    Row("robotstxt.header_text", header_text, _HEADERS),
    Row("robotstxt.product_tokens", product_tokens, _HEADERS, prepare=_text),
)

NOT_FROM_OUTSIDE = {
    "robotstxt.RobotsTxt.body": "as it was given",
    "robotstxt.RobotsTxt.dialect": "what the caller chose",
    "robotstxt.Record.read": "measured as RobotsTxt.records",
    "robotstxt.Record.is_blank": "measured with the records of which it is one",
    "robotstxt.known_robot_verdict": "a verdict, which is measured, by another name",
    "robotstxt.Rule.of": "a line that was matched before, cut and decoded",
    "robotstxt.RequestRate": "two numbers of nine digits at most",
    "robotstxt.TimeWindow": "two numbers",
    "robotstxt.Verdict.is_too_costly": "measured with the decision of which it is one",
}
