"""How Sphinx builds the add-on's pages: ``python -m sphinx -W docs build/docs``.

The pages are plain reStructuredText, to be read as files too;
``sphinx/linked_words.py`` makes links of what they name. ``sphinx/both_sites.py`` has
what the library's pages share.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "sphinx"))

from both_sites import *  # noqa: F403 -- Sphinx reads the names of this module

import scrapy_mandelbot

project = html_title = "scrapy-mandelbot"
copyright = "scrapy-mandelbot contributors"  # noqa: A001 -- Sphinx's name
version = release = scrapy_mandelbot.__version__
extensions = [*extensions, "sphinxcontrib.towncrier.ext"]  # noqa: F405
exclude_patterns = ["sphinx"]
html_extra_path = ["../scrapy_mandelbot/report/report.schema.json"]
towncrier_draft_working_directory = Path(__file__).parent.parent
towncrier_draft_autoversion_mode = "draft"
towncrier_draft_include_empty = True
nitpick_ignore_regex = [
    # Of other packages, whose pages are not here.
    (r"py:.*", r"(?!scrapy_mandelbot).*"),
]
