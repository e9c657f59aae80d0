"""What a person does with the page: tests URLs, goes to lines, saves the corrected file."""

from __future__ import annotations

import re

import pytest
from looking import BODY, all_of, one, rows, write
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from scrapy_mandelbot.politeness import Answer
from scrapy_mandelbot.robotstxt import DIALECTS, RobotsTxt


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


@pytest.mark.parametrize("word", ["constructor", "toString", "__proto__", "hasOwnProperty"])
def test_words_of_the_language_are_urls_and_robots_as_any(shown, word):
    """What every object of the page's script has is no answer."""
    browser = shown(b"User-agent: *\nDisallow: /private\n")
    write(browser, "agents", word)
    write(browser, "urls", f"/private\n/{word}\n{word}\n/")
    verdicts = [verdict.text.partition(" ")[0] for verdict in all_of(browser, ".verdict")]
    assert verdicts == ["forbidden", "allowed:", "allowed:", "allowed:"]
    browser = shown(b"User-agent: %b\nDisallow: /%b\n" % (word.encode(), word.encode()), word)
    write(browser, "urls", f"/{word}")
    assert one(browser, ".verdict").text.startswith("forbidden by line 2")


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
