r"""The corrected version of a robots.txt, and the check that no decision changes.

>>> from scrapy_mandelbot.robots.robotstxt import RobotsTxt
>>> body = b"User-agent: *\nDisallow: /a # drafts\nAllow: /b\n\nDisallow: /c\n"
>>> correction = correct(body)
>>> print(correction.text, end="")
User-agent: *
# drafts
Disallow: /a
# Allow: /b
Disallow: /c
>>> print(correction.proof)
verified: 16 allow/disallow decisions unchanged (mandelbot dialect)
>>> print(next(correction.effects[0].sentences()))
closes 3 of 16 URLs to rep1994, as they are to mandelbot; first /c for others
"""

from scrapy_mandelbot.robots.fix.correction import Correction, Difference, Proof, correct, prove
from scrapy_mandelbot.robots.fix.effects import Effect
from scrapy_mandelbot.robots.fix.rewrite import Rewritten, rewrite

__all__ = [
    "Correction",
    "Difference",
    "Effect",
    "Proof",
    "Rewritten",
    "correct",
    "prove",
    "rewrite",
]
