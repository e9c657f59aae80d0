"""What of which site's sitemaps is done and what is left, over restarts."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.following.books import Books, digest
from scrapy_mandelbot.following.spool import Cited

SITE = "https://example.com"
CITED = Cited(f"{SITE}/a.xml", SITE, f"{SITE}/index.xml", depth=1)
ENTRIES = [{"loc": f"{SITE}/{number}", "title": "é\n\u2028"} for number in range(5)]


@pytest.fixture
def books(tmp_path) -> Books:
    return Books(tmp_path / "books")


def test_entries_come_out_as_they_were_put_in(books):
    """In order, so many at a time; then there are none."""
    spool = books.new_spool(CITED, is_index=False)
    assert spool.write(ENTRIES[:2]) == 2
    assert spool.write(ENTRIES[2:]) == 3
    assert spool.take(2) == ENTRIES[:2]
    assert spool.take(9) == ENTRIES[2:]
    assert spool.take(1) == []
    spool.remove()
    assert not spool.path.exists()
    spool.remove()


def test_what_was_left_goes_on(books, tmp_path):
    """To ask, asked, half read, and known: all as it was when the books were closed."""
    spool = books.new_spool(CITED, is_index=True)
    spool.write(ENTRIES)
    spool.take(3)
    spool.is_complete = True
    book = books[SITE]
    book.to_ask.append(CITED)
    book.asked = CITED
    book.spools.append(spool)
    book.known |= {"x", "y"}
    books.save()

    again = Books(tmp_path / "books")
    assert again.unfinished() == [SITE]
    assert again[SITE] == book
    assert again[SITE].spools[0].take(9) == ENTRIES[3:]
    assert again.new_spool(CITED, is_index=False).path != spool.path


def test_after_a_kill_nothing_is_left(books, tmp_path):
    """A run that never closed its books leaves none, and no files."""
    spool = books.new_spool(CITED, is_index=False)
    spool.write(ENTRIES)
    books[SITE].spools.append(spool)
    books.save()
    Books(tmp_path / "books")  # this one is killed

    again = Books(tmp_path / "books")
    assert again.unfinished() == []
    assert list((tmp_path / "books").iterdir()) == []


def test_a_site_is_done_when_nothing_is_left_of_it(books):
    """Nothing to ask for, nothing asked for, nothing to feed."""
    assert books.get(SITE) is None
    assert books[SITE].is_done
    books[SITE].asked = CITED
    assert not books[SITE].is_done
    assert books.unfinished() == [SITE]


def test_what_is_known_takes_no_more_for_long_urls(books, tmp_path):
    """Of a sitemap's URL a few characters are kept: who makes it chooses how long it is."""
    long = f"{SITE}/{'a' * 100_000}"
    assert books.begin(Cited(long, SITE, long))
    assert not books.begin(Cited(long, SITE, long))
    books.reopen(long)
    assert books.begin(Cited(long, SITE, long))
    books.save()
    assert (tmp_path / "books" / "state.json").stat().st_size < 1_000
    again = Books(tmp_path / "books")
    assert not again.begin(Cited(long, SITE, long))


def test_urls_that_an_earlier_version_kept_are_known(books, tmp_path):
    """A JOBDIR of before goes on: what it has asked for is not asked for again."""
    book = books[SITE]
    book.known.add(f"{SITE}/a.xml")
    book.to_ask.append(CITED)
    books.save()
    assert Books(tmp_path / "books")[SITE].known == {digest(f"{SITE}/a.xml")}


def test_nothing_is_held_of_a_site_that_is_done(books):
    """Of a thousand sites whose sitemaps were read no book is left."""
    for number in range(1_000):
        books[f"https://{number}.example"].known.add("x")
        books.forget_done(f"https://{number}.example")
    books[SITE].to_ask.append(CITED)
    books.forget_done(SITE)
    assert list(books._sites) == [SITE]


def test_sitemaps_that_wait_on_disk_come_behind_all_else(books):
    """They are an index that the robots.txt itself is, and it is used up last."""
    books[SITE].spools.append(books.new_spool(CITED, is_index=True))
    books.put_behind(SITE, [f"{SITE}/1.xml", f"{SITE}/2.xml"])
    behind, index = books[SITE].spools
    assert books[SITE].next_spool is index
    assert [entry["loc"] for entry in behind.take(9)] == [f"{SITE}/1.xml", f"{SITE}/2.xml"]
    assert (behind.is_index, behind.cited.depth) == (True, -1)
