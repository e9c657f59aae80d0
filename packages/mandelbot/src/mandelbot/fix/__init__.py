r"""The normal form of a robots.txt, and the check of what it opens or closes.

>>> body = b"User-agent: *\nDisallow: /a # drafts\nAllow: /b\n\nDisallow: /c/\n"
>>> normal = normalize(body)
>>> print(normal.text, end="")
User-agent: *
Allow: /b
# drafts
Disallow: /a
Disallow: /c/
>>> print(normal.proof)
verified: 18 allow/disallow decisions unchanged (mandelbot dialect)
>>> print(*sentences(normal.effects))  # doctest: +ELLIPSIS
closes /c/ for others, as read by the dialects rep1994, extended2; urllib...
"""

from mandelbot.fix.correction import (
    Correction,
    Difference,
    Proof,
    normalize,
    prove,
)
from mandelbot.fix.effects import READERS, Effect, named, sentences
from mandelbot.fix.rewrite import Rewritten, rewrite

__all__ = [
    "READERS",
    "Correction",
    "Difference",
    "Effect",
    "Proof",
    "Rewritten",
    "named",
    "normalize",
    "prove",
    "rewrite",
    "sentences",
]
