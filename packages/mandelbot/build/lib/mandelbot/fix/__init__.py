r"""The corrections of a robots.txt, and the check of what they open or close.

>>> body = b"User-agent: *\nDisalow: /a # drafts\nAllow: /b\n\nDisallow: c/\n"
>>> correction = correct(body)
>>> print(correction.text, end="")
User-agent: *
Disallow: /a # drafts
Allow: /b
<BLANKLINE>
Disallow: /c/
>>> print(correction.edits[0])
line 2: Disalow: /a # drafts becomes Disallow: /a # drafts
>>> normal = normalize(correction.text.encode())
>>> print(normal.text, end="")
User-agent: *
Allow: /b
# drafts
Disallow: /a
Disallow: /c/
>>> print(normal.proof)
verified: 18 allow/disallow decisions unchanged (mandelbot dialect)
>>> print(*sentences(normal.effects))
closes /c/ for others, as read by rep1994, extended2, urllib.robotparser before 3.13.14
"""

from mandelbot.fix.correction import (
    Correction,
    Difference,
    Edit,
    Proof,
    correct,
    normalize,
    prove,
)
from mandelbot.fix.effects import READERS, Effect, sentences
from mandelbot.fix.rewrite import Rewritten, rewrite

__all__ = [
    "READERS",
    "Correction",
    "Difference",
    "Edit",
    "Effect",
    "Proof",
    "Rewritten",
    "correct",
    "normalize",
    "prove",
    "rewrite",
    "sentences",
]
