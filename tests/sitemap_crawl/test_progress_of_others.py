"""What is kept for a site of pages that other sites' sitemaps list, and what is read
once.
"""

from __future__ import annotations

import pytest

from scrapy_mandelbot.sitemap_crawl.entry_files import CitedSitemap
from scrapy_mandelbot.sitemap_crawl.progress import Progress

SITE, OTHER = "https://example.com", "https://other.example"
MAP = CitedSitemap(f"{SITE}/a.xml", SITE, f"{SITE}/a.xml")


def take(file, most):
    """Take so many entries from the front, or as many as there are."""
    entries = file.next_entries(most)
    file.offset = entries[-1][1] if entries else file.offset
    return [entry for entry, _ in entries]


@pytest.fixture
def progress(tmp_path) -> Progress:
    return Progress(tmp_path)


def test_what_waits_for_a_sites_word_goes_on(progress, tmp_path):
    """Its pages, how many they are, and who was asked: as it was when the crawl was
    closed.
    """
    file = progress.new_file(MAP, is_index=False)
    file.is_complete = True
    file.pages = 3
    file.write([{"loc": f"{OTHER}/"}])
    progress[OTHER].unconfirmed.append(file)
    progress[OTHER].robots_requested = True
    progress[SITE].strangers.add(OTHER)
    progress[SITE].elsewhere.add(OTHER)
    progress.close()

    again = Progress(tmp_path)
    assert again.unfinished() == [OTHER], "it has something to wait for"
    assert (again[SITE], again[OTHER]) == (progress[SITE], progress[OTHER])
    assert take(again[OTHER].unconfirmed[0], 9) == [{"loc": f"{OTHER}/"}]


def test_what_several_sites_cite_is_begun_once(progress, tmp_path):
    """By the first, also in a later run, unless something of it was left out."""
    assert progress.begin(MAP)
    assert not progress.begin(MAP)
    progress.close()
    again = Progress(tmp_path)
    assert not again.begin(MAP)
    again.reopen(MAP.url)
    assert again.begin(MAP)
    assert not again.begin(MAP)


def test_what_an_index_lists_is_read_for_each_that_cites_an_index(progress):
    """Who cites the one index need not cite the other."""
    listed = CitedSitemap(f"{SITE}/b.xml", SITE, MAP.url, depth=1)
    assert progress.begin(listed)
    assert progress.begin(listed)


def test_pages_are_used_up_before_indexes(progress):
    """The last first; so none waits for sitemaps that are not asked for yet."""
    of_site = progress[SITE]
    assert of_site.next_file is None
    files = [
        progress.new_file(MAP, is_index=is_index)
        for is_index in (True, False, False, True)
    ]
    of_site.files.extend(files)
    for number in (2, 1, 3, 0):
        assert of_site.next_file is files[number]
        of_site.files.remove(files[number])


def test_how_much_of_a_file_is_left(progress):
    """In bytes: all of it, less, none."""
    file = progress.new_file(MAP, is_index=False)
    file.write([{"loc": "a"}, {"loc": "b"}])
    assert file.size - file.offset == 2 * len('{"loc": "a"}\n')
    take(file, 1)
    assert file.size - file.offset == len('{"loc": "a"}\n')
    take(file, 9)
    assert file.size - file.offset == 0
