"""The built documentation answers the words that people search for, and lists each page
once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, LIBRARY_DOCS, page

pytest.importorskip("sphinx")
sys.path.insert(0, str(DOCS / "sphinx"))
from search_words import WORDS

ADDON, LIBRARY = "scrapy-mandelbot", "mandelbot"
FOLDERS = {ADDON: DOCS, LIBRARY: LIBRARY_DOCS}
GROUPS = {
    ADDON: [
        "Start",
        "Recipes",
        "My crawl went wrong",
        "Reference",
        "For contributors",
    ],
    LIBRARY: ["Use it", "Check files", "Know more"],
}
FIRST = {
    "503": "pauses",
    "429": "pauses",
    "backoff": "pauses",
    "rate limit": "pauses",
    "circuit breaker": "pauses",
    "Retry-After": "pauses",
    "Crawl-delay": "pace",
    "resume": "jobs",
    "checkpoint": "jobs",
    "kill -9": "jobs",
    "Redis": "machines",
    "proxy": "recipes/proxies",
    "sitemap": "sitemaps",
    "noindex": "tags_and_use",
    "GPTBot": "recipes/training",
    "Prometheus": "status",
    "captcha": "pauses",
}
FIRST_OF_LIBRARY = {
    "lint": "findings",
    "noindex": "tags",
    "GPTBot": "usage",
    "Protego": "coming_from",
    "pre-commit": "command",
    "wildcard": "dialects",
}
FOUND = """
if (!document.querySelector('.search-summary')?.textContent) return null;
const links = [...document.querySelectorAll('ul.search > li > a')];
return links.map((a) => new URL(a.href).pathname);
"""


def listed(index: str) -> dict[str, list[str]]:
    """Return the pages of each group of an index."""
    trees = re.findall(
        r"\.\. toctree::\n(?:   :.*\n)*?   :caption: (.+)\n(?:   :.*\n)*\n((?:  "
        r" \S+\n)+)",
        index,
    )
    return {caption: pages.split() for caption, pages in trees}


@pytest.mark.parametrize("site", FOLDERS)
def test_each_page_is_in_one_group(site):
    """Of its own site; the recipes have their own list."""
    index = (FOLDERS[site] / "index.rst").read_text("utf-8")
    groups = listed(index)
    assert list(groups) == GROUPS[site]
    there = {path.stem for path in FOLDERS[site].glob("*.rst")} - {"index"}
    if site == ADDON:
        there.add("recipes/index")
    assert sorted(one for pages in groups.values() for one in pages) == sorted(there)


def test_each_recipe_is_listed():
    """On the recipes' own page, once."""
    (tree,) = re.findall(
        r"\.\. toctree::\n(?:   :.*\n)*\n((?:   \S+\n)+)", page("recipes/index")
    )
    there = {path.stem for path in (DOCS / "recipes").glob("*.rst")} - {"index"}
    assert sorted(tree.split()) == sorted(there)


@pytest.mark.parametrize("site", FOLDERS)
def test_search_words_are_of_pages_that_exist(site):
    """A word leads to one page."""
    words = [word for words in WORDS[site].values() for word in words]
    assert len(words) == len({word.lower() for word in words})
    assert [n for n in WORDS[site] if not (FOLDERS[site] / f"{n}.rst").is_file()] == []


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """Search the documentation in a browser: MANDELBOT_PAGES, or built here."""
    pytest.importorskip("furo")
    pytest.importorskip("sphinxcontrib.towncrier")
    browser = pytest.importorskip("browser")
    if not browser.IS_THERE:
        pytest.skip("there is no Chromium")
    from selenium.webdriver.support.wait import WebDriverWait

    pages = Path(
        os.environ.get("MANDELBOT_PAGES") or tmp_path_factory.mktemp("pages")
    ).absolute()
    if "MANDELBOT_PAGES" not in os.environ:
        for source, built in ((DOCS, pages), (LIBRARY_DOCS, pages / LIBRARY)):
            command = [sys.executable, "-m", "sphinx", "-q", source, built]
            subprocess.run(command, check=True, capture_output=True)
    chromium = browser.Browser()

    def first(query, site=pages):
        chromium.get(f"{(site / 'search.html').as_uri()}?q={query.replace(' ', '+')}")
        WebDriverWait(chromium, 20).until(
            lambda one: one.execute_script(FOUND) is not None
        )
        found = chromium.execute_script(FOUND)
        return [one.removeprefix(f"{site}/").removesuffix(".html") for one in found[:1]]

    first.library = pages / LIBRARY
    yield first
    chromium.quit()


@pytest.mark.thorough  # and in the part "docs" of .ci/run
def test_a_search_finds_the_page_that_explains_the_word(search):
    """The first result of each query, on either site."""
    assert {query: search(query) for query in FIRST} == {
        query: [name] for query, name in FIRST.items()
    }
    found = {query: search(query, search.library) for query in FIRST_OF_LIBRARY}
    assert found == {query: [name] for query, name in FIRST_OF_LIBRARY.items()}
