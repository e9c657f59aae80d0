"""What a site's book keeps of pages that other sites' sitemaps list, and what is read once."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.following.books import Books
from scrapy_mandelbot.following.spool import Cited

SITE, OTHER = "https://example.com", "https://other.example"
MAP = Cited(f"{SITE}/a.xml", SITE, f"{SITE}/a.xml")


@pytest.fixture
def books(tmp_path) -> Books:
    return Books(tmp_path / "books")


def test_what_waits_for_a_sites_word_goes_on(books, tmp_path):
    """Its pages, how many they are, and who was asked: as it was when the books were closed."""
    spool = books.new_spool(MAP, is_index=False)
    spool.is_complete = True
    spool.pages = 3
    spool.write([{"loc": f"{OTHER}/"}])
    books[OTHER].in_doubt.append(spool)
    books[OTHER].robots_asked = True
    books[SITE].strangers.add(OTHER)
    books[SITE].elsewhere.add(OTHER)
    books.save()

    again = Books(tmp_path / "books")
    assert again.unfinished() == [OTHER], "it has something to wait for"
    assert (again[SITE], again[OTHER]) == (books[SITE], books[OTHER])
    assert again[OTHER].in_doubt[0].take(9) == [{"loc": f"{OTHER}/"}]


def test_what_several_sites_cite_is_begun_once(books, tmp_path):
    """By the first, also in a later run, unless something of it was left out."""
    assert books.begin(MAP)
    assert not books.begin(MAP)
    books.save()
    again = Books(tmp_path / "books")
    assert not again.begin(MAP)
    again.reopen(MAP.url)
    assert again.begin(MAP)
    assert not again.begin(MAP)


def test_what_an_index_lists_is_read_for_each_that_cites_an_index(books):
    """Who cites the one index need not cite the other."""
    listed = Cited(f"{SITE}/b.xml", SITE, MAP.url, depth=1)
    assert books.begin(listed)
    assert books.begin(listed)


def test_pages_are_used_up_before_indexes(books):
    """The last first; so none waits for sitemaps that are not asked for yet."""
    book = books[SITE]
    assert book.next_spool is None
    spools = [books.new_spool(MAP, is_index=is_index) for is_index in (True, False, False, True)]
    book.spools.extend(spools)
    for number in (2, 1, 3, 0):
        assert book.next_spool is spools[number]
        book.spools.remove(spools[number])


def test_how_much_of_a_spool_is_left(books):
    """In bytes: all of it, less, none."""
    spool = books.new_spool(MAP, is_index=False)
    spool.write([{"loc": "a"}, {"loc": "b"}])
    assert spool.bytes_left == 2 * len('{"loc": "a"}\n')
    spool.take(1)
    assert spool.bytes_left == len('{"loc": "a"}\n')
    spool.take(9)
    assert spool.bytes_left == 0
