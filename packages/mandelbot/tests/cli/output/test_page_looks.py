"""How the page looks: on every screen, by day and by night, and to those who do not see
it.
"""

from __future__ import annotations

import pytest
from browser import CONTRASTS
from looking import BODY, all_of, one, write

LONG = (
    b"User-agent: "
    + b"b" * 400
    + b"\nDisalow: /"
    + b"a" * 3000
    + b"\nAllow: /x"
    + b"%C3" * 200
)

PHONE, SMALL_PHONE, TABLET, LAPTOP, DESKTOP = (
    (390, 844),
    (320, 600),
    (820, 1180),
    (1280, 720),
    (1920, 1080),
)


@pytest.mark.parametrize("size", [SMALL_PHONE, PHONE, TABLET, LAPTOP, DESKTOP])
@pytest.mark.parametrize("body", [BODY, LONG], ids=["file", "long lines"])
def test_nothing_sticks_out(shown, body, size):
    """On no screen does the page scroll sideways or cut a line, whatever the lines."""
    browser = shown(body, "x" * 300)
    browser.be(*size, is_phone=size[0] < 500)
    write(browser, "urls", "https://example.com/" + "b" * 500)
    needed, there = browser.execute_script(
        "const ends = Array.from(document.querySelectorAll('body *'),"
        " (one) => one.getBoundingClientRect().right);"
        "const root = document.documentElement;"
        "return [Math.max(root.scrollWidth, ...ends), root.clientWidth];"
    )
    assert needed <= there
    widths = browser.execute_script(
        "return Array.from(document.querySelectorAll('.file li'),"
        " (one) => [one.scrollWidth, one.clientWidth]);"
    )
    assert len(widths) > 3
    assert all(needed <= there for needed, there in widths)


@pytest.mark.parametrize("width", [900, 1440, 1920])
def test_findings_stand_beside_the_file(shown, width):
    """Left of it, and stay in view where the file is long."""
    browser = shown(BODY + b"#\n" * 300)
    browser.be(width)
    findings, file = one(browser, ".findings"), one(browser, "#file")
    assert findings.rect["x"] + findings.rect["width"] <= file.rect["x"]
    browser.execute_script("scrollTo(0, 3000)")
    top = browser.execute_script(
        "return arguments[0].getBoundingClientRect().top", findings
    )
    assert top == 0


def test_the_corrected_version_stands_beside_the_file(shown):
    """On a desktop; on a tablet and on a phone beneath."""
    browser = shown(BODY)
    file, corrected = one(browser, "#file"), one(browser, ".corrected")
    assert corrected.rect["x"] > file.rect["x"] + file.rect["width"]
    assert corrected.rect["y"] <= file.rect["y"]
    for size, is_phone in ((TABLET, False), (PHONE, True)):
        browser.be(*size, is_phone=is_phone)
        assert corrected.rect["y"] >= file.rect["y"] + file.rect["height"] - 1
        assert corrected.rect["x"] == file.rect["x"]


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_notes_do_not_tear_the_file_apart(shown, size):
    """A line with findings is as high as one without; one finding shows at a time."""
    browser = shown(BODY)
    browser.be(*size, is_phone=size[0] < 500)
    heights = {line.rect["height"] for line in all_of(browser, "#file li")[:8]}
    assert len(heights) == 1
    one(browser, "#next").click()
    one(browser, "#next").click()
    assert len(all_of(browser, "#file .message")) == 1
    taller = [
        line for line in all_of(browser, "#file li")[:8] if line.rect["height"] > 30
    ]
    assert [line.get_attribute("id") for line in taller] == ["L2"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(shown, scheme):
    """Contrast of every text is at least 4.5, in both themes (WCAG 2.2, 1.4.3)."""
    browser = shown(BODY)
    browser.prefer(scheme)
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true;"
    )
    one(browser, "#next").click()
    one(browser, "#edit").click()
    contrasts = browser.execute_script(CONTRASTS)
    assert len(contrasts) > 80
    assert [pair for pair in contrasts if pair[0] < 4.5] == []


def test_boxes_have_names(shown):
    """For those who do not see them."""
    browser = shown(BODY)
    one(browser, "#edit").click()
    boxes = ("urls", "agents", "known", "dialect", "editor")
    assert {box: one(browser, f"#{box}").accessible_name for box in boxes} == {
        "urls": "URLs or paths, one a line",
        "agents": "Robot: a name or a User-Agent header; several, one a line",
        "known": "or one of these",
        "dialect": "Read as",
        "editor": "The file, to be edited",
    }
    for selector in ("button", "a", "input", "select", "textarea", "summary"):
        for thing in all_of(browser, selector):
            assert not thing.is_displayed() or thing.accessible_name, selector
    marks = [
        mark.get_attribute("aria-label") for mark in all_of(browser, "#file .mark")
    ]
    assert marks[0] == "line 1, note: star-before-robots"
    heads = [head.text.split("\n")[0] for head in all_of(browser, "h1, h2")]
    assert heads[:3] == ["robots.txt", "Test URLs", "What is wrong"]


def test_the_dialect_is_explained(shown):
    """In a sentence, which is the description of the box."""
    from selenium.webdriver.support.select import Select

    from mandelbot import DIALECTS
    from mandelbot.cli.output.robots_page import DIALECT_TEXTS as ABOUT

    assert list(ABOUT) == list(DIALECTS)
    browser = shown(BODY)
    assert one(browser, "#dialect").get_attribute("aria-describedby") == "about"
    for name, about in ABOUT.items():
        Select(one(browser, "#dialect")).select_by_visible_text(name)
        assert one(browser, "#about").text == about
