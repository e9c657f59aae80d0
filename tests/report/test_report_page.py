"""The report as a browser has it."""

from __future__ import annotations

import json

import pytest
from browser import CONTRASTS, NEEDED
from clocks import MIDNIGHT as NOW
from reports import WAITING, a_record, a_report
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from scrapy_mandelbot.report.crawl_page import page_of


@pytest.fixture
def opened(browser, tmp_path):
    """Make the page of a report, and load it."""

    def make(report=None):
        path = tmp_path / "report.html"
        path.write_text(page_of(report or a_report(waiting=WAITING)), encoding="ascii")
        browser.show(path)
        return browser

    return make


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def all_of(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def names(browser):
    return [cell.text for cell in all_of(browser, "#sites th[scope=row]")]


def open_first(browser):
    one(browser, "#sites th[scope=row] button").click()


def test_the_page_shows_what_happened(opened):
    """In short, as charts, site by site, rules, what waits; the browser complains of
    nothing.
    """
    browser = opened()
    tiles = dict(
        zip(
            *(
                [cell.text for cell in all_of(browser, f".tiles {tag}")]
                for tag in ("dt", "dd")
            ),
            strict=True,
        )
    )
    assert tiles == {
        "Sites": "6",
        "Pages": "315",
        "Lost": "0",
        "Forbidden": "9",
        "Refused": "8",
        "Pauses": "2",
        "No answer": "0",
    }
    short = [item.text for item in all_of(browser, ".short li")]
    assert short[0].startswith("Given up 1 site")
    assert not any("kept" in one for one in short), "nothing is wrong with these"
    assert any(item.startswith("Given up 1 site ") for item in short)
    assert any(item.startswith("Left 1,204 requests") for item in short)
    assert one(browser, ".short a").get_attribute("href").endswith("#waiting-head")
    assert names(browser)[0] == "https://site-3.example"
    assert len(all_of(browser, ".lane svg")) == 6
    assert (
        "Disallow: /private" in one(browser, "section[aria-labelledby=rules-head]").text
    )
    waits = one(browser, "section[aria-labelledby=waiting-head]").text
    assert "1,204 2026-11-22 12:00:00 paused: 503 for" in waits
    assert "Of 5 pages, 1 disallow this use" in one(browser, "main").text
    assert browser.complaints() == []
    assert (
        browser.execute_script("return performance.getEntriesByType('resource').length")
        == 0
    )


def test_sums_that_are_not_0_lead_to_their_sites(opened):
    """They have a colour; the table then shows these sites alone."""
    browser = opened()
    links = {one.get_attribute("data-show"): one for one in all_of(browser, "dd a")}
    assert set(links) == {"forbidden", "refused", "pauses"}
    links["refused"].click()
    assert sorted(names(browser)) == [f"https://site-{one}.example" for one in (0, 3)]
    assert one(browser, "#kind").get_attribute("value") == "refused"
    links["forbidden"].click()
    assert len(names(browser)) == 3
    colours = {
        tile.find_element(By.TAG_NAME, "dt").text: tile.find_element(
            By.TAG_NAME, "dd"
        ).value_of_css_property("color")
        for tile in all_of(browser, ".tiles div")
    }
    assert colours["Refused"] != colours["Sites"] == colours["Lost"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_word_has_a_colour_of_its_own(opened, scheme):
    """And a contrast of 4.5 as all text; the sentence after it is the verdict."""
    colours = set()
    for word in ("OK", "INCOMPLETE", "FAILED"):
        report = a_report(result=word, verdict="Finished after 600 s. 315 pages.")
        browser = opened(report)
        browser.prefer(scheme)
        opened(report)
        first = one(browser, ".verdict b")
        assert first.text == word
        colours.add(first.value_of_css_property("color"))
        assert one(browser, ".verdict").text == f"{word} {report['verdict']}"
        contrasts = browser.execute_script(CONTRASTS)
        assert [pair for pair in contrasts if pair[0] < 4.5] == []
    assert len(colours) == 3


SAID = {
    "result": "INCOMPLETE",
    "came": "Finished after 8 h 12 min. 59 pages. 393 answers of 502.",
    "missing": (
        (
            "8 requests failed (8 of sites that were given up, such as https://a.example:"
            " 503 for <GET https://a.example/8>, Retry-After: 600;"
            " MANDELBOT_PAUSE_OPTIONS['total'] is over); links on those pages were not"
            " followed."
        ),
    ),
    "to_do": ("Raise MANDELBOT_PAUSE_OPTIONS['total'] to wait longer for such sites.",),
}


@pytest.mark.parametrize("width", [400, 1280])
def test_the_first_screen_says_what_came_what_is_missing_and_what_to_do(opened, width):
    """In this order, without a word of Python; the verdict has three lines at most."""
    report = a_report(verdict="…", **SAID)
    browser = opened(report)
    browser.be(width, is_phone=width < 500)
    opened(report)
    verdict = one(browser, ".verdict")
    assert verdict.text == f"INCOMPLETE {SAID['came']}"
    line = float(verdict.value_of_css_property("line-height").removesuffix("px"))
    assert verdict.size["height"] < 3.5 * line
    answers = [item.text for item in all_of(browser, ".answers li")]
    assert [text.split(" 8 ")[0].split(" Raise")[0] for text in answers] == [
        "Missing",
        "To do",
    ]
    assert "the pause option “total” is over" in answers[0]
    assert not any("['" in text for text in answers)
    last = all_of(browser, ".answers li")[-1]
    assert last.location["y"] + last.size["height"] < 800


def test_a_setting_that_the_verdict_names_leads_to_how_it_is_written(opened):
    """Below the rules, to be copied."""
    browser = opened(a_report(verdict="…", **SAID))
    link = all_of(browser, ".answers a")[-1]
    place = link.get_attribute("href").partition("#")[2]
    written = one(browser, f"#{place}").text
    assert written == 'MANDELBOT_PAUSE_OPTIONS = {"total": …}'


@pytest.mark.parametrize(
    ("width", "cut"), [(390, {"sites", "waiting", "rules"}), (1440, {"sites"})]
)
def test_a_table_that_scrolls_says_so(opened, width, cut):
    """And one that fits does not."""
    browser = opened()
    browser.be(width, is_phone=width < 500)
    opened()
    said = browser.execute_async_script(
        """
        const done = arguments[0];
        const hint = (one) => getComputedStyle(one, "::before").content;
        const wide = [...document.querySelectorAll("section > .wide")];
        const look = () => done(wide.filter((one) => hint(one).includes("scroll")).map(
          (one) => one.getAttribute("aria-labelledby").split("-")[0]));
        requestAnimationFrame(() => requestAnimationFrame(look));
        """
    )
    assert set(said) == cut


def test_milliseconds_are_not_called_slower(opened):
    """Twice as long is noise below a tenth of a second."""
    report = a_report()
    for site in report["sites"]:
        site["answers"]["first_time"] = 0.011
        site["answers"]["time"] = 0.021
    assert not any("Slower" in item.text for item in all_of(opened(report), ".short b"))
    report["sites"][0]["answers"]["time"] = 0.2
    assert any("Slower" in item.text for item in all_of(opened(report), ".short b"))


def test_the_rules_of_many_sites_are_a_row_each(opened):
    """With the number of sites, and the one where a rule forbade most."""
    row = one(opened(), "section[aria-labelledby=rules-head] tbody tr").text
    assert row.startswith("Disallow: /private for * 3 9 https://site-4.example 7")


def test_a_site_is_opened(opened):
    """With its facts, charts and tables."""
    browser = opened()
    open_first(browser)
    assert one(browser, "#site-head").text == "https://site-3.example"
    assert len(all_of(browser, "#site figure svg")) == 2
    tables = {
        table.get_attribute("aria-label").split(",")[0]
        for table in all_of(browser, "#site .wide")
    }
    assert tables == {"Fetched (UTC)", "Since (UTC)", "Second"}
    assert "given up" in one(browser, "#site .tables").text


def facts_of_first(browser):
    open_first(browser)
    terms = [cell.text for cell in all_of(browser, "#site .facts dt")]
    values = [cell.text for cell in all_of(browser, "#site .facts dd")]
    return dict(zip(terms, values, strict=True))


def test_a_site_has_its_requests_in_flight(opened):
    """With the time of its answers."""
    facts = facts_of_first(opened())
    assert facts["Requests in flight"] == "1 at the most"
    assert facts["First byte, by these"].endswith(" with 1 (50 answers)")


def test_sites_are_found_and_sorted(opened):
    """By name, by kind, by each column, a page at a time; and the count is said."""
    browser = opened(a_report(a_record(45)))
    assert (len(names(browser)), one(browser, "#count").text) == (
        20,
        "1 to 20 of 45 sites",
    )
    one(browser, "#next").click()
    one(browser, "#next").click()
    assert one(browser, "#count").text == "41 to 45 of 45 sites"
    assert not one(browser, "#next").is_enabled()
    Select(one(browser, "#kind")).select_by_value("trouble")
    assert one(browser, "#count").text == "1 to 15 of 15 sites"
    one(browser, "#find").send_keys("site-4")
    assert sorted(names(browser)) == ["https://site-42.example"]
    one(browser, "#find").clear()
    one(browser, "#find").send_keys("no such site")
    assert one(browser, "#count").text == "0 to 0 of 0 sites"
    one(browser, "#find").clear()
    one(browser, "#find").send_keys("example")
    Select(one(browser, "#kind")).select_by_value("")
    head = all_of(browser, "#sites thead button")[2]
    head.click()
    assert one(browser, "th[aria-sort]").text == "Pages"
    assert names(browser)[0] == "https://site-44.example"
    head.click()
    assert names(browser)[0] == "https://site-0.example"


@pytest.mark.parametrize("width", [390, 900, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_meets_the_rules_of_accessibility(opened, width, scheme):
    """On each screen nothing sticks out, and all text has a contrast of 4.5, day and
    night.
    """
    record = a_record()
    record.of(f"https://{'long-' * 40}.example", NOW).forbid(
        "/" + "x" * 300, 1, "y" * 190, "z"
    )
    browser = opened(a_report(record, waiting=WAITING))
    browser.be(width, is_phone=width < 500)
    browser.prefer(scheme)
    opened(a_report(record, waiting=WAITING))
    open_first(browser)
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )
    needed, there = browser.execute_script(NEEDED)
    assert needed <= there
    contrasts = browser.execute_script(CONTRASTS)
    assert len(contrasts) > 150
    assert [pair for pair in contrasts if pair[0] < 4.5] == []


def test_no_fact_is_shown_by_colour_alone(opened):
    """A pause is hatched, a refusal and robots.txt have shapes; charts have names and a
    table.
    """
    browser = opened()
    assert len(all_of(browser, ".lane pattern line.hatch")) == 6
    refused, robots = (
        all_of(browser, f".lane path.{name}") for name in ("refused", "robots")
    )
    assert (
        refused[0].get_attribute("d").count("h")
        == 1
        != robots[0].get_attribute("d").count("h")
    )
    for svg in all_of(browser, "svg[role=img]"):
        assert svg.get_attribute("aria-label")
    lane = one(browser, ".lane svg").get_attribute("aria-label")
    assert lane.startswith("https://site-3.example: 53 pages, 4 refusals, 1 pauses of")
    for thing in all_of(browser, "button, input, select, summary"):
        assert not thing.is_displayed() or thing.accessible_name
    one(browser, "#whole summary").click()
    values = [row.text.split() for row in all_of(browser, "#whole tbody tr")]
    assert sum(int(row[1].replace(",", "")) for row in values) == 316


HOSTILE = "</script><img src=x onerror=window.harmed=1>{{ 7 * 7 }}<!--"


def test_text_from_the_web_runs_no_script(opened):
    """Names, rules, reasons, URLs and agents are text, whatever they hold; no other
    script runs.
    """
    record = a_record(1)
    evil = record.of(f"https://{HOSTILE}", NOW)
    evil.pages += 100
    evil.forbid(HOSTILE, 1, HOSTILE, HOSTILE)
    waiting = [{**WAITING[0], "site": HOSTILE, "details": HOSTILE}]
    report = a_report(
        record, spider=HOSTILE, agent=HOSTILE, reason=HOSTILE, waiting=waiting
    )
    report["sites"][0]["pause_list"][0]["reason"] = HOSTILE
    browser = opened(report)
    for button in all_of(browser, "#sites th[scope=row] button"):
        button.click()
    assert browser.execute_script("return window.harmed") is None
    assert one(browser, "h1").text == HOSTILE
    assert f"https://{HOSTILE}" in names(browser)
    assert browser.complaints() == []
    browser.execute_script(
        "document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.harmed ="
        " 1\">x</p>');document.body.lastElementChild.click();"
    )
    assert browser.execute_script("return window.harmed") is None


def test_without_scripts_it_can_be_read(browser, tmp_path):
    """The sums, the first sites, rules and what waits."""
    path = tmp_path / "report.html"
    path.write_text(page_of(a_report(waiting=WAITING)), encoding="ascii")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.show(path)
        assert names(browser)[0] == "https://site-3.example"
        assert not one(browser, "#choices").is_displayed()
        assert "Without scripts the first 6 of 6 sites" in one(browser, "noscript").text
    finally:
        browser.execute_cdp_cmd(
            "Emulation.setScriptExecutionDisabled", {"value": False}
        )


def test_a_thousand_sites_stay_readable(opened):
    """A page of twenty at a time, and one is found by its name."""
    browser = opened(a_report(a_record(1_000)))
    assert len(all_of(browser, "#sites tbody tr")) == 20
    one(browser, "#find").send_keys("site-999.")
    assert names(browser) == ["https://site-999.example"]
    assert len(json.dumps(browser.page_source)) < 2_000_000
