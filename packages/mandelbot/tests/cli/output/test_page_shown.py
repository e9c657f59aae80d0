"""What the page shows of a file, of its corrected version, and of how it came."""

from __future__ import annotations

from dataclasses import replace

from corpus import needs_corpus, one_in, read_files
from looking import BODY, all_of, one, rows
from selenium.webdriver.common.by import By

from mandelbot import DIALECTS, lint, normalize
from mandelbot.answers.outcome import Answer, Failure
from mandelbot.findings import FINDINGS, Delivery


def test_it_says_what_the_text_says(shown):
    """All findings, each with its severity, code and reason, and the counts."""
    browser = shown(BODY)
    assert [chip.text for chip in all_of(browser, ".counts li")] == [
        "1 error",
        "1 warning",
        "4 notes",
    ]
    boxes = all_of(browser, ".kind")
    assert "Robots skip the line" not in boxes[0].text
    for box in boxes:
        box.find_element(By.TAG_NAME, "summary").click()
    told = [(box.text, box.get_attribute("class")) for box in boxes]
    findings = lint(BODY)
    assert len(told) == len(findings) == 6
    severities = [kind.removeprefix("kind ") for _, kind in told]
    assert severities == ["warning", "error", *["note"] * 4]  # it lets robots in
    for finding in findings:
        [text] = [text for text, _ in told if f"\n{finding.code}\n" in text]
        assert text.startswith(f"{finding.severity} {FINDINGS[finding.code].text}")
        assert finding.why in text
        assert f"line {finding.line} {finding.message}" in text


def test_the_files_are_shown_line_by_line(shown):
    """Both, as they are, with their numbers."""
    browser = shown(BODY)
    for name, text in (
        ("file", BODY.decode()),
        ("corrected", normalize(BODY).text),
    ):
        items = all_of(browser, f"#{name} li")
        lines = [line.get_attribute("textContent") for line in items]
        assert lines == text.split("\n")[:-1]
        prefix = "L" if name == "file" else "C"
        ids = [item.get_attribute("id") for item in items]
        assert ids == [f"{prefix}{number}" for number in range(1, len(lines) + 1)]
        numbers = browser.execute_script(
            "return Array.from(arguments[0].children,"
            " (item) => getComputedStyle(item, '::before').content)",
            one(browser, f"#{name}"),
        )
        assert numbers == [f'"{number}"' for number in range(1, len(lines) + 1)]


def test_what_was_changed_is_marked(shown):
    """By a bar, in both files."""
    browser = shown(b"User-agent: *\nDisallow: /a # x\nDisallow: /b\n")
    changed = [line.get_attribute("id") for line in all_of(browser, ".changed")]
    assert changed == ["L2", "C2", "C3"]


def test_findings_of_the_whole_file_are_listed(shown):
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
    listed = [box.get_attribute("data-code") for box in all_of(browser, ".kind")]
    assert {"many-redirects", "slow", "not-text-plain"} <= set(listed)
    facts = one(browser, "dl").text.split("\n")
    assert facts == [
        *("Came from", "https://example.com/r.txt", "Status", "200", "Redirects", "6"),
        *(
            "Time",
            "6.500 s",
            "Type",
            "text/html",
            "Encoding",
            "br",
            "Size",
            "217 bytes",
        ),
    ]


def test_findings_that_are_not_listed_are_counted(shown):
    """The last of a kind tells how many more there are."""
    browser = shown(b"User-agent: *\nDisallow: /\n" + b"nonsense\n" * 70)
    kind = one(browser, "[data-code=not-a-directive]")
    assert one(kind, ".count").text == "70"
    kind.find_element(By.TAG_NAME, "summary").click()
    assert "And 20 more like this." in kind.text
    assert len(all_of(kind, "a")) == 50


def test_the_owners_comments_are_shown(shown):
    """Those for the robot that the page is about."""
    assert "Please crawl at night." in one(shown(BODY), "header").text
    assert "Please crawl at night." not in one(shown(BODY, "Nobody"), "header").text


def test_a_file_that_is_not_there(shown):
    """Its absence is explained, what it means is tested, and there is nothing to
    correct.
    """
    source = "https://example.com/robots.txt"
    delivery = Delivery(url=source, final_url=source, status=403)
    browser = shown(
        b"Forbidden", source=source, answer=Answer(status=403), delivery=delivery
    )
    assert "No rules are read: 403" in one(browser, ".files").text
    assert not all_of(browser, ".corrected, #file li")
    assert one(browser, "#urls").get_property("value") == "https://example.com/"
    answers = {dialect: cell for _, dialect, cell in rows(browser)}
    assert answers["mandelbot"] == "allowed"
    assert answers["rep1994"] == "forbidden"


def test_a_file_that_a_dialect_does_not_read(shown):
    """Its findings are told all the same, and what other dialects make of it."""
    dialect = replace(DIALECTS["mandelbot"], name="strict", only_status_200=True)
    source = "https://example.com/robots.txt"
    browser = shown(BODY, source=source, answer=Answer(status=206), dialect=dialect)
    assert "No rules are read: 206" in one(browser, ".files").text
    assert all_of(browser, "[data-code=misspelt-field]")
    browser.execute_script(
        "const box = document.getElementById('urls'); box.value = '/shop';"
        "box.dispatchEvent(new Event('input'));"
    )
    answers = {dialect: cell for _, dialect, cell in rows(browser)}
    assert answers["strict"] == "allowed"
    assert answers["mandelbot"] == "forbidden line 9"


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


@needs_corpus
@one_in(100, nightly=30)
def test_real_files_have_pages(browser, page, tmp_path, one_in):
    """Shown without complaint, with all its findings, and tested at once."""
    path = tmp_path / "page.html"
    for name, body in list(read_files().items())[::one_in]:
        path.write_text(page(body, source=name), encoding="ascii")
        browser.show(path)
        assert browser.complaints() == [], name
        findings = lint(body)
        assert len(all_of(browser, ".kind li:not(.hint)")) == len(findings), name
        marked = {one.line for one in findings if one.line}
        assert len(all_of(browser, "#file .mark")) == len(marked), name
        assert len(all_of(browser, ".result")) >= 1, name
