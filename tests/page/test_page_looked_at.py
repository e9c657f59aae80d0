"""The page in a browser: what stands where, what a person does with it, what it never does."""

from __future__ import annotations

import re

import pytest
from corpus import needs_corpus, read_files
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from scrapy_mandelbot.commands.reports.layout import shown as escaped
from scrapy_mandelbot.politeness import Answer, Failure
from scrapy_mandelbot.robotstxt import DIALECTS, RobotsTxt
from scrapy_mandelbot.robotstxt.lint import Delivery

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
LONG = b"User-agent: " + b"b" * 400 + b"\nDisalow: /" + b"a" * 3000 + b"\nAllow: /x" + b"%C3" * 200

PHONE, SMALL_PHONE, TABLET, LAPTOP, DESKTOP = (
    (390, 844),
    (320, 600),
    (820, 1180),
    (1280, 720),
    (1920, 1080),
)


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
    """Return the cells of the table of the first URL tested."""
    table = one(browser, "#results table")
    return [
        [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td, th")]
        for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")
    ]


# What it shows.


def test_it_says_what_the_text_says(shown):
    """All findings, each with its severity, code and reason; the counts; the proof."""
    browser = shown(BODY)
    assert [chip.text for chip in all_of(browser, ".counts li")] == [
        "1 error",
        "1 warning",
        "3 notes",
        "Corrected version: proved: 63 decisions in mandelbot are alike",
    ]
    told = [(box.text, box.get_attribute("class")) for box in all_of(browser, ".finding")]
    findings = RobotsTxt.parse(BODY).findings()
    assert len(told) == len(findings) == 5
    for (text, kind), finding in zip(told, findings, strict=True):
        assert text.startswith(f"{finding.severity} {finding.message} {finding.code}")
        assert kind == f"finding {finding.severity}"
    box = one(browser, "#L4 .finding")
    assert "Robots skip the line" not in box.text
    box.find_element(By.TAG_NAME, "summary").click()
    assert "Robots skip the line" in box.text


def test_the_files_are_shown_line_by_line(shown):
    """Both, as they are, with their numbers."""
    browser = shown(BODY)
    for selector, text in (
        (".annotated", BODY.decode()),
        (".corrected", RobotsTxt.parse(BODY).rewrite()),
    ):
        lines = [line.get_attribute("textContent") for line in all_of(browser, f"{selector} code")]
        assert lines == text.split("\n")[:-1]
        numbers = [int(number.text) for number in all_of(browser, f"{selector} .number")]
        assert numbers == list(range(1, len(lines) + 1))


def test_what_was_changed_is_marked(shown):
    """By a bar, in both files."""
    browser = shown(b"User-agent: *\nDisallow: /a # x\nAllow: /b\n")
    changed = [line.get_attribute("id") for line in all_of(browser, ".changed")]
    assert changed == ["L2", "C3", "C4"]


def test_the_whole_files_findings_stand_above_it(shown):
    """Those of the delivery; what is known of that is shown."""
    delivery = Delivery(
        url="https://example.com/robots.txt",
        final_url="https://example.com/r.txt",
        redirects=6,
        status=200,
        seconds=6.5,
        content_type="text/html",
        content_encoding="br",
    )
    browser = shown(BODY, delivery=delivery, answer=Answer(status=200))
    above = [box.text for box in all_of(browser, "section > .finding")]
    codes = ("many-redirects", "slow", "not-text-plain")
    assert [code for code in codes if not any(f" {code}" in text for text in above)] == []
    facts = one(browser, "dl").text.split("\n")
    assert facts == [
        *("Came from", "https://example.com/r.txt", "Status", "200", "Redirects", "6"),
        *("Time", "6.500 s", "Type", "text/html", "Encoding", "br", "Size", "217 bytes"),
    ]


def test_findings_that_are_not_listed_are_counted(shown):
    """The last of a kind tells how many more there are."""
    browser = shown(b"User-agent: *\nDisallow: /\n" + b"nonsense\n" * 70)
    last = all_of(browser, ".annotated .finding")[-1]
    last.find_element(By.TAG_NAME, "summary").click()
    assert "And 20 more like this." in last.text


def test_the_owners_comments_are_shown(shown):
    """Those for the robot that the page is about."""
    assert "Please crawl at night." in one(shown(BODY), "header").text
    assert "Please crawl at night." not in one(shown(BODY, "Nobody"), "header").text


def test_a_file_that_is_not_there(shown):
    """Its absence is explained, what it means is tested, and there is nothing to correct."""
    source = "https://example.com/robots.txt"
    delivery = Delivery(url=source, final_url=source, status=403)
    browser = shown(b"Forbidden", source=source, answer=Answer(status=403), delivery=delivery)
    assert "No rules are read: 403" in one(browser, ".files").text
    assert not all_of(browser, ".corrected, .annotated li")
    assert one(browser, "#urls").get_property("value") == "https://example.com/"
    answers = {dialect: cell for _, dialect, cell in rows(browser)}
    assert answers["mandelbot"] == "allowed"
    assert answers["rep1994"] == "forbidden"


def test_nobody_knows_now(shown):
    """A site that is down forbids nothing for good, and allows nothing."""
    answer = Answer(failure=Failure.REFUSED)
    browser = shown(b"", source="https://example.com/robots.txt", answer=answer)
    assert one(browser, ".verdict").text.startswith("unknown: ")


def test_an_empty_file(shown):
    """Is a file: all is allowed, and nothing is wrong."""
    browser = shown(b"")
    assert "The file is empty." in one(browser, ".files").text
    assert one(browser, ".verdict").text == "allowed: no group is about this agent"


# Testing URLs.


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_url_is_decided_as_one_types(shown, dialect):
    """Verdict, line and reason are the package's, in each dialect and for the corrected file."""
    browser = shown(BODY)
    Select(one(browser, "#dialect")).select_by_visible_text(dialect)
    write(browser, "agents", "Mozilla/5.0 (compatible; Thirdbot/1.0)")
    write(browser, "urls", "https://example.com/private/press/1")
    corrected = RobotsTxt.parse(BODY).rewrite().encode()
    url, verdicts = "https://example.com/private/press/1", {}
    for name in DIALECTS:
        before = RobotsTxt.parse(BODY, dialect=name).verdict(url, "Thirdbot")
        after = RobotsTxt.parse(corrected, dialect=name).verdict(url, "Thirdbot")
        verdicts[name] = before
        cells = [
            f"{'allowed' if one.allowed else 'forbidden'} line {one.rule.line}"
            for one in (before, after)
        ]
        assert [name, *cells] in [row[1:] for row in rows(browser)]
    chosen = verdicts[dialect]
    marked = {row[1] for row in rows(browser) if row[0] == "*"}
    assert marked == {name for name, other in verdicts.items() if other.allowed != chosen.allowed}
    rule = chosen.rule
    sentence = re.sub(r"\s+", " ", one(browser, ".verdict").text)
    word = "allowed" if chosen.allowed else "forbidden"
    assert sentence.startswith(f"{word} by line {rule.line}, {rule}")
    assert sentence.endswith("(the group for *)")
    decides = [line.get_attribute("id") for line in all_of(browser, ".decides")]
    assert decides == [f"L{rule.line}"]


def test_several_urls_are_tested_at_once(shown):
    """In their order; blank lines are none; two hundred at most, and that is said."""
    browser = shown(BODY)
    write(browser, "urls", "/shop\n\n  /a  \n/private")
    assert [head.text for head in all_of(browser, ".result h3")] == ["/shop", "/a", "/private"]
    assert [line.get_attribute("id") for line in all_of(browser, ".decides")] == ["L9"]
    browser.execute_script(
        "const box = document.getElementById('urls'); box.value = '/a\\n'.repeat(201);"
        "box.dispatchEvent(new Event('input'));"
    )
    assert len(all_of(browser, ".result")) == 200
    assert "The first 200 of 201" in one(browser, "#results").text


def test_robots_of_the_file_are_one_press_away(shown):
    """Each is a button that fills the box."""
    browser = shown(BODY)
    buttons = all_of(browser, ".named button")
    assert [button.text for button in buttons] == ["*", "Examplebot", "Otherbot"]
    buttons[2].click()
    assert one(browser, "#agents").get_property("value") == "Otherbot"
    write(browser, "urls", "/shop")
    assert one(browser, ".verdict").text.endswith("(the group for Otherbot)")


def test_names_are_tried_in_their_order(shown):
    """One a line, as ROBOTSTXT_USER_AGENT may hold them."""
    body = b"User-agent: a\nDisallow: /a\n\nUser-agent: bb\nDisallow: /b\n"
    browser = shown(body, ["a", "bb"])
    assert one(browser, "#agents").get_property("value") == "a\nbb"
    write(browser, "urls", "/a")
    assert one(browser, ".verdict").text.startswith("forbidden by line 2")


def test_what_would_change_a_verdict_is_told(shown):
    """Of the URLs that the page is about, for its robot and its dialect: it was tried for these."""
    browser = shown(BODY, told={"/shop": ["Without line 9 it is allowed."], "/b": []})
    assert one(browser, "#urls").get_property("value") == "/shop\n/b"
    assert "Without line 9 it is allowed." in one(browser, ".result").text
    Select(one(browser, "#dialect")).select_by_visible_text("google")
    assert "Without line 9" not in one(browser, ".result").text
    Select(one(browser, "#dialect")).select_by_visible_text("mandelbot")
    write(browser, "agents", "Otherbot")
    assert "Without line 9" not in one(browser, ".result").text


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("example.com/a", "Begin it with https:// or with a slash."),
        ("http://example.com/a", "This is another site than https://example.com"),
        ("https://example.com:8443/a", "This is another site than https://example.com"),
        ("https://Example.COM:443/a", ""),
        ("https://user@example.com/a", ""),
        ("/a", ""),
        ("https://[::1/a", "Begin it with https:// or with a slash."),
    ],
)
def test_a_url_of_another_site_or_of_none_is_pointed_out(shown, url, hint):
    """The file says nothing of it."""
    browser = shown(BODY, source="https://example.com/robots.txt", answer=Answer(status=200))
    write(browser, "urls", url)
    hints = [line.text for line in all_of(browser, ".result .hint")]
    assert [line[: len(hint)] for line in hints] == ([hint] if hint else [])


def test_a_line_is_led_to(shown):
    """From a verdict to the line in the file, which is in view and outlined then."""
    browser = shown(b"#\n" * 300 + BODY)
    write(browser, "urls", "/shop")
    one(browser, ".verdict a").click()
    line = one(browser, "li:target")
    assert line.get_attribute("id") == "L309"
    place = browser.execute_script("return arguments[0].getBoundingClientRect().top", line)
    assert 0 <= place < 1000
    one(browser, "td:nth-child(4) a").click()
    assert one(browser, "li:target").get_attribute("id").startswith("C")


def test_the_first_error_is_led_to(shown):
    """From its count."""
    browser = shown(b"#\n" * 300 + BODY)
    one(browser, ".counts .error a").click()
    assert one(browser, "li:target").get_attribute("id") == "L304"


def test_the_corrected_file_is_saved_as_it_is(shown, tmp_path):
    """Octet by octet, under its name."""
    body = "User-agent: *\nDisallow: /é</script>\t& # \x07 日本\nAllow: /é/\n".encode()
    browser = shown(body)
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path / "saved")}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    one(browser, "#save").click()
    file = tmp_path / "saved" / "robots.txt"
    WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: file.exists())
    assert file.read_bytes() == RobotsTxt.parse(body).rewrite().encode()


# How it looks.


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


# What it never does.

HOSTILE = (
    b"User-agent: </script><script>window.harmed = 1</script>\n"
    b"Disallow: /<img src=x onerror=window.harmed=1>{{ 7 * 7 }}\n"
    b"Disallow: /--><!--<script>\n"
    b"Allow: /\xff\x1b[31m\xe2\x80\xaegnp.exe\xe2\x80\xa8\n"
    b"# ]]> </textarea></title></style><script>window.harmed = 1</script>\n"
    b"Sitemap: javascript:window.harmed=1\n"
    b"Comment: <b>bold</b>\n"
)


def test_a_file_can_do_no_harm(shown):
    """Whatever it holds is text; control characters are escapes, as in the terminal."""
    url = "https://example.com/</script><script>window.harmed = 1</script>"
    browser = shown(HOSTILE, "<script>window.harmed = 1</script>", told={url: ["<b>&amp;"]})
    assert browser.execute_script("return window.harmed") is None
    lines = [line.get_attribute("textContent") for line in all_of(browser, ".annotated code")]
    assert lines == [escaped(record.raw) for record in RobotsTxt.parse(HOSTILE).records]
    assert one(browser, ".result h3").text == url
    assert "<b>&amp;" in one(browser, ".result").text
    assert not all_of(browser, "img, b b, script:not([id]) ~ script")
    assert {link.get_attribute("href")[:5] for link in all_of(browser, "a")} <= {"file:", "blob:"}
    assert browser.complaints() == []


def test_no_other_script_runs(shown):
    """The page's policy lets its own run, and nothing that came into it otherwise."""
    browser = shown(BODY)
    assert browser.complaints() == []
    browser.execute_script(
        "const script = document.createElement('script');"
        "script.textContent = 'window.harmed = 1'; document.body.append(script);"
        "document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.harmed = 1\">x</p>');"
        "document.body.lastElementChild.click();"
    )
    assert browser.execute_script("return window.harmed") is None
    assert len([line for line in browser.complaints() if "Content Security Policy" in line]) == 2


def test_nothing_is_loaded(shown):
    """The page is the file, and asks for nothing else."""
    browser = shown(BODY)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_without_scripts_the_files_can_be_read(browser, page, tmp_path):
    """The box is not there then, and what to use instead is."""
    path = tmp_path / "page.html"
    path.write_text(page(BODY), encoding="ascii")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.show(path)
        assert not one(browser, "#tester").is_displayed()
        assert not one(browser, "#save").is_displayed()
        assert "scrapy robots explain" in one(browser, "noscript").text
        assert one(browser, "#L2 code").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@needs_corpus
def test_real_files_have_pages(browser, page, tmp_path):
    """Every thirtieth: shown without complaint, with all its findings, and tested at once."""
    path = tmp_path / "page.html"
    for name, body in list(read_files().items())[::30]:
        path.write_text(page(body, source=name), encoding="ascii")
        browser.show(path)
        assert browser.complaints() == [], name
        assert len(all_of(browser, ".finding")) == len(RobotsTxt.parse(body).findings()), name
        assert len(all_of(browser, ".result")) >= 1, name
