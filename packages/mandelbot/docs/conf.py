"""How Sphinx builds the library's pages, in a clone of the repository.

``python -m sphinx -W packages/mandelbot/docs build/docs/mandelbot``, after the
add-on's, whose ``docs/sphinx/both_sites.py`` has what both share. A source archive of
the library has the pages alone: they are plain reStructuredText.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "docs" / "sphinx"))

from both_sites import *  # noqa: F403 -- Sphinx reads the names of this module

import mandelbot

project = html_title = "mandelbot"
copyright = "scrapy-mandelbot contributors"  # noqa: A001 -- Sphinx's name
version = release = mandelbot.__version__
nitpick_ignore_regex = [
    # Of other packages, whose pages are not here.
    (r"py:.*", r"(?!mandelbot).*"),
    # Types of parameters and results that are no public names.
    (r"py:class", r"mandelbot\.protego\.(RequestRate|VisitTime)"),
    (r"py:class", r"mandelbot\.answers\.\w+\.(ResponseMeaning|SiteKnowledge)"),
]
