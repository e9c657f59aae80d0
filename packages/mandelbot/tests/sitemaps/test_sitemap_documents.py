"""The documents' own examples, from the table in tests/cases/sitemaps.py."""

from __future__ import annotations

import gzip
import json
import pickle

import pytest
from cases.sitemaps import CASES, URL, day

from mandelbot import SitemapEntry, SitemapReader

EACH = pytest.mark.parametrize("case", CASES, ids=[case.document for case in CASES])


def read(body: bytes, **limits: int | None) -> tuple[list[SitemapEntry], SitemapReader]:
    reader = SitemapReader(URL, **limits)
    return [*reader.feed(body), *reader.close()], reader


def codes(reader: SitemapReader) -> tuple[str, ...]:
    return tuple(problem.code for problem in reader.problems)


@EACH
def test_the_case_holds(case):
    """An example means the entries that its document says, packed or not, and has no
    problem.
    """
    for body in (case.octets, gzip.compress(case.octets)):
        entries, reader = read(body)
        assert entries == list(case.entries), case.says
        assert (reader.kind, codes(reader)) == (case.kind, case.problems)
        assert not reader.stopped


@EACH
def test_entries_travel(case):
    """An entry comes back from pickle, and its extensions from JSON, as they were."""
    for entry in read(case.octets)[0]:
        assert pickle.loads(pickle.dumps(entry)) == entry
        assert json.loads(json.dumps(entry.extensions)) == entry.extensions


def test_an_entry_can_be_a_key():
    """Entries are values: equal ones are one in a set."""
    one = SitemapEntry("http://www.example.com/", day(2005), extensions={"a": ["b"]})
    other = SitemapEntry("http://www.example.com/", day(2005), extensions={"a": ["b"]})
    assert len({one, other}) == 1


def test_entries_come_while_the_file_does():
    """What is complete is handed out before the rest is there, and the state can be
    seen.
    """
    entry = b"<url><loc>http://www.example.com/page</loc></url>\n"
    reader = SitemapReader(URL)
    early = [*reader.feed(b"<urlset>" + entry * 2000)]
    assert 1000 < len(early) < 2000
    assert (
        repr(reader) == f"<SitemapReader urlset, reading, {len(early)} entries, {URL}>"
    )
    late = [*reader.feed(b"</urlset>"), *reader.close()]
    assert len(early) + len(late) == reader.entries_read == 2000
    assert repr(reader) == f"<SitemapReader urlset, done, 2000 entries, {URL}>"


def test_who_stops_in_the_middle_loses_nothing():
    """Entries that were not taken are handed out by the next iterator."""
    lines = [f"http://www.example.com/{n}" for n in range(5000)]
    reader = SitemapReader(URL)
    taken = [next(reader.feed("\n".join(lines).encode())).loc]
    taken += [next(reader.feed(b"")).loc for _ in range(10)]
    assert reader.entries_read == 11
    taken += [entry.loc for entry in reader.close()]
    assert taken == lines


def test_a_closed_reader_takes_no_more():
    """Feeding it is a mistake of the programmer, and raises."""
    reader = SitemapReader(URL)
    assert [*reader.close()] == [*reader.close()] == []
    with pytest.raises(ValueError, match="closed"):
        reader.feed(b"x")
