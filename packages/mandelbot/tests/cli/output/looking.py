"""A file, and how its page is looked at."""

from __future__ import annotations

from selenium.webdriver.common.by import By

BODY = b"""\
User-agent: *
Disallow: /private   # drafts
Allow: /private/press
Disalow: /search

User-agent: Examplebot
User-agent: Otherbot
Comment: Please crawl at night.
Disallow: /shop
Sitemap: https://example.com/sitemap.xml
"""


def all_of(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def write(browser, box, text):
    """Write into a box what was not there: the last character by a key, what precedes
    it at once.

    The page decides at each key: a long URL that is typed takes seconds.
    """
    field = browser.find_element(By.ID, box)
    browser.execute_script("arguments[0].value = arguments[1]", field, text[:-1])
    field.send_keys(text[-1])


def rows(browser):
    """Return the cells of the table of the first URL tested, whether or not it is
    folded.
    """
    return browser.execute_script(
        "return Array.from(document.querySelectorAll('#results"
        " table')[0].tBodies[0].rows, (row) => Array.from(row.cells, (cell) =>"
        " cell.textContent));"
    )
