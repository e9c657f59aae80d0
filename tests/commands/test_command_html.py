"""``--format html``: a page of whatever verb, with that verb's exit code."""

from __future__ import annotations

import json
import re

BODY = b"""\
User-agent: *
Disallow: /private   # drafts
Disalow: /search

User-agent: Examplebot
Disallow: /shop
Allow: /shop/caf\xc3\xa9
"""


def data_of(page):
    """Return what the page's script is given."""
    return json.loads(
        re.search(r'type="application/json" id="data">(.*?)</script>', page)[1]
    )


def test_the_projects_dialect_and_robot_are_the_pages(robots, project):
    """A project asks as what it is."""
    project.write_text(
        project.read_text()
        + "ROBOTSTXT_USER_AGENT = 'Mine'\nMANDELBOT_DIALECT = 'rep1994'\n"
    )
    data = data_of(robots("check", "-", "--format", "html", stdin=BODY).stdout.decode())
    assert (data["dialect"], data["agents"]) == ("rep1994", ["Mine"])


def test_the_robot_is_the_one_that_requests_go_by(robots, project):
    """Scrapy sends the User-Agent of DEFAULT_REQUEST_HEADERS where there is one."""
    project.write_text(
        project.read_text() + "DEFAULT_REQUEST_HEADERS = {'user-agent': 'Own/1'}\n"
    )
    data = data_of(robots("check", "-", "--format", "html", stdin=BODY).stdout.decode())
    assert data["agents"] == ["Own/1"]
