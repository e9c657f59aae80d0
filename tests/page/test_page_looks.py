"""How the page looks: on every screen, by day and by night, and to those who do not see it."""

from __future__ import annotations

import pytest
from looking import BODY, all_of, one, write
from selenium.webdriver.common.by import By

LONG = b"User-agent: " + b"b" * 400 + b"\nDisalow: /" + b"a" * 3000 + b"\nAllow: /x" + b"%C3" * 200

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
    for line in all_of(browser, ".file code"):
        assert line.get_property("scrollWidth") <= line.get_property("clientWidth")


@pytest.mark.parametrize("width", [900, 1440, 1920])
def test_findings_stand_in_the_margin_of_their_line(shown, width):
    """Left of it, beginning where it begins."""
    browser = shown(BODY)
    browser.be(width)
    for margin in all_of(browser, ".annotated .margin"):
        code = margin.find_element(By.XPATH, "../code")
        assert margin.rect["x"] + margin.rect["width"] <= code.rect["x"]
        assert abs(margin.rect["y"] - code.rect["y"]) < 8


def test_the_corrected_version_stands_beside_the_file(shown):
    """On a desktop; on a phone beneath, and findings beneath their lines."""
    browser = shown(BODY)
    file, corrected = one(browser, ".files > section"), one(browser, ".corrected")
    assert corrected.rect["x"] > file.rect["x"] + file.rect["width"]
    assert abs(corrected.rect["y"] - file.rect["y"]) < 2
    browser.be(*PHONE, is_phone=True)
    assert corrected.rect["y"] > file.rect["y"] + file.rect["height"]
    assert corrected.rect["x"] == file.rect["x"]
    for margin in all_of(browser, ".annotated .margin"):
        code = margin.find_element(By.XPATH, "../code")
        assert margin.rect["y"] >= code.rect["y"] + code.rect["height"] - 1


CONTRASTS = """
const channels = (colour) => {
  const numbers = colour.match(/[\\d.]+/g).map(Number);
  const scale = colour.startsWith("color(") ? 255 : 1;
  return [...numbers.slice(0, 3).map((one) => one * scale), numbers[3] ?? 1];
};
const over = ([r, g, b, a], under) => [r, g, b].map((one, i) => one * a + under[i] * (1 - a));
const ground = (element) => {
  const under = element.parentElement ? ground(element.parentElement) : [255, 255, 255];
  return over(channels(getComputedStyle(element).backgroundColor), under);
};
const light = (colour) => {
  const [r, g, b] = colour.map((one) => {
    const part = one / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
  const back = ground(element);
  const ink = over(channels(getComputedStyle(element).color), back);
  const [dark, bright] = [light(ink), light(back)].sort((one, other) => one - other);
  found.push([bright / dark, element.outerHTML.slice(0, 80)]);
}
return found;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(shown, scheme):
    """Contrast is at least 4.5 (WCAG 2.2, 1.4.3), of every text, by day and by night."""
    browser = shown(BODY)
    browser.prefer(scheme)
    for summary in all_of(browser, "summary"):
        summary.click()
    contrasts = browser.execute_script(CONTRASTS)
    assert len(contrasts) > 80
    assert [pair for pair in contrasts if pair[0] < 4.5] == []


def test_boxes_have_names(shown):
    """For those who do not see them."""
    browser = shown(BODY)
    names = {box: one(browser, f"#{box}").accessible_name for box in ("urls", "agents", "dialect")}
    assert names == {
        "urls": "URLs or paths, one a line",
        "agents": "Robot: a name or a User-Agent header; several, one a line",
        "dialect": "Read as",
    }
    heads = [head.text for head in all_of(browser, "h1, h2")]
    assert heads[:3] == ["robots.txt", "Test URLs", "The file, and what is wrong with it"]
