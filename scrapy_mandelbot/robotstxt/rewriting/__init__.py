r"""The corrected version of a robots.txt, and the proof that it decides as the original does.

>>> from scrapy_mandelbot.robotstxt import RobotsTxt
>>> body = b"User-agent: *\nDisallow: /a # drafts\nAllow: /a/b\n"
>>> text = RobotsTxt.parse(body).rewrite()
>>> print(text, end="")
User-agent: *
Allow: /a/b
# drafts
Disallow: /a
>>> print(prove(body, text))
proved: 14 decisions in mandelbot are alike
"""

from scrapy_mandelbot.robotstxt.rewriting.proof import Difference, Proof, prove
from scrapy_mandelbot.robotstxt.rewriting.rewrite import Rewritten, rewrite

__all__ = ["Difference", "Proof", "Rewritten", "prove", "rewrite"]
