"""A long ``start()`` gives the loop a turn every few requests, and no more often."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from crawlers import get_crawler
from crawling import ensureDeferred

from scrapy_mandelbot.spidermiddlewares import start_turns


@pytest.mark.parametrize(("has_places", "turns"), [(False, 4), (True, 0)])
@ensureDeferred
async def test_every_fifth_request_gives_a_turn_where_the_engine_gives_none(
    monkeypatch, has_places, turns
):
    crawler = get_crawler()
    crawler.engine = SimpleNamespace(needs_backout=lambda: not has_places)
    taken = []

    def call_later(_seconds, call, *arguments):
        taken.append(call)
        call(*arguments)

    monkeypatch.setattr(start_turns, "call_later", call_later)

    async def start():
        for number in range(23):
            yield number

    passed_on = start_turns.StartTurns(crawler).process_start(start())
    assert [one async for one in passed_on] == [*range(23)]
    assert len(taken) == turns
