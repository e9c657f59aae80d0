"""What of which site's sitemaps is done and what is left, over restarts."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.sitemap_crawl.entry_files import CitedSitemap
from scrapy_mandelbot.sitemap_crawl.progress import Progress

SITE = "https://example.com"
CITED = CitedSitemap(f"{SITE}/a.xml", SITE, f"{SITE}/index.xml", depth=1)
ENTRIES = [{"loc": f"{SITE}/{number}", "title": "é\n\u2028"} for number in range(5)]


def take(file, most):
    """Take so many entries from the front, or as many as there are."""
    entries = file.next_entries(most)
    file.offset = entries[-1][1] if entries else file.offset
    return [entry for entry, _ in entries]


@pytest.fixture
def progress(tmp_path) -> Progress:
    return Progress(tmp_path)


def test_entries_come_out_as_they_were_put_in(progress):
    """In order, so many at a time; then there are none."""
    file = progress.new_file(CITED, is_index=False)
    assert file.write(ENTRIES[:2]) == 2
    assert file.write(ENTRIES[2:]) == 3
    assert take(file, 2) == ENTRIES[:2]
    assert take(file, 9) == ENTRIES[2:]
    assert take(file, 1) == []
    file.remove()
    assert not file.path.exists()
    file.remove()


def test_what_was_left_goes_on(progress, tmp_path):
    """To ask, asked, half read, and known: all as it was when the crawl was closed."""
    file = progress.new_file(CITED, is_index=True)
    file.write(ENTRIES)
    take(file, 3)
    file.is_complete = True
    of_site = progress[SITE]
    of_site.to_request.append(CITED)
    of_site.requested = CITED
    of_site.files.append(file)
    of_site.known |= {"x", "y"}
    progress.close()

    again = Progress(tmp_path)
    assert again.unfinished() == [SITE]
    assert again[SITE] == of_site
    assert take(again[SITE].files[0], 9) == ENTRIES[3:]
    assert again.new_file(CITED, is_index=False).path != file.path


def test_after_a_kill_nothing_is_left(progress, tmp_path):
    """A run that never closed its progress leaves none, and no files."""
    file = progress.new_file(CITED, is_index=False)
    file.write(ENTRIES)
    progress[SITE].files.append(file)
    progress.close()
    Progress(tmp_path)  # this one is killed

    again = Progress(tmp_path)
    assert again.unfinished() == []
    assert list((tmp_path / "mandelbot.sitemaps").iterdir()) == []


def test_a_site_is_done_when_nothing_is_left_of_it(progress):
    """Nothing to ask for, nothing asked for, nothing to feed."""
    assert progress.get(SITE) is None
    assert progress[SITE].is_done
    progress[SITE].requested = CITED
    assert not progress[SITE].is_done
    assert progress.unfinished() == [SITE]


def test_what_is_known_takes_no_more_for_long_urls(progress, tmp_path):
    """Of a sitemap's URL a few characters are kept: who makes it chooses how long it
    is.
    """
    long = f"{SITE}/{'a' * 100_000}"
    assert progress.begin(CitedSitemap(long, SITE, long))
    assert not progress.begin(CitedSitemap(long, SITE, long))
    progress.reopen(long)
    assert progress.begin(CitedSitemap(long, SITE, long))
    progress.close()
    assert (tmp_path / "mandelbot.sitemaps" / "state.json").stat().st_size < 1_000
    again = Progress(tmp_path)
    assert not again.begin(CitedSitemap(long, SITE, long))


def test_nothing_is_held_of_a_site_that_is_done(progress):
    """Of a thousand sites whose sitemaps were read no progress is kept."""
    for number in range(1_000):
        progress[f"https://{number}.example"].known.add("x")
        progress.forget_done(f"https://{number}.example")
    progress[SITE].to_request.append(CITED)
    progress.forget_done(SITE)
    assert list(progress._sites) == [SITE]


def test_sitemaps_that_wait_on_disk_come_behind_all_else(progress):
    """They are an index that the robots.txt itself is, and it is used up last."""
    progress[SITE].files.append(progress.new_file(CITED, is_index=True))
    progress.defer(SITE, [f"{SITE}/1.xml", f"{SITE}/2.xml"])
    behind, index = progress[SITE].files
    assert progress[SITE].next_file is index
    assert [entry["loc"] for entry in take(behind, 9)] == [
        f"{SITE}/1.xml",
        f"{SITE}/2.xml",
    ]
    assert (behind.is_index, behind.cited.depth) == (True, -1)


class Kept:
    """A job's states, as they were at its last commit."""

    def __init__(self):
        self.states, self._new = {}, {}

    def kept(self, prefix):
        return {
            name: value
            for name, value in self.states.items()
            if name.startswith(prefix)
        }

    def put(self, name, value):
        self._new[name] = value

    def commit(self, progress, *, is_last=False):
        progress.before_commit(is_last=is_last)
        self.states |= self._new
        self.states = {
            name: value for name, value in self.states.items() if value is not None
        }
        self._new.clear()


@pytest.fixture
def job() -> Kept:
    return Kept()


@pytest.fixture
def of_job(tmp_path, job, clock):
    """Return what opens the progress that the job has kept."""
    return lambda: Progress(tmp_path, job, clock.now)


def test_a_job_keeps_what_was_there_at_a_commit(of_job, job):
    """What was added to a file since comes again with its sitemap, and is cut."""
    progress = of_job()
    file = progress.new_file(CITED, is_index=False)
    file.write(ENTRIES[:3])
    file.is_complete = True
    progress[SITE].files.append(file)
    progress[SITE].known |= {"x", "y"}
    assert progress.begin(CitedSitemap(f"{SITE}/r.xml", SITE, f"{SITE}/r.xml"))
    job.commit(progress)
    file.write(ENTRIES[3:])
    again = of_job()
    assert again[SITE].known == {"x", "y"}
    assert take(again[SITE].files[0], 9) == ENTRIES[:3]
    assert not again.begin(CitedSitemap(f"{SITE}/r.xml", SITE, f"{SITE}/r.xml"))
    assert again.new_file(CITED, is_index=False).path != file.path


def test_what_was_being_read_comes_again(of_job, job):
    """Its request was not settled; what was read of it goes."""
    progress = of_job()
    file = progress.new_file(CITED, is_index=False)
    file.write(ENTRIES)
    progress[SITE].files.append(file)
    job.commit(progress)
    assert of_job().unfinished() == []
    assert not file.path.exists()


def test_a_file_goes_when_nothing_kept_speaks_of_it(of_job, job):
    """Until then a crash would find that it is wanted."""
    progress = of_job()
    file = progress.new_file(CITED, is_index=False)
    file.is_complete = True
    progress[SITE].files.append(file)
    job.commit(progress)
    progress[SITE].files.remove(file)
    progress.remove(file)
    assert file.path.exists()
    for _ in range(2):
        assert file.path.exists()
        progress.cannot_wait()
        job.commit(progress)
    assert not file.path.exists()


def test_what_has_changed_is_kept_once_a_second_or_when_it_cannot_wait(
    of_job, job, clock
):
    """A page that is fed costs no writing; a sitemap that was read is kept with its
    request.
    """
    progress = of_job()
    progress[SITE].to_request.append(CITED)
    job.commit(progress)
    progress[SITE].to_request.append(CITED)
    job.commit(progress)
    assert len(of_job()[SITE].to_request) == 1
    clock.turn(1)
    job.commit(progress)
    assert len(of_job()[SITE].to_request) == 2
    progress[SITE].to_request.clear()
    progress.cannot_wait()
    job.commit(progress)
    assert of_job().unfinished() == []
    progress.forget_done(SITE)
    job.commit(progress, is_last=True)
    assert [name for name in job.states if "site/" in name] == []


def test_long_lists_are_kept_seldom(of_job, job, clock):
    """Of fifty thousand sitemaps each that is read would write all: quadratic in their
    number.
    """
    progress = of_job()
    progress[SITE].known |= {f"{number:016x}" for number in range(50_000)}
    job.commit(progress)
    writes = 0
    for number in range(100):
        progress[SITE].known.add(str(number))
        progress.cannot_wait()
        before = dict(job.states)
        job.commit(progress)
        clock.turn(0.5)
        writes += any(
            before.get(name) != job.states[name]
            for name in job.states
            if "known" in name
        )
    assert writes == 4


def test_what_another_form_of_the_job_has_left_is_taken_over(
    progress, of_job, job, tmp_path
):
    """It is in the file until the job has it, and then it is not believed any more."""
    progress[SITE].to_request.append(CITED)
    progress.close()
    of_job()
    taken = of_job()
    assert taken.unfinished() == [SITE]
    job.commit(taken)
    taken[SITE].to_request.clear()
    job.commit(taken, is_last=True)
    assert of_job().unfinished() == []
    assert not (tmp_path / "mandelbot.sitemaps" / "state.json").exists()


def test_a_file_that_is_lost_costs_its_own_sitemap_alone(progress, tmp_path):
    """It is asked for again; the sites behind it go on."""
    files = {}
    for site in (SITE, "https://other.example"):
        files[site] = progress.new_file(
            CitedSitemap(f"{site}/a.xml", site, f"{site}/a.xml"), is_index=False
        )
        files[site].write(ENTRIES)
        files[site].is_complete = True
        progress.begin(files[site].cited)
        progress[site].files.append(files[site])
    progress.close()
    files[SITE].path.unlink()
    again = Progress(tmp_path)
    assert again.unfinished() == [SITE, "https://other.example"]
    assert list(again[SITE].to_request) == [files[SITE].cited]
    assert again.begin(files[SITE].cited)
    assert not again.begin(files["https://other.example"].cited)
    assert take(again["https://other.example"].files[0], 9) == ENTRIES


def test_what_cannot_be_read_of_a_job_is_forgotten(of_job, job, caplog):
    """Sitemaps are asked for again, and the run after that logs nothing."""
    progress = of_job()
    progress[SITE].to_request.append(CITED)
    job.commit(progress)
    for name in job.states:
        job.states[name] = b"{"
    again = of_job()
    assert again.unfinished() == []
    assert len(caplog.records) == 1
    job.commit(again)
    of_job()
    assert len(caplog.records) == 1
