"""Known robots get one answer from the page, the command and the Python API.

Whether they are asked about by their name or by a whole User-Agent header.
"""

from __future__ import annotations

import json

import pytest
from cli.output.test_page_decides import SCRIPT
from looking import one, write
from selenium.webdriver.support.select import Select

from mandelbot import DIALECTS, RobotsTxt, Verdict, known_robot_verdict
from mandelbot.cli.output.robots_page import dialect_data
from mandelbot.cli.output.rules_in_force import Rules
from mandelbot.robotstxt.agents import BROWSER_WORDS
from mandelbot.robotstxt.known_robots import (
    FALLBACKS,
    IGNORE_STAR,
    KNOWN_ROBOTS,
    dialect_of,
)

NAMES = list(
    dict.fromkeys(one.name for one in (*KNOWN_ROBOTS, *FALLBACKS, *IGNORE_STAR))
)
HEADERS = {
    "name": "{}",
    "name and version": "{}/2.1 (+https://example.com/bot.html)",
    "as a browser": (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; {}/3.0;"
        " +https://example.com/bots) Chrome/131.0.0.0 Safari/537.36"
    ),
    "in a comment at the end": (
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P)"
        " AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; {};"
        " +https://example.com/bot)"
    ),
    "in capitals, in a sequence": ["{}", "Examplebot"],
}
GROUPS = [
    "User-agent: *\nDisallow: /all\n",
    "User-agent: Yandex\nDisallow: /yandex\n",
    "User-agent: Googlebot\nUser-agent: GoogleOther\nDisallow: /google\n",
    "User-agent: {}\nDisallow: /own\n",
]
URLS = [
    "/all",
    "/yandex",
    "/google",
    "/own",
    "/robots.txt",
    "no URL",
]
ASK = """
const [files, words] = [JSON.parse(arguments[0]), arguments[1]];
const dialects = JSON.parse(arguments[2]);
return files.map(([octets, agents, urls, dialect]) => {
  const tables = readTables(octets, dialects[dialect], null);
  return urls.map((url) => {
    const one = decide(tables, url, namesOf(agents, words));
    return [one.allowed, one.line, one.group, one.reason];
  });
});
"""


def agent_of(form, name):
    if isinstance(form, list):
        return [one.format(name.upper()) for one in form]
    return form.format(name)


def answer(verdict):
    line = verdict.rule and verdict.rule.line
    return [verdict.allowed, line, verdict.agent, verdict.reason]


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
def test_page_command_and_api_give_one_answer(chromium, dialect):
    """In each dialect, and in that of the robot, for each mix of groups."""
    chromium.get("about:blank")
    asked = []
    for name in NAMES:
        for number, form in enumerate(HEADERS.values()):
            agent = agent_of(form, name)
            reads = dialect or dialect_of(agent) or "mandelbot"
            for chosen in range(1, 16):
                if dialect and (chosen + number) % 5:
                    continue  # a fifth of them, others for each form
                groups = [g for at, g in enumerate(GROUPS) if chosen >> at & 1]
                asked.append(("\n".join(groups).format(name), agent, reads))
    files = [
        [body, [agent] if isinstance(agent, str) else agent, URLS, reads]
        for body, agent, reads in asked
    ]
    found = chromium.execute_script(
        SCRIPT + ASK,
        json.dumps(files),
        sorted(BROWSER_WORDS),
        json.dumps({name: dialect_data(one) for name, one in DIALECTS.items()}),
    )
    for (body, agent, reads), answers in zip(asked, found, strict=True):
        robots = RobotsTxt.parse(body.encode(), dialect=reads)
        rules = Rules("robots.txt", body.encode())
        for url, on_page in zip(URLS, answers, strict=True):
            of_api = answer(known_robot_verdict(robots, url, agent))
            on_page[3] = getattr(Verdict, on_page[3])
            assert on_page == of_api, (body, agent, url)
            decided = rules.decide(url, agent, DIALECTS[reads])
            of_command = [
                decided["allowed"],
                decided["rule"] and decided["rule"]["line"],
                decided["group"],
                decided["reason"],
            ]
            assert of_command == of_api, (body, agent, url)


def test_the_page_reads_as_the_robot_that_is_written(shown):
    """Until the reader chooses a dialect."""
    browser = shown(b"User-agent: *\nDissallow: /a\n")
    box = Select(one(browser, "#dialect"))
    write(browser, "agents", "Mozilla/5.0 (compatible; Googlebot/2.1; +https://x.com/)")
    assert box.first_selected_option.text == "google"
    write(browser, "agents", "Examplebot/1.0")
    assert box.first_selected_option.text == "mandelbot"
    box.select_by_visible_text("rfc9309")
    write(browser, "agents", "Googlebot")
    assert box.first_selected_option.text == "rfc9309"
