"""What of which site's sitemaps is done and what is left, over restarts."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.following.entry_files import Cited
from scrapy_mandelbot.following.progress import Progress, digest

SITE = "https://example.com"
CITED = Cited(f"{SITE}/a.xml", SITE, f"{SITE}/index.xml", depth=1)
ENTRIES = [{"loc": f"{SITE}/{number}", "title": "é\n\u2028"} for number in range(5)]


@pytest.fixture
def progress(tmp_path) -> Progress:
    return Progress(tmp_path / "progress")


def test_entries_come_out_as_they_were_put_in(progress):
    """In order, so many at a time; then there are none."""
    file = progress.new_file(CITED, is_index=False)
    assert file.write(ENTRIES[:2]) == 2
    assert file.write(ENTRIES[2:]) == 3
    assert file.take(2) == ENTRIES[:2]
    assert file.take(9) == ENTRIES[2:]
    assert file.take(1) == []
    file.remove()
    assert not file.path.exists()
    file.remove()


def test_what_was_left_goes_on(progress, tmp_path):
    """To ask, asked, half read, and known: all as it was when the crawl was closed."""
    file = progress.new_file(CITED, is_index=True)
    file.write(ENTRIES)
    file.take(3)
    file.is_complete = True
    of_site = progress[SITE]
    of_site.to_ask.append(CITED)
    of_site.asked = CITED
    of_site.files.append(file)
    of_site.known |= {"x", "y"}
    progress.save()

    again = Progress(tmp_path / "progress")
    assert again.unfinished() == [SITE]
    assert again[SITE] == of_site
    assert again[SITE].files[0].take(9) == ENTRIES[3:]
    assert again.new_file(CITED, is_index=False).path != file.path


def test_after_a_kill_nothing_is_left(progress, tmp_path):
    """A run that never closed its progress leaves none, and no files."""
    file = progress.new_file(CITED, is_index=False)
    file.write(ENTRIES)
    progress[SITE].files.append(file)
    progress.save()
    Progress(tmp_path / "progress")  # this one is killed

    again = Progress(tmp_path / "progress")
    assert again.unfinished() == []
    assert list((tmp_path / "progress").iterdir()) == []


def test_a_site_is_done_when_nothing_is_left_of_it(progress):
    """Nothing to ask for, nothing asked for, nothing to feed."""
    assert progress.get(SITE) is None
    assert progress[SITE].is_done
    progress[SITE].asked = CITED
    assert not progress[SITE].is_done
    assert progress.unfinished() == [SITE]


def test_what_is_known_takes_no_more_for_long_urls(progress, tmp_path):
    """Of a sitemap's URL a few characters are kept: who makes it chooses how long it is."""
    long = f"{SITE}/{'a' * 100_000}"
    assert progress.begin(Cited(long, SITE, long))
    assert not progress.begin(Cited(long, SITE, long))
    progress.reopen(long)
    assert progress.begin(Cited(long, SITE, long))
    progress.save()
    assert (tmp_path / "progress" / "state.json").stat().st_size < 1_000
    again = Progress(tmp_path / "progress")
    assert not again.begin(Cited(long, SITE, long))


def test_urls_that_an_earlier_version_kept_are_known(progress, tmp_path):
    """A JOBDIR of before goes on: what it has asked for is not asked for again."""
    of_site = progress[SITE]
    of_site.known.add(f"{SITE}/a.xml")
    of_site.to_ask.append(CITED)
    progress.save()
    assert Progress(tmp_path / "progress")[SITE].known == {digest(f"{SITE}/a.xml")}


def test_nothing_is_held_of_a_site_that_is_done(progress):
    """Of a thousand sites whose sitemaps were read no progress is kept."""
    for number in range(1_000):
        progress[f"https://{number}.example"].known.add("x")
        progress.forget_done(f"https://{number}.example")
    progress[SITE].to_ask.append(CITED)
    progress.forget_done(SITE)
    assert list(progress._sites) == [SITE]


def test_sitemaps_that_wait_on_disk_come_behind_all_else(progress):
    """They are an index that the robots.txt itself is, and it is used up last."""
    progress[SITE].files.append(progress.new_file(CITED, is_index=True))
    progress.put_behind(SITE, [f"{SITE}/1.xml", f"{SITE}/2.xml"])
    behind, index = progress[SITE].files
    assert progress[SITE].next_file is index
    assert [entry["loc"] for entry in behind.take(9)] == [f"{SITE}/1.xml", f"{SITE}/2.xml"]
    assert (behind.is_index, behind.cited.depth) == (True, -1)
