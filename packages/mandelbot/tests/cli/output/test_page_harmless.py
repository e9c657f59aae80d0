"""What the page never does, whatever the file says."""

from __future__ import annotations

from looking import BODY, all_of, one

from mandelbot import RobotsTxt
from mandelbot.formatting import printable as escaped

HOSTILE = (
    b"User-agent: </script><script>window.harmed = 1</script>\n"
    b"Disallow: /<img src=x onerror=window.harmed=1>{{ 7 * 7 }}\n"
    b"Disallow: /--><!--<script>\n"
    b"Allow: /\xff\x1b[31m\xe2\x80\xaegnp.exe\xe2\x80\xa8\n"
    b"# ]]> </textarea></title></style><script>window.harmed = 1</script>\n"
    b"Sitemap: javascript:window.harmed=1\n"
    b"Comment: <b>bold</b>\n"
)


def test_a_file_can_do_no_harm(shown):
    """Whatever it holds is text; control characters are escapes, as in the terminal."""
    url = "https://example.com/</script><script>window.harmed = 1</script>"
    browser = shown(HOSTILE, "<script>window.harmed = 1</script>", urls=[url])
    assert browser.execute_script("return window.harmed") is None
    lines = [line.get_attribute("textContent") for line in all_of(browser, "#file li")]
    assert lines == [escaped(record.raw) for record in RobotsTxt.parse(HOSTILE).records]
    assert one(browser, ".result h3").text == url
    assert not all_of(browser, "img, b b, script:not([id]) ~ script")
    assert {link.get_attribute("href")[:5] for link in all_of(browser, "a")} <= {
        "file:",
        "blob:",
    }
    assert browser.complaints() == []


def test_no_other_script_runs(shown):
    """The page's policy lets its own run, and nothing that came into it otherwise."""
    browser = shown(BODY)
    assert browser.complaints() == []
    browser.execute_script(
        "const script = document.createElement('script');script.textContent ="
        " 'window.harmed = 1';"
        " document.body.append(script);document.body.insertAdjacentHTML('beforeend',"
        " '<p onclick=\"window.harmed ="
        " 1\">x</p>');document.body.lastElementChild.click();"
    )
    assert browser.execute_script("return window.harmed") is None
    assert (
        len(
            [line for line in browser.complaints() if "Content Security Policy" in line]
        )
        == 2
    )


def test_nothing_is_loaded(shown):
    """The page is the file, and asks for nothing else."""
    browser = shown(BODY)
    assert (
        browser.execute_script("return performance.getEntriesByType('resource').length")
        == 0
    )


def test_without_scripts_the_files_can_be_read(browser, page, tmp_path):
    """The box is not there then, and what to use instead is."""
    path = tmp_path / "page.html"
    path.write_text(page(BODY), encoding="ascii")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.show(path)
        assert not one(browser, "#tester").is_displayed()
        assert not one(browser, "#save").is_displayed()
        assert "mandelbot explain" in one(browser, "main noscript").text
        assert one(browser, "#L2").is_displayed()
        assert not one(browser, ".walk").is_displayed()
        assert one(browser, ".kind summary").is_displayed()
    finally:
        browser.execute_cdp_cmd(
            "Emulation.setScriptExecutionDisabled", {"value": False}
        )
