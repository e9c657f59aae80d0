"""Parsers as ``run.py`` asks them: copy a function, and put yours in."""

from functools import lru_cache
from urllib.robotparser import RobotFileParser


def mandelbot(octets, agent, url, dialect="mandelbot"):
    """Ask this package."""
    from scrapy_mandelbot import RobotsTxt  # noqa: PLC0415 - each parser where it is installed

    return RobotsTxt.parse(octets, dialect=dialect).allowed(url, agent)


def protego(octets, agent, url):
    """Ask Protego, which Scrapy uses: it takes text, as Scrapy decodes it."""
    return _protego(octets).can_fetch(url, agent)


@lru_cache(maxsize=1)
def _protego(octets):
    from protego import Protego  # noqa: PLC0415

    return Protego.parse(octets.decode("utf-8", "ignore"))


def urllib(octets, agent, url):
    """Ask Python's own."""
    parser = RobotFileParser()
    parser.parse(octets.decode("utf-8", "replace").splitlines())
    return parser.can_fetch(agent, url)
