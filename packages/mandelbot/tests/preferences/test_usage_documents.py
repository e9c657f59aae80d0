"""The documents' own examples and rules, from the table in tests/cases."""

from __future__ import annotations

import pytest
from cases.usage import CASES
from tables import each_row

from mandelbot import DIALECTS, RobotsTxt, usage
from mandelbot.preferences.in_pages import page_usage
from mandelbot.preferences.of_file import preference_lines
from mandelbot.preferences.statements import CATEGORIES, DOCUMENTS, MEANINGS
from mandelbot.preferences.tdmrep import TdmFile, with_tdm_file
from mandelbot.robotstxt.known_robots import CONTROL_TOKENS


def said(case, dialect="mandelbot"):
    """Return what is said of the case's page, in all places."""
    file = usage(RobotsTxt.parse(case.file, dialect=dialect), case.url, case.agent)
    page = page_usage(case.headers, case.octets, case.agent)
    if case.tdmrep is not None:
        page = with_tdm_file(page, TdmFile.parse(case.tdmrep.encode()).usage(case.url))
    return file.combined_with(page)


def named(case):
    return f"{case.document[:24]}-{case.section[:24]}".replace(" ", "_")


PARAMETERS = [
    pytest.param(case, id=f"{n}-{named(case)}") for n, case in enumerate(CASES)
]


@each_row("case", PARAMETERS)
def test_the_case_holds(case):
    """The answers, the places of the statements, and the terms are those that the table
    has.
    """
    usage = said(case)
    known = {
        name: answer for name, answer in usage.answers.items() if answer != "unknown"
    }
    assert known == case.means, case.says
    of_images = {name: usage.answer(name, of_images=True) for name in CATEGORIES}
    wanted = case.means if case.of_images is None else case.of_images
    assert {
        key: value for key, value in of_images.items() if value != "unknown"
    } == wanted
    assert usage.is_crawlable == case.is_crawlable, case.says
    assert tuple(one.url for one in usage.terms) == case.terms, case.says
    if case.lines:
        assert tuple((one.where, one.line) for one in usage.statements) == case.lines, (
            case.says
        )


@each_row("case", PARAMETERS)
def test_every_answer_has_a_statement(case):
    """What is not unknown was said by a statement, which says just that, and can be
    shown.
    """
    usage = said(case)
    for category, answer in usage.answers.items():
        statement = usage.decided_by(category)
        assert (statement is None) == (answer == "unknown")
        if statement is not None:
            assert statement.category == category
            assert statement.allowed == (answer == "allowed")
            assert category in str(statement)
            assert statement.text.isprintable()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_statements(dialect):
    """Groups and escapes are the dialect's; a plain file says the same to all."""
    file = (
        b"User-agent: *\nContent-Usage: train-ai=n\nContent-Signal:"
        b" search=yes\nDisallow: /x\n"
    )
    said = usage(
        RobotsTxt.parse(file, dialect=dialect), "https://example.com/a", "Examplebot"
    )
    assert (said["train-ai"], said["search"]) == ("disallowed", "allowed")


def test_an_unknown_category_is_an_error():
    """An unknown category is a mistake of the caller, not of the file."""
    said = usage(RobotsTxt.parse(b""), "/", "a")
    with pytest.raises(KeyError):
        said["training"]


def test_the_table_of_words_is_about_the_categories():
    """Each word is from a dated document and speaks of categories that there are."""
    assert MEANINGS.keys() == DOCUMENTS.keys()
    for meaning in MEANINGS.values():
        assert {*meaning.allows, *meaning.refuses} <= set(CATEGORIES)
        assert not {*meaning.allows} & {*meaning.refuses}
    for document in DOCUMENTS.values():
        assert any(
            year in document for year in ("2022", "2023", "2024", "2025", "2026")
        )
    for name, token in CONTROL_TOKENS.items():
        assert name == token.name.lower()
        assert token.source
        assert token.dated
        assert set(token.refuses) <= set(CATEGORIES)


def test_what_is_no_url_hears_what_is_said_of_all_pages():
    """It is allowed, as it cannot be read, and no path is about it."""
    file = b"User-agent: *\nContent-Usage: search=y\nContent-Usage: / train-ai=y\n"
    said = usage(RobotsTxt.parse(file), "http://[", "Examplebot")
    assert (said["search"], said["train-ai"]) == ("allowed", "unknown")


def test_lines_about_a_robot_can_be_listed():
    """As written, with their numbers, in the order of the file."""
    file = (
        b"User-agent: a\nContent-Signal: x\nUser-agent: b\nContent-Usage: /p search=n\n"
    )
    robots = RobotsTxt.parse(file)
    assert [(one.line, one.text) for one in preference_lines(robots, "a")] == [
        (2, "Content-Signal: x"),
        (4, "Content-Usage: /p search=n"),
    ]
    assert [one.line for one in preference_lines(robots, "b")] == [4]
    assert preference_lines(robots, "c") == ()
