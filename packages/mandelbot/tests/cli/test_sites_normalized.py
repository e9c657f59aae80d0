"""``mandelbot normalize``: the normal form, and its proof."""

from __future__ import annotations

from small_webs import Answer

from mandelbot.cli.verbs import main
from mandelbot.fix.effects import FIRST_MATCH

BODY = b"User-agent: *\nDisallow: /a # drafts\nAllow: /a/b\n"
FIXED = b"User-agent: *\n# drafts\nDisallow: /a\nAllow: /a/b\n"
STAYS = (
    "mandelbot: Allow stays behind Disallow in the group for *: some robots decide"
    " by it.\n"
)


def test_moderatobot_the_corrected_file_is_printed_and_proved(robots):
    """The file is on standard output, remarks are on standard error."""
    run = robots("normalize", "-", stdin=BODY)
    assert (run.returncode, run.stdout) == (0, FIXED)
    proved = (
        "mandelbot: verified: 14 allow/disallow decisions unchanged (mandelbot"
        " dialect)\n"
    )
    assert run.stderr.decode().startswith(STAYS + proved)


def test_the_file_can_be_written(robots, tmp_path):
    """In place too; standard output is empty then."""
    path = tmp_path / "robots.txt"
    path.write_bytes(BODY)
    run = robots("normalize", "robots.txt", "--output", "robots.txt")
    assert (run.returncode, run.stdout, path.read_bytes()) == (0, b"", FIXED)
    assert run.stderr.decode().splitlines()[-1] == "mandelbot: robots.txt is written"


HARMFUL = b"User-agent: *\nDisallow: /a/\nCrawl-delay: 20\nUser-agent: Googlebot\n"


def test_what_would_do_harm_is_done_only_where_that_is_asked_for(robots):
    """The remarks name what opens to whom; for an unchanged file, what to do."""
    opens = f"opens /a/ for Googlebot, as read by {FIRST_MATCH}"
    run = robots("normalize", "-", stdin=HARMFUL)
    assert (run.returncode, run.stdout) == (0, HARMFUL)
    assert (
        b"So it stays unchanged; --only mandelbot writes it for that dialect."
        in run.stderr
    )
    assert opens in run.stderr.decode()
    run = robots("normalize", "-", "--only", "mandelbot", stdin=HARMFUL)
    assert run.returncode == 0
    assert run.stdout != HARMFUL
    assert b"decisions unchanged (mandelbot dialect)" in run.stderr
    assert f"mandelbot: {opens}\n" in run.stderr.decode()


def test_the_file_of_a_site_is_corrected(webs, robots):
    """And where there is none, it is said why."""
    web = webs()
    web.pages["/robots.txt"] = Answer(BODY)
    run = robots("normalize", web.url)
    assert (run.returncode, run.stdout) == (0, FIXED)
    del web.pages["/robots.txt"]
    run = robots("normalize", web.url)
    assert (run.returncode, run.stdout) == (2, b"")
    assert (
        run.stderr.decode() == f"mandelbot: {web.url}/robots.txt: the status is 404\n"
    )


def test_what_is_not_proved_is_not_written(monkeypatch, tmp_path, capsys):
    """Exit code 3, with the places that differ.

    No file does this: the rewriter is broken here.
    """

    from mandelbot.fix import Rewritten, correction

    broken = "User-agent: *\nDisallow: /\n"
    monkeypatch.setattr(correction, "rewrite", lambda *_, **__: Rewritten(broken))
    monkeypatch.setattr(correction, "as_it_is", lambda _: broken)
    (tmp_path / "robots.txt").write_bytes(BODY)
    arguments = [
        "normalize",
        str(tmp_path / "robots.txt"),
        "--output",
        str(tmp_path / "new"),
    ]
    assert main(arguments) == 3
    said = capsys.readouterr().err
    assert "not verified: " in said
    assert "was allowed" in said
    assert "new is not written" in said
    assert not (tmp_path / "new").exists()
