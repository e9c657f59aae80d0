"""Files as owners write them today, made small by hand after what drafts and vendors
document.

No file is copied from a site. Of each: what is found in it, what must not be, and what
it answers to a robot without a name in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import cleandoc

MANAGED = """
    # As a condition of accessing this website, you agree to abide by the following
    # content signals: (a) If a Content-Signal = yes, you may collect content for the
    # corresponding use. (b) If a Content-Signal = no, you may not.

    # BEGIN Cloudflare Managed content

    User-agent: *
    Content-Signal: search=yes,ai-train=no,use=reference
    Allow: /

    User-agent: Amazonbot
    Disallow: /

    User-agent: Applebot-Extended
    Disallow: /

    User-agent: Bytespider
    Disallow: /

    User-agent: CCBot
    Disallow: /

    User-agent: ClaudeBot
    Disallow: /

    User-agent: Google-Extended
    Disallow: /

    User-agent: GPTBot
    Disallow: /

    User-agent: meta-externalagent
    Disallow: /

    # END Cloudflare Managed Content
"""
_BLOCK = cleandoc(MANAGED)
_MILD = (
    "unknown-field",
    "star-before-robots",
    "group-without-disallow",
    "allow-all",
    "repeated-agent",
)


@dataclass(frozen=True)
class UsageFile:
    """A robots.txt, and what there is to say of it."""

    name: str
    body: str
    codes: tuple[tuple[str, int], ...] = ()
    """What is found about uses and groups, and where."""
    absent: tuple[str, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    """For the page /page, but unknown ones."""

    @property
    def octets(self) -> bytes:
        return cleandoc(self.body).encode() + b"\n"


_NO_TRAINING = {"search": "allowed", "train-ai": "disallowed", "ai-input": "disallowed"}
_NO_TRAINING["tdm"] = "disallowed"
FILES = (
    UsageFile(
        "Cloudflare's block alone",
        _BLOCK,
        (("managed-block", 5),),
        (*_MILD, "usage-contradiction", "groups-contradict"),
        _NO_TRAINING,
    ),
    UsageFile(
        "Cloudflare's block before an owner's rules",
        _BLOCK
        + "\n\nUser-agent: *\nDisallow: /private\n\nSitemap: https://example.com/s.xml",
        (("managed-block", 5),),
        (*_MILD, "usage-contradiction", "groups-contradict"),
        _NO_TRAINING,
    ),
    UsageFile(
        "Cloudflare's block before an owner who closes the site",
        _BLOCK + "\n\nUser-agent: *\nDisallow: /",
        (("managed-block", 5), ("groups-contradict", 38)),
        _MILD,
        _NO_TRAINING,
    ),
    UsageFile(
        "Cloudflare's block before an owner who allows training, and a robot for it",
        _BLOCK
        + "\n\nUser-agent: *\nContent-Signal: ai-train=yes\nDisallow: /x"
        + "\n\nUser-agent: GPTBot\nAllow: /",
        (
            ("managed-block", 5),
            ("usage-contradiction", 38),
            ("usage-contradiction", 38),
            ("groups-contradict", 42),
        ),
        ("unknown-field", "star-before-robots", "repeated-agent"),
        _NO_TRAINING,
    ),
    UsageFile(
        "the IETF's field, with an exception",
        """
        User-agent: *
        Disallow: /never/
        Content-Usage: train-ai=n
        Content-Usage: /ai-ok/ train-ai=y
        """,
        absent=("usage-contradiction", "unknown-field"),
        answers={"train-ai": "disallowed"},
    ),
    UsageFile(
        "both fields, saying the same",
        """
        User-agent: *
        Content-Signal: search=yes, ai-input=yes, ai-train=no
        Content-Usage: search=y, train-ai=n
        Disallow: /x
        """,
        absent=("usage-contradiction", "bad-content-signal", "bad-content-usage"),
        answers={"search": "allowed", "ai-input": "allowed", "train-ai": "disallowed"},
    ),
    UsageFile(
        "both fields, at odds",
        """
        User-agent: *
        Content-Signal: ai-train=no
        Content-Usage: /open/ train-ai=y
        Content-Usage: train-ai=y
        Disallow: /x
        """,
        (("usage-contradiction", 3), ("usage-contradiction", 4)),
        answers={"train-ai": "disallowed"},
    ),
    UsageFile(
        "words of older drafts, and misspelt values",
        """
        User-agent: *
        Content-Usage: bots=n, train-genai=n
        Content-Usage: Train-AI=n
        Content-Signal: ai-train: no, search
        Disallow: /x
        """,
        (
            ("older-usage", 2),
            ("older-usage", 2),
            ("bad-content-usage", 3),
            ("bad-content-signal", 4),
            ("bad-content-signal", 4),
        ),
        answers={
            "search": "disallowed",
            "ai-input": "disallowed",
            "train-ai": "disallowed",
            "tdm": "disallowed",
        },
    ),
    UsageFile(
        "permissions of older drafts, and unknown labels",
        """
        User-agent: *
        Content-Usage: ai=y, tdm=y, train=n
        Disallow: /x
        """,
        (("unknown-usage", 2), ("unknown-usage", 2), ("unknown-usage", 2)),
    ),
    UsageFile(
        "a field that Google takes for Disallow",
        """
        User-agent: *
        DisallowAITraining: /
        Disallow-Training: /y
        Allowed-For-AI: /z
        Disallow: /x
        """,
        (
            ("read-as-rule", 2),
            ("older-usage", 2),
            ("read-as-rule", 3),
            ("read-as-rule", 4),
        ),
        answers={"train-ai": "disallowed"},
    ),
    UsageFile(
        "the same beside an Allow of the path",
        """
        User-agent: *
        DisallowAITraining: /
        DisallowAITraining: art/
        Disallow: /x
        Allow: /
        """,
        (("older-usage", 2), ("no-leading-slash", 3), ("read-as-rule", 3)),
        answers={"train-ai": "disallowed"},
    ),
    UsageFile(
        "signals with paths",
        """
        User-agent: *
        Content-Signal: ai-train=no
        Content-Signal: /ai-ok/ ai-train=yes, search=yes
        Content-Signal: /never/ ai-train=no, search=maybe
        Disallow: /x
        """,
        (("bad-content-signal", 4),),
        absent=("unknown-usage", "usage-contradiction"),
        answers={"train-ai": "disallowed"},
    ),
    UsageFile(
        "statements before any group",
        """
        Content-Signal: ai-train=no
        Content-Usage: train-ai=n

        User-agent: *
        Disallow: /x
        """,
        (("directive-outside-group", 1), ("directive-outside-group", 2)),
    ),
    UsageFile(
        "licences, one of them relative",
        """
        License: https://example.com/license.xml
        License: /license.xml

        User-agent: *
        Disallow: /x
        """,
        (("relative-license", 2),),
        ("directive-outside-group", "license-not-for-yandex", "unknown-field"),
    ),
    UsageFile(
        "robots of AI shut out by one group",
        """
        User-agent: GPTBot
        User-agent: CCBot
        User-agent: Google-Extended
        Disallow: /

        User-agent: *
        Disallow: /x
        """,
        absent=("usage-contradiction", "groups-contradict"),
        answers={
            "train-ai": "disallowed",
            "ai-input": "disallowed",
            "tdm": "disallowed",
        },
    ),
    UsageFile(
        "a plural that occurs",
        """
        User-agent: *
        Content-Signals: ai-train=no
        Disallow: /x
        """,
        (("misspelt-field", 2),),
        answers={"train-ai": "disallowed"},
    ),
)
