"""The built pages can be found and read by everyone.

WCAG 2.2 AA, and numbers in the search. A small source is built with the documentation's
own conf.py, and looked at in a browser.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from pages import DOCS

pytest.importorskip("furo")
pytest.importorskip("sphinxcontrib.towncrier")
browser = pytest.importorskip("browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not browser.IS_THERE, reason="there is no Chromium"),
]

INDEX = """
A page
======

.. toctree::
   :caption: Begin

   other

A part
------

.. code-block:: python

    @decorated("text", number=1)  # a comment
    def name(argument: int = 1) -> None:
        raise ValueError(f"{argument!r}") from None

.. code-block:: console

    $ scrapy crawl demo -s NAME=VALUE
    what it prints

.. code-block:: json

    {"a": [1, true, null, "b"]}

``code``, :doc:`other`, and https://example.com/.

Another part
------------

.. autoclass:: mandelbot.RobotsTxt
   :members: parse
"""
OTHER = "Refusals\n========\n\nA site that answers 503 is paused.\n"
SIZES = """
const links = [...document.querySelectorAll('.toc-tree a')];
        const shown = links.filter((a) => a.checkVisibility());
return shown.map((a) => a.getBoundingClientRect().height);
"""
FOUND = (
    "return [...document.querySelectorAll('ul.search > li > a')].map((a) =>"
    " a.textContent)"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the source once."""
    source, pages = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("pages")
    (source / "index.rst").write_text(INDEX)
    (source / "other.rst").write_text(OTHER)
    command = [sys.executable, "-m", "sphinx", "-q", "-c", DOCS, source, pages]
    subprocess.run(command, check=True, capture_output=True)
    return pages


@pytest.fixture(scope="module")
def chromium():
    """One browser for all."""
    one = browser.Browser()
    one.be(1400)
    yield one
    one.quit()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(built, chromium, scheme):
    """Success criterion 1.4.3: 4.5 to 1, code in all its colours included."""
    chromium.prefer(scheme)
    chromium.show(built / "index.html")
    contrasts = chromium.execute_script(browser.CONTRASTS)
    assert len(contrasts) > 50
    assert [one for one in contrasts if one[0] < 4.5] == []


def test_everything_can_be_reached_by_keyboard(built, chromium):
    """By keyboard (2.1.1), by finger (2.5.8), and by what reads headings and lists
    (1.3.1).
    """
    text = (built / "index.html").read_text()
    headings = re.findall(r'<[^>]*role="heading"[^>]*>', text)
    assert headings
    assert all("aria-level=" in one for one in headings)
    assert "<pre>" not in text
    assert '<dl>\n<dd><em class="sig-param">' not in text
    assert 'class="sig-lines"' in text
    chromium.show(built / "index.html")
    sizes = chromium.execute_script(SIZES)
    assert sizes
    assert min(sizes) >= 24


def test_a_number_is_found(built, chromium):
    """As a word is; one that no page has is not."""
    from selenium.webdriver.support.wait import WebDriverWait

    for query, expected in (("503", ["Refusals"]), ("paused 503", ["Refusals"])):
        chromium.get(f"{(built / 'search.html').as_uri()}?q={query}")
        found = WebDriverWait(chromium, 20).until(lambda one: one.execute_script(FOUND))
        assert sorted(found) == expected
