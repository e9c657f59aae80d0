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
    """Write into a box what was not there."""
    field = browser.find_element(By.ID, box)
    field.clear()
    field.send_keys(text)


def rows(browser):
    """Return the cells of the table of the first URL tested, whether or not it is folded."""
    table = one(browser, "#results table")
    return [
        [cell.get_property("textContent") for cell in row.find_elements(By.CSS_SELECTOR, "td, th")]
        for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")
    ]
