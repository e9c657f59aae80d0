"""What a person does with the page: tests URLs, goes to lines, saves the corrected
file.
"""

from __future__ import annotations

import re

import pytest
from looking import BODY, all_of, one, rows, write
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from mandelbot import DIALECTS, RobotsTxt, normalize
from mandelbot.answers.outcome import Answer
from mandelbot.robotstxt.known_robots import KINDS, KNOWN_ROBOTS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_url_is_decided_as_one_types(shown, dialect):
    """Verdict, line and reason are the package's, in each dialect and for the corrected
    file.
    """
    browser = shown(BODY)
    Select(one(browser, "#dialect")).select_by_visible_text(dialect)
    write(browser, "agents", "Mozilla/5.0 (compatible; Thirdbot/1.0)")
    write(browser, "urls", "https://example.com/private/press/1")
    corrected = normalize(BODY).text.encode()
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
    assert marked == {
        name for name, other in verdicts.items() if other.allowed != chosen.allowed
    }
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
    assert [head.text for head in all_of(browser, ".result h3")] == [
        "/shop",
        "/a",
        "/private",
    ]
    assert [line.get_attribute("id") for line in all_of(browser, ".decides")] == ["L9"]
    browser.execute_script(
        "const box = document.getElementById('urls'); box.value = '/a\\n'.repeat(201);"
        "box.dispatchEvent(new Event('input'));"
    )
    assert len(all_of(browser, ".result")) == 200
    assert "The first 200 of 201" in one(browser, "#results").text


@pytest.mark.parametrize(
    "word", ["constructor", "toString", "__proto__", "hasOwnProperty"]
)
def test_words_of_the_language_are_urls_and_robots_as_any(shown, word):
    """What every object of the page's script has is no answer."""
    browser = shown(b"User-agent: *\nDisallow: /private\n")
    write(browser, "agents", word)
    write(browser, "urls", f"/private\n/{word}\n{word}\n/")
    verdicts = [
        verdict.text.partition(" ")[0] for verdict in all_of(browser, ".verdict")
    ]
    assert verdicts == ["forbidden", "allowed:", "allowed:", "allowed:"]
    browser = shown(
        b"User-agent: %b\nDisallow: /%b\n" % (word.encode(), word.encode()), word
    )
    write(browser, "urls", f"/{word}")
    assert one(browser, ".verdict").text.startswith("forbidden by line 2")


def test_robots_are_chosen_from_a_list(shown):
    """The file's robots come first, then the known ones by kind; one fills the box."""
    browser = shown(BODY)
    groups = {
        group.get_attribute("label"): [
            option.text for option in all_of(group, "option")
        ]
        for group in all_of(browser, "#known optgroup")
    }
    assert list(groups) == ["In the file", *KINDS.values()]
    assert groups["In the file"] == ["Examplebot", "Otherbot"]
    known = [name for names in list(groups.values())[1:] for name in names]
    assert known == [robot.name for robot in KNOWN_ROBOTS]
    Select(one(browser, "#known")).select_by_visible_text("Otherbot")
    assert one(browser, "#agents").get_property("value") == "Otherbot"
    write(browser, "urls", "/shop")
    assert one(browser, ".verdict").text.endswith("(the group for Otherbot)")


def test_what_all_dialects_read_alike_is_folded(shown):
    """Into a sentence; what they do not is shown, with who reads it otherwise."""
    browser = shown(BODY, "Thirdbot")
    write(browser, "urls", "/private/x\n/private/press/1")
    folded, open_ = all_of(browser, ".result details")
    assert folded.text == "All six give the same answer"
    assert open_.text.startswith(
        "Not all six give the same answer; different: rep1994, extended2\n"
    )
    folded.find_element(By.TAG_NAME, "summary").click()
    assert folded.text.count("forbidden line 2") == 6


# Editing.


def patient(browser):
    """Wait for what the page does a moment after a key: what is looked at may be
    replaced then.
    """
    stale = [StaleElementReferenceException]
    return WebDriverWait(browser, 20, poll_frequency=0.02, ignored_exceptions=stale)


def edit(browser, text):
    """Put a text into the editor as a person does, and wait until it is read."""
    if not one(browser, "#editor").is_displayed():
        one(browser, "#edit").click()
    field = one(browser, "#editor")
    field.clear()
    field.send_keys(text)
    wait = patient(browser)
    wait.until(
        lambda _: one(browser, "thead").get_property("textContent").count("As edited")
    )
    wait.until(lambda _: one(browser, "#save-edited").get_attribute("href"))


def test_the_edited_file_is_judged_as_one_types(shown):
    """In all dialects, as the package judges the text; beside it, what the file said
    before.
    """
    browser = shown(BODY, "Thirdbot")
    write(browser, "urls", "/private/press/1")
    text = (
        "User-agent: *\nDisallow: /private\nAllow: /private/*/1\nDisallow:"
        " /private/press/1x\n"
    )
    edit(browser, text)
    wait = patient(browser)
    wait.until(lambda _: "line 3" in one(browser, ".verdict").text)
    assert one(browser, "#brief").text == "/private/press/1: allowed"
    cells = {row[1]: row[2:] for row in rows(browser)}
    for name in DIALECTS:
        for place, body in enumerate((text.encode(), BODY)):
            verdict = RobotsTxt.parse(body, dialect=name).verdict(
                "/private/press/1", "Thirdbot"
            )
            word = "allowed" if verdict.allowed else "forbidden"
            assert cells[name][place] == f"{word} line {verdict.rule.line}", name
    heads = [head.get_property("textContent") for head in all_of(browser, "thead th")]
    assert heads == ["", "Dialect", "As edited", "As checked"]
    edit(browser, "User-agent: *\nDisallow: /private/press/1\n")
    wait.until(lambda _: "line 2" in one(browser, ".verdict").text)
    assert (
        one(browser, ".result summary").text
        == "All six give the same answer. As checked, unlike for mandelbot, rfc9309,"
        " google, rep2008"
    )
    one(browser, "#reset").click()
    heads = [head.get_property("textContent") for head in all_of(browser, "thead th")]
    assert heads == ["", "Dialect", "This file", "Corrected"]
    assert one(browser, "#file").is_displayed()
    assert one(browser, "#editor").get_property("value") == BODY.decode()


def test_a_verdict_leads_to_the_line_in_the_editor(shown):
    """Which is selected there."""
    browser = shown(BODY, "Thirdbot")
    write(browser, "urls", "/b")
    edit(browser, "User-agent: *\n\nDisallow: /a\nDisallow: /b\n")
    wait = patient(browser)
    wait.until(lambda _: "line 4" in one(browser, ".verdict").text)
    one(browser, ".verdict a").click()
    assert browser.execute_script("return getSelection().toString()") == "Disallow: /b"


def test_the_edited_file_is_saved(shown, tmp_path):
    """As it stands in the editor, in UTF-8."""
    browser = shown(BODY)
    text = "User-agent: *\nDisallow: /\u00e9</script>\n"
    edit(browser, text)
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path / "saved")}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    one(browser, "#save-edited").click()
    file = tmp_path / "saved" / "robots.txt"
    WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: file.exists())
    assert file.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\rDisallow: /\xe9\x00\x1b\r\n",
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /a",
        "User-agent: *\nDisallow: /\u00e9\n".encode("utf-16"),
        b"User-agent: *\r\nDisallow: /a\r\n"
        + (b"#" * 1000 + b"\r\n") * 520
        + b"Disallow: /b\n",
    ],
    ids=["octets", "mark", "UTF-16", "too large"],
)
def test_a_file_that_is_not_as_it_is_shown_is_judged_as_it_is(shown, body):
    """By its octets, whatever the page shows of them."""
    browser = shown(body, "Bot")
    urls = ["/\u00e9\x00\x1b", "/a", "/\u00e9", "/%E9", "/b"]
    browser.execute_script(
        "const box = document.getElementById('urls'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input'));",
        "\n".join(urls),
    )
    tables = all_of(browser, ".result table")
    for url, table in zip(urls, tables, strict=True):
        cells = [
            cell.get_property("textContent")
            for cell in all_of(table, "td:nth-child(3)")
        ]
        verdicts = [
            RobotsTxt.parse(body, dialect=name).verdict(url, "Bot") for name in DIALECTS
        ]
        assert cells == [
            ("allowed" if one.allowed else "forbidden")
            + (f" line {one.rule.line}" if one.rule else "")
            for one in verdicts
        ], url


# Going through the findings.


def test_findings_are_gone_through(shown):
    """Next and previous, by buttons and by keys, round and round, each beneath its
    line.
    """
    browser = shown(BODY)
    assert one(browser, "#place").text == "6"
    lines = []
    for _ in range(7):
        one(browser, "#next").click()
        lines.append(one(browser, ".current").get_attribute("id"))
    assert lines == ["L1", "L2", "L3", "L4", "L6", "L8", "L1"]
    assert one(browser, "#place").text == "1 of 6"
    one(browser, "#previous").click()
    assert one(browser, ".current").get_attribute("id") == "L8"
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys("n")
    assert one(browser, ".current").get_attribute("id") == "L1"
    body.send_keys("p")
    message = one(browser, ".current .message").text
    assert message.startswith(
        "note Comment stands in a group without Robot-version: 2.0."
    )
    assert one(browser, "[aria-current]").is_displayed()
    one(browser, ".message button").click()  # Previous, where one reads
    assert one(browser, ".current").get_attribute("id") == "L6"
    assert browser.switch_to.active_element.text == "Previous"
    write(browser, "urls", "/n/p")
    assert one(browser, ".current").get_attribute("id") == "L6"  # typing is no walking


def test_findings_are_shown_by_severity(shown):
    """In the list, in the file, and on the way through them."""
    browser = shown(BODY)
    notes = one(browser, ".walk input[value=note]")
    notes.click()
    codes = [
        kind.get_attribute("data-code")
        for kind in all_of(browser, ".kind:not([hidden])")
    ]
    assert codes == ["own-group-drops-rules", "misspelt-field"]
    marks = [mark for mark in all_of(browser, "#file .mark") if mark.is_displayed()]
    assert [mark.get_attribute("title") for mark in marks] == codes[::-1]
    for line in ("L6", "L4"):
        one(browser, "#previous").click()
        assert one(browser, ".current").get_attribute("id") == line
    one(browser, ".walk input[value=error]").click()
    assert not all_of(browser, ".current")
    assert one(browser, "#place").text == "1"


def test_a_line_shows_what_is_wrong_with_it(shown):
    """One finding after the other, then none; the list leads to the lines."""
    browser = shown(b"User-agent: *\nDisallow: /a*\n")
    mark = one(browser, "#L2 .mark")
    assert mark.get_attribute("title") == "wildcard, redundant-star"
    shown_codes = []
    for _ in range(3):
        mark.click()
        shown_codes += [
            one.find_element(By.XPATH, "ancestor::details").get_attribute("data-code")
            for one in all_of(browser, "[aria-current]")
        ]
    assert shown_codes == ["wildcard", "redundant-star"]
    one(browser, "[data-code=wildcard] a").click()
    assert one(browser, ".current").get_attribute("id") == "L2"


def test_names_are_tried_in_their_order(shown):
    """One a line, as ROBOTSTXT_USER_AGENT may hold them."""
    body = b"User-agent: a\nDisallow: /a\n\nUser-agent: bb\nDisallow: /b\n"
    browser = shown(body, ["a", "bb"])
    assert one(browser, "#agents").get_property("value") == "a\nbb"
    write(browser, "urls", "/a")
    assert one(browser, ".verdict").text.startswith("forbidden by line 2")


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
    browser = shown(
        BODY, source="https://example.com/robots.txt", answer=Answer(status=200)
    )
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
    place = browser.execute_script(
        "return arguments[0].getBoundingClientRect().top", line
    )
    assert 0 <= place < 1000
    one(browser, ".result summary").click()
    one(browser, "td:nth-child(4) a").click()
    assert one(browser, "li:target").get_attribute("id").startswith("C")


def test_the_corrected_file_is_saved_as_it_is(shown, tmp_path):
    """Octet by octet, under its name."""
    body = "User-agent: *\nDisallow: /é</script>\t& # \x07 日本\nAllow: /é/\n".encode()
    browser = shown(body)
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path / "saved")}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    one(browser, "#save").click()
    file = tmp_path / "saved" / "robots.txt"
    WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: file.exists())
    assert file.read_bytes() == normalize(body).text.encode()
