"""What the documents about the use of pages say, as tables: their every example."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import cleandoc

ATTACH = "draft-ietf-aipref-attach, 19 August 2026"
VOCAB = "draft-ietf-aipref-vocab, 19 August 2026"
OLDER = "draft-ietf-aipref-vocab, May to November 2025"
CANEL = "draft-canel-robots-ai-control-00, 21 October 2024"
KELLEY = "draft-kelley-aipref-training-preference-signal-00, 30 October 2026"
SIGNALS = "Content Signals Policy, 24 September 2025"
USE = "Content Signals, 'use', 1 July 2026"
MANAGED = "Cloudflare, managed robots.txt"
TDMREP = "TDM Reservation Protocol, 10 May 2024"
NOAI = "DeviantArt, noai, 2022"
REPEXT = "draft-illyes-repext-03, 18 April 2026"
TOKENS = "vendors' pages, November 2026"
RSL = "RSL 1.0, December 2025"
DECIDED = "decided here"

Y, N, U = "allowed", "disallowed", "unknown"


@dataclass(frozen=True)
class UsageCase:
    """What is said of a page, and what that means."""

    document: str
    section: str
    says: str
    """What must hold, as a sentence."""
    robots: str | bytes = ""
    """The robots.txt; text is dedented."""
    url: str = "https://example.com/page"
    agent: str | tuple[str, ...] = "Examplebot"
    headers: tuple[tuple[str, str], ...] = ()
    page: str | bytes = ""
    tdmrep: str | None = None
    means: dict[str, str] = field(default_factory=dict)
    """The categories that are not unknown."""
    of_images: dict[str, str] | None = None
    """The same of an image; None: as of a page."""
    lines: tuple[tuple[str, int | None], ...] = ()
    """Where each statement stood: place and line, in order; empty: not compared."""
    terms: tuple[str, ...] = ()
    """The URLs of terms."""
    is_crawlable: bool = True

    @property
    def file(self) -> bytes:
        return (
            self.robots
            if isinstance(self.robots, bytes)
            else cleandoc(self.robots).encode()
        )

    @property
    def octets(self) -> bytes:
        return self.page if isinstance(self.page, bytes) else self.page.encode()


def usage_header(*values: str) -> tuple[tuple[str, str], ...]:
    return tuple(("Content-Usage", value) for value in values)


def _vocab(value: str, says: str, section: str, **means: str) -> UsageCase:
    named = {key.replace("_", "-"): answer for key, answer in means.items()}
    return UsageCase(VOCAB, section, says, headers=usage_header(value), means=named)


_EXAMPLE = """
    User-Agent: *
    Allow: /
    Disallow: /never/
    Content-Usage: train-ai=n
    Content-Usage: /ai-ok/ train-ai=y

    User-Agent: ExampleBot
    Allow: /
    Content-Usage: train-ai=y
"""
_T = "Example"


def _table(path: str, agent: str, says: str, **kwargs) -> UsageCase:
    return UsageCase(
        ATTACH,
        _T,
        says,
        robots=_EXAMPLE,
        url=f"https://example.com{path}",
        agent=agent,
        **kwargs,
    )


def _older(value: str, says: str, **means: str) -> UsageCase:
    named = {key.replace("_", "-"): answer for key, answer in means.items()}
    return UsageCase(OLDER, "Labels", says, headers=usage_header(value), means=named)


_ALL = {"search": N, "ai_input": N, "train_ai": N, "tdm": N}
_POLICY = """
    User-agent: *
    Disallow: /admin/

    User-agent: __usage_ai-training
    Disallow: /articles/
    Allow: /articles/free/
"""

ATTACHED = (
    UsageCase(
        *(ATTACH, "Examples", "The header says that the content is not for training."),
        headers=(("Content-Type", "text/plain"), *usage_header("train-ai=n")),
        means={"train-ai": N},
        lines=(("header", None),),
    ),
    UsageCase(
        *(ATTACH, "Examples", "The file says the same of all pages."),
        robots="User-Agent: *\nAllow: /\nContent-Usage: train-ai=n",
        means={"train-ai": N},
        lines=(("robots.txt", 3),),
    ),
    _table(
        "/test", "Otherbot", "The rule without a path counts.", means={"train-ai": N}
    ),
    _table(
        *("/never/test", "Otherbot", "What may not be crawled has no preference."),
        is_crawlable=False,
    ),
    _table(
        *("/ai-ok/test", "Otherbot", "The longest path counts."),
        means={"train-ai": Y},
        lines=(("robots.txt", 5),),
    ),
    _table(
        "/never/test", "ExampleBot", "Its own group allows all.", means={"train-ai": Y}
    ),
    _table("/test", "ExampleBot", "Its own group is used.", means={"train-ai": Y}),
    UsageCase(
        *(
            ATTACH,
            "Content-Usage Rule Semantics",
            "Rules with one path combine: the strictest.",
        ),
        robots="""
            User-agent: *
            Content-Usage: /a train-ai=y, search=y
            Content-Usage: /a train-ai=n
        """,
        url="https://example.com/a/b",
        means={"train-ai": N, "search": Y},
    ),
    UsageCase(
        *(
            ATTACH,
            "Content-Usage Rule Semantics",
            "A path is compared as of Allow: escapes alike.",
        ),
        robots="User-agent: *\nContent-Usage: /%7Ejoe/caf%c3%a9 train-ai=n",
        url="https://example.com/~joe/café",
        means={"train-ai": N},
    ),
    UsageCase(
        *(
            ATTACH,
            "Content-Usage Rule Semantics",
            "Wildcards mean what they mean for Allow.",
        ),
        robots="User-agent: *\nContent-Usage: /*.jpg$ train-ai=n",
        url="https://example.com/a/b.jpg",
        means={"train-ai": N},
    ),
    UsageCase(
        *(ATTACH, "Content-Usage Rule Semantics", "And $ is the end."),
        robots="User-agent: *\nContent-Usage: /*.jpg$ train-ai=n",
        url="https://example.com/a/b.jpg?x",
    ),
    UsageCase(
        *(
            ATTACH,
            "Content-Usage Rule Semantics",
            "Length is counted in bytes of the escapes.",
        ),
        robots="""
            User-agent: *
            Content-Usage: /é train-ai=n
            Content-Usage: /%C3* train-ai=y
        """,
        url="https://example.com/%C3%A9",
        means={"train-ai": N},
    ),
    UsageCase(
        *(
            ATTACH,
            "Content-Usage Rule Semantics",
            "The order of rules carries no meaning.",
        ),
        robots="""
            User-agent: *
            Content-Usage: /ai-ok/ train-ai=y
            Disallow: /never/
            Content-Usage: train-ai=n
            Allow: /
        """,
        url="https://example.com/ai-ok/",
        means={"train-ai": Y},
    ),
    UsageCase(
        *(
            ATTACH,
            "Processing Content-Usage Rules",
            "White space around label and colon is none.",
        ),
        robots="User-agent: *\n\t content-usage\t : \ttrain-ai=n\t# why\n",
        means={"train-ai": N},
    ),
    UsageCase(
        *(ATTACH, "Processing Content-Usage Rules", "A tab ends a path as well."),
        robots="User-agent: *\nContent-Usage: /page\ttrain-ai=n",
        means={"train-ai": N},
    ),
    UsageCase(
        *(ATTACH, "Processing Content-Usage Rules", "The value ends at #."),
        robots="User-agent: *\nContent-Usage: search=y #, train-ai=n",
        means={"search": Y},
    ),
    UsageCase(
        *(
            ATTACH,
            "Processing Content-Usage Rules",
            "Without a slash at its start there is none.",
        ),
        robots="User-agent: *\nContent-Usage: page train-ai=n",
    ),
    UsageCase(
        *(
            ATTACH,
            "When Preferences Apply",
            "Groups of one robot are merged, as for rules.",
        ),
        robots="""
            User-agent: *
            Content-Usage: search=y

            User-agent: *
            Content-Usage: train-ai=n
        """,
        means={"search": Y, "train-ai": N},
    ),
)

_RULES = "Processing Algorithm"
_MANY = "Multiple Preferences"
VOCABULARY = (
    _vocab(
        "train-ai=y, search=n",
        "Training is allowed, search is not.",
        "Exemplary Serialization Format",
        train_ai=Y,
        search=N,
    ),
    _vocab(
        'train-ai=y, train-ai, search=n, search="n"',
        "The last value of a key counts, and neither is a token.",
        _MANY,
    ),
    _vocab(
        "train-ai;allow=n, train-ai=y",
        "Parameters of a value that is replaced are gone.",
        "Preference Parameters",
        train_ai=Y,
    ),
    _vocab(
        'train-ai;has;parameters="?";',
        "With parameters, and unknown.",
        "Preference Parameters",
    ),
    _vocab(
        "train-ai=n;q=1;why=x", "Unknown parameters are ignored.", _RULES, train_ai=N
    ),
    _vocab("Train-AI=n", "Keys are case-sensitive: this is no Dictionary.", _MANY),
    _vocab(
        "train-ai=n, Search=y", "One key with a capital makes all of it unknown.", _MANY
    ),
    _vocab("train-ai=N", "Only the token n is one.", _RULES),
    _vocab("train-ai=no", "No other token is.", _RULES),
    _vocab("train-ai=?0", "Nor is a boolean.", _RULES),
    _vocab('train-ai="n"', "Nor a string.", _RULES),
    _vocab("train-ai=(n)", "Nor a list.", _RULES),
    _older("ai=n", "AI Training was ai until 18 July 2025.", train_ai=N),
    _older("ai=y", "A permission counts only in the form in force."),
    _older("genai=n", "Generative AI Training is training.", train_ai=N),
    _older("train-genai=n", "Its label until October 2025, too.", train_ai=N),
    _older("tdm=n", "Training was a subset of TDM.", tdm=N, train_ai=N),
    _older("tdm=n, train-ai=y", "The narrower label has its own.", tdm=N, train_ai=Y),
    _older("inference=n", "AI Inference is the input of a model.", ai_input=N),
    _older("ai-use=n", "AI Use is, too.", ai_input=N),
    _older("ai-output=n", "AI Output held Search.", ai_input=N, search=N),
    _older("ai-output=n, search=y", "Search by itself is open.", ai_input=N, search=Y),
    _older("all=n", "Automated Processing held all.", **_ALL),
    _older("bots=n", "Its label since September 2025, too.", **_ALL),
    _older(
        *("bots=n, search=y", "What is allowed by itself is open."),
        **{**_ALL, "search": Y},
    ),
    _older(
        "ai=n, train-ai=y", "Two labels of one category: it is refused.", train_ai=N
    ),
    _older("all=y, bots=y, tdm=y, genai=y, ai-use=y", "None of these allows anything."),
    UsageCase(
        *(CANEL, "DisallowAITraining", "A path, as of Disallow, is not for training."),
        robots="User-agent: *\nDisallow: /admin\nDisallowAITraining: /art",
        url="https://example.com/art/1",
        means={"train-ai": N},
        lines=(("robots.txt", 3),),
    ),
    UsageCase(
        *(CANEL, "DisallowAITraining", "Other paths are not meant."),
        robots="User-agent: *\nDisallowAITraining: /art",
        url="https://example.com/b",
    ),
    UsageCase(
        *(CANEL, "DisallowAITraining", "Without a path nothing is refused."),
        robots="User-agent: *\nDisallowAITraining:\nDisallowAITraining: yes",
    ),
    UsageCase(
        *(CANEL, "DisallowAITraining", "Capitals, wildcards and escapes as elsewhere."),
        robots="User-agent: *\ndisallowaitraining: /*/caf%c3%a9$",
        url="https://example.com/a/café",
        means={"train-ai": N},
    ),
    UsageCase(
        *(CANEL, "AllowAITraining", "A permission counts only in the form in force."),
        robots="User-agent: *\nDisallowAITraining: /\nAllowAITraining: /art",
        url="https://example.com/art/1",
        means={"train-ai": N},
    ),
    UsageCase(
        *(CANEL, "DisallowAITraining", "As a rule it is for the robots of its group."),
        robots="User-agent: Otherbot\nDisallowAITraining: /\n\nUser-agent: *\nAllow: /",
    ),
    UsageCase(
        *(CANEL, "DisallowAITraining", "As a tag it is about the page."),
        page='<meta name="robots" content="DisallowAITraining">',
        means={"train-ai": N},
        lines=(("meta", 1),),
    ),
    UsageCase(
        *(KELLEY, "Abstract", "A group of the policy token refuses training."),
        robots=_POLICY,
        url="https://example.com/articles/1",
        means={"train-ai": N},
        lines=(("robots.txt", 5),),
    ),
    UsageCase(
        *(KELLEY, "Abstract", "The longest match decides: an Allow lifts a Disallow."),
        robots=_POLICY,
        url="https://example.com/articles/free/1",
    ),
    UsageCase(
        *(KELLEY, "Abstract", "Other paths are not meant, and nothing is permitted."),
        robots=_POLICY,
        url="https://example.com/about",
    ),
    UsageCase(
        *(KELLEY, "Abstract", "Without its group the file says nothing by it."),
        robots="User-agent: *\nDisallow: /a",
        url="https://example.com/b",
    ),
    _vocab(
        "ai-input=n, search=y",
        "Unknown labels are ignored.",
        "Syntax Extensions",
        search=Y,
    ),
    _vocab("train-ai=n,", "What cannot be parsed is unknown.", _RULES),
    _vocab("train-ai=n search=y", "So is this.", _RULES),
    _vocab("", "No member, no preference.", _RULES),
    UsageCase(
        *(VOCAB, "Combining Preferences", "Any statement that disallows wins."),
        robots="User-agent: *\nContent-Usage: train-ai=y",
        headers=usage_header("train-ai=n"),
        means={"train-ai": N},
        lines=(("robots.txt", 2), ("header", None)),
    ),
    UsageCase(
        *(VOCAB, "Combining Preferences", "The other way round, too."),
        robots="User-agent: *\nContent-Usage: train-ai=n",
        headers=usage_header("train-ai=y"),
        means={"train-ai": N},
    ),
    UsageCase(
        *(VOCAB, "Combining Preferences", "Else any that allows."),
        robots="User-agent: *\nContent-Usage: search=n",
        headers=usage_header("train-ai=y"),
        means={"train-ai": Y, "search": N},
    ),
    UsageCase(
        *(
            "RFC 9651",
            "4.2",
            "Several lines of a header are one Dictionary: the last counts.",
        ),
        headers=usage_header("train-ai=n, search=y", "search=n"),
        means={"train-ai": N, "search": N},
    ),
)

_BLOCK = """
    # BEGIN Cloudflare Managed content
    User-agent: *
    Content-Signal: search=yes,ai-train=no,use=reference
    Allow: /

    User-agent: Amazonbot
    Disallow: /

    User-agent: CCBot
    Disallow: /
    # END Cloudflare Managed Content

    User-agent: *
    Disallow: /private
"""
CLOUDFLARE = (
    UsageCase(
        *(
            MANAGED,
            "the block",
            "Search is allowed, training is not, answers are left open.",
        ),
        robots=_BLOCK,
        means={"search": Y, "train-ai": N, "tdm": N},
        lines=(
            ("robots.txt", 3),  # search=yes
            ("robots.txt", 3),  # ai-train=no
            ("robots.txt", 3),  # use=reference
            ("robots.txt", 7),
            ("robots.txt", 10),
            ("robots.txt", 10),
        ),
    ),
    UsageCase(
        *(MANAGED, "the block", "The owner's own lines hold as well."),
        robots=_BLOCK,
        url="https://example.com/private/x",
        is_crawlable=False,
    ),
    UsageCase(
        *(SIGNALS, "syntax", "An absent key says nothing."),
        robots="User-agent: *\nContent-Signal: search=yes, ai-train=no",
        means={"search": Y, "train-ai": N},
    ),
    UsageCase(
        *(SIGNALS, "Advanced usage", "A path limits what a line refuses."),
        robots="User-agent: *\nContent-Signal: /private/ ai-train=no, search=yes",
        url="https://example.com/private/1",
        means={"search": Y, "train-ai": N},
    ),
    UsageCase(
        *(
            SIGNALS,
            "Advanced usage",
            "Other pages are left open, by a permission as well.",
        ),
        robots="User-agent: *\nContent-Signal: /blog/ search=yes, ai-train=yes",
        url="https://example.com/other",
    ),
    UsageCase(
        *(SIGNALS, "Advanced usage", "The longest path counts, as of Content-Usage."),
        robots="""
            User-agent: *
            Content-Signal: ai-train=no
            Content-Signal: /blog/ ai-train=yes
        """,
        url="https://example.com/blog/1",
        means={"train-ai": Y},
    ),
    UsageCase(
        *(DECIDED, "Content-Signal", "A path of the other field precedes nothing."),
        robots="""
            User-agent: *
            Content-Signal: ai-train=no
            Content-Usage: /blog/ train-ai=y
        """,
        url="https://example.com/blog/1",
        means={"train-ai": N},
        lines=(("robots.txt", 3), ("robots.txt", 2)),
    ),
    UsageCase(
        *(SIGNALS, "syntax", "Blanks, capitals and a plural occur."),
        robots="User-agent: *\ncontent-SIGNALS:  Search = Yes ,AI-Train=No",
        means={"search": Y, "train-ai": N},
    ),
    UsageCase(
        *(SIGNALS, "ai-input", "Input to a model is its own category."),
        robots="User-agent: *\nContent-Signal: ai-input=no",
        means={"ai-input": N},
    ),
    UsageCase(
        *(SIGNALS, "ai-input", "And may be allowed."),
        robots="User-agent: *\nContent-Signal: ai-input=yes, ai-train=yes",
        means={"ai-input": Y, "train-ai": Y},
    ),
    UsageCase(
        *(SIGNALS, "syntax", "A header of the same name says the same."),
        headers=(("content-signal", "search=no"),),
        means={"search": N},
        lines=(("header", None),),
    ),
    UsageCase(
        *(USE, "use", "immediate: nothing is stored."),
        robots="User-agent: *\nContent-Signal: use=immediate",
        means={"search": N, "train-ai": N, "tdm": N},
    ),
    UsageCase(
        *(USE, "use", "reference: no more than an index with excerpts and links."),
        robots="User-agent: *\nContent-Signal: use=reference",
        means={"train-ai": N},
    ),
    UsageCase(
        *(USE, "use", "full is a most: it allows nothing by itself."),
        robots="User-agent: *\nContent-Signal: use=full",
    ),
    UsageCase(
        *(SIGNALS, "syntax", "What no document has says nothing, and the rest counts."),
        robots="User-agent: *\nContent-Signal: search=maybe, ai-train=no, use=twice, x",
        means={"train-ai": N},
    ),
    UsageCase(
        *(DECIDED, "Content-Signal", "A line that contradicts itself: the strictest."),
        robots="User-agent: *\nContent-Signal: ai-train=yes, ai-train=no",
        means={"train-ai": N},
    ),
    UsageCase(
        *(
            DECIDED,
            "Content-Signal",
            "Two groups that contradict each other: the strictest.",
        ),
        robots="""
            User-agent: *
            Content-Signal: ai-train=no

            User-agent: *
            Content-Signal: ai-train=yes
        """,
        means={"train-ai": N},
    ),
    UsageCase(
        *(
            DECIDED,
            "Content-Signal",
            "The group of another robot says nothing to this one.",
        ),
        robots="User-agent: Otherbot\nContent-Signal: ai-train=no",
    ),
    UsageCase(
        *(DECIDED, "groups", "A line is about the robots that are named before it."),
        robots="""
            User-agent: Otherbot
            Content-Signal: ai-train=no
            User-agent: Examplebot
            Content-Signal: search=yes
            Disallow: /x
        """,
        means={"search": Y},
    ),
    UsageCase(
        *(DECIDED, "groups", "All of them."),
        robots="""
            User-agent: Otherbot
            Content-Signal: ai-train=no
            User-agent: Examplebot
            Content-Signal: search=yes
            Disallow: /x
        """,
        agent="Otherbot",
        means={"search": Y, "train-ai": N},
    ),
)


def _json(*rules: str) -> str:
    return "[\n" + ",\n".join(rules) + "\n]"


_ALL = '{"location": "/", "tdm-reservation": 1}'
_THREE = _json(
    '{"location": "/directory-a/", "tdm-reservation": 1}',
    '{"location": "/directory-b/html/", "tdm-reservation": 1,'
    ' "tdm-policy": "https://provider.com/policies/policy.json"}',
    '{"location": "/directory-b/images/*.jpg", "tdm-reservation": 0}',
)
_RESERVED = {"tdm": N, "train-ai": N}
_META = (
    '<html><head><meta charset="utf-8">\n<meta name="tdm-reservation"'
    ' content="{}">{}</head>'
)
_POLICY = (
    '\n<meta name="tdm-policy" content="https://provider.com/policies/policy.json">'
)
_FILE = "TDM File on the Origin Server"
_PRIORITY = "Processing priority"
TDM = (
    UsageCase(
        *(
            TDMREP,
            "TDM Header Field in HTTP Responses",
            "Rights are reserved, training with them.",
        ),
        headers=(("Content-Type", "image/jpg"), ("tdm-reservation", "1")),
        means=_RESERVED,
        lines=(("header", None), ("header", None)),
    ),
    UsageCase(
        *(TDMREP, "TDM Header Field in HTTP Responses", "A policy is told."),
        headers=(
            ("tdm-reservation", "1"),
            ("tdm-policy", "https://provider.com/policies/policy.json"),
        ),
        means=_RESERVED,
        terms=("https://provider.com/policies/policy.json",),
    ),
    UsageCase(
        *(
            TDMREP,
            "tdm-reservation",
            "0: they are not reserved; of training it says nothing.",
        ),
        headers=(("TDM-Reservation", "0"),),
        means={"tdm": Y},
    ),
    UsageCase(
        *(TDMREP, "tdm-reservation", "Other values are as if it were not there."),
        headers=(("tdm-reservation", "2"),),
    ),
    UsageCase(
        *(TDMREP, "TDM Metadata in HTML Content", "In the head, with a policy."),
        page=_META.format(1, _POLICY),
        means=_RESERVED,
        lines=(("meta", 2), ("meta", 2)),
        terms=("https://provider.com/policies/policy.json",),
    ),
    UsageCase(
        *(TDMREP, _FILE, "A rule for every file."),
        tdmrep=f"[\n{_ALL}\n]",
        means=_RESERVED,
        lines=(("tdmrep.json", 2), ("tdmrep.json", 2)),
    ),
    UsageCase(
        *(TDMREP, _FILE, "The first group: reserved."),
        url="https://example.com/directory-a/x.pdf",
        tdmrep=_THREE,
        means=_RESERVED,
        lines=(("tdmrep.json", 2), ("tdmrep.json", 2)),
    ),
    UsageCase(
        *(TDMREP, _FILE, "The second: reserved, with a policy."),
        url="https://example.com/directory-b/html/x.html",
        tdmrep=_THREE,
        means=_RESERVED,
        terms=("https://provider.com/policies/policy.json",),
    ),
    UsageCase(
        *(TDMREP, _FILE, "The third: not reserved."),
        url="https://example.com/directory-b/images/a/b.jpg",
        tdmrep=_THREE,
        means={"tdm": Y},
        lines=(("tdmrep.json", 4),),
    ),
    UsageCase(
        *(TDMREP, _FILE, "No match, nothing said."),
        url="https://example.com/directory-b/images/b.png",
        tdmrep=_THREE,
    ),
    UsageCase(
        *(TDMREP, "Use of regular expressions", "A final $ is the end."),
        url="https://example.com/this/path/exactly/not",
        tdmrep=_json('{"location": "/this/path/exactly$", "tdm-reservation": 1}'),
    ),
    UsageCase(
        *(TDMREP, "Use of regular expressions", "* is any characters."),
        url="https://example.com/this/and/that/then",
        tdmrep=_json('{"location": "/this/*/then", "tdm-reservation": 1}'),
        means=_RESERVED,
    ),
    UsageCase(
        *(TDMREP, "Use of regular expressions", "%24 is the sign itself."),
        url="https://provider.com/path/foo-$",
        tdmrep=_json('{"location": "/path/foo-%24", "tdm-reservation": 1}'),
        means=_RESERVED,
    ),
    UsageCase(
        *(TDMREP, _FILE, "The first rule that matches is the one."),
        url="https://example.com/a/b",
        tdmrep=_json('{"location": "/a", "tdm-reservation": 0}', _ALL),
        means={"tdm": Y},
    ),
    UsageCase(
        *(TDMREP, _PRIORITY, "The header supersedes the file."),
        tdmrep=_json(_ALL),
        headers=(("tdm-reservation", "0"),),
        means={"tdm": Y},
    ),
    UsageCase(
        *(TDMREP, _PRIORITY, "The head supersedes the header."),
        headers=(("tdm-reservation", "0"),),
        page=_META.format(1, ""),
        means=_RESERVED,
    ),
    UsageCase(
        *(
            DECIDED,
            "tdmrep.json",
            "Where the file breaks off, the rules before it count.",
        ),
        tdmrep=_json(_ALL)[:-2] + ", {",
        means=_RESERVED,
    ),
    UsageCase(*(DECIDED, "tdmrep.json", "What is no array says nothing."), tdmrep=_ALL),
    UsageCase(
        *(DECIDED, "tdmrep.json", "A rule that is none is passed over."),
        tdmrep=_json('{"location": 7}', "null", '{"tdm-reservation": 1}', _ALL),
        means=_RESERVED,
    ),
    UsageCase(
        *(DECIDED, "tdmrep.json", "A number in quotes is one; true is none."),
        tdmrep=_json('{"location": "/page", "tdm-reservation": "1"}'),
        means=_RESERVED,
    ),
    UsageCase(
        *(DECIDED, "tdmrep.json", "true is no number."),
        tdmrep=_json('{"location": "/page", "tdm-reservation": true}'),
    ),
)

TAGS = (
    UsageCase(
        *(NOAI, "meta", "No training, by a meta tag."),
        page='<head>\n<meta name="robots" content="noai, noimageai">',
        means={"train-ai": N},
        lines=(("meta", 2), ("meta", 2)),
    ),
    UsageCase(
        *(NOAI, "header", "By a header."),
        headers=(("X-Robots-Tag", "noai"),),
        means={"train-ai": N},
        lines=(("header", None),),
    ),
    UsageCase(
        *(NOAI, "noimageai", "Of images: the text of the page is left open."),
        headers=(("X-Robots-Tag", "noimageai"),),
        of_images={"train-ai": N},
    ),
    UsageCase(
        *("noml.info", "meta", "The same by another name, in any case."),
        page="<meta name=robots content=NoML>",
        means={"train-ai": N},
    ),
    UsageCase(
        *(NOAI, "header", "To another robot, nothing."),
        headers=(("X-Robots-Tag", "otherbot: noai"),),
    ),
    UsageCase(
        *(NOAI, "header", "To this one, by name."),
        headers=(("X-Robots-Tag", "examplebot: noai"),),
        means={"train-ai": N},
    ),
    UsageCase(
        *(REPEXT, "HTTP Response Header", "Robots-Tag is a list of tokens with rules."),
        headers=(("Robots-Tag", "*;nosnippet, ExampleBot;noai"),),
        means={"train-ai": N},
    ),
)

_AI = """
    User-agent: GPTBot
    Disallow: /essays/

    User-agent: ChatGPT-User
    Disallow: /

    User-agent: *
    Disallow: /private
"""
CONTROL_TOKENS = (
    UsageCase(
        *(TOKENS, "GPTBot", "Who shuts out a robot that trains refuses training."),
        robots=_AI,
        url="https://example.com/essays/1",
        means={"train-ai": N, "ai-input": N},
        lines=(("robots.txt", 2), ("robots.txt", 5)),
    ),
    UsageCase(
        *(TOKENS, "ChatGPT-User", "Elsewhere only what is shut out there."),
        robots=_AI,
        means={"ai-input": N},
    ),
    UsageCase(
        *(TOKENS, "Google-Extended", "Training and grounding."),
        robots="User-agent: Google-Extended\nDisallow: /",
        means={"train-ai": N, "ai-input": N},
    ),
    UsageCase(
        *(TOKENS, "CCBot", "Training, and mining of any kind."),
        robots="User-agent: CCBot\nDisallow: /",
        means={"train-ai": N, "tdm": N},
    ),
    UsageCase(
        *(
            TOKENS,
            "all",
            "What is allowed to a token is allowed to its vendor, not to all.",
        ),
        robots="User-agent: GPTBot\nAllow: /\n\nUser-agent: *\nDisallow: /x",
    ),
    UsageCase(
        *(
            TOKENS,
            "all",
            "A file that names none says nothing by its group for everyone.",
        ),
        robots="User-agent: Examplebot\nAllow: /\n\nUser-agent: *\nDisallow: /",
    ),
    UsageCase(
        *(TOKENS, "all", "To a robot that is a token itself, its own name counts."),
        robots="User-agent: GPTBot\nDisallow: /x\n\nUser-agent: CCBot\nDisallow: /",
        agent="GPTBot",
    ),
)

LICENSES = (
    UsageCase(
        *(RSL, "Adding RSL to robots.txt", "Told, whoever's group it stands in."),
        robots="""
            License: https://your-website.com/license.xml
            User-agent: Googlebot
            Allow: /
            License: https://elsewhere.example/l.xml
        """,
        terms=(
            "https://your-website.com/license.xml",
            "https://elsewhere.example/l.xml",
        ),
    ),
    UsageCase(
        *(
            RSL,
            "Adding RSL to HTTP headers",
            "A link with that relation, among others.",
        ),
        headers=(
            (
                "Link",
                (
                    '<https://example.com/license.xml>; rel="license";'
                    ' type="application/rsl+xml", </style.css>; rel=preload, </cc>;'
                    ' title="a; rel=x"; rel="next License"'
                ),
            ),
        ),
        terms=("https://example.com/license.xml", "/cc"),
    ),
    UsageCase(
        *(RSL, "Adding RSL to web pages", "In the head."),
        page=(
            '<head>\n<link rel=icon href=/i>\n<LINK rel="license"'
            " type=\"application/rsl+xml\" href='https://example.com/license.xml'>"
        ),
        terms=("https://example.com/license.xml",),
    ),
)

CASES = (*ATTACHED, *VOCABULARY, *CLOUDFLARE, *TDM, *TAGS, *CONTROL_TOKENS, *LICENSES)
