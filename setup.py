"""What setup.cfg cannot say: the README with links that work on the package index too.

In a clone they are relative. On the index a picture, or a page of docs/, needs its
whole address: that of the version's own files, so that an old release goes on showing
what was so then.
"""

from __future__ import annotations

import configparser
import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
# Pictures, links with a text, and targets of links, as reStructuredText writes them.
RELATIVE = re.compile(
    r"(?P<before>^ *\.\. (?:\|\w+\| )?(?:image|figure):: |<|^\.\. _[^:\n]+: )"
    r"(?P<path>(?:docs|benchmarks|packages|fuzz|sample_project)/[\w./-]+"
    r"|(?:CHANGES|CONTRIBUTING|SECURITY)\.rst|LICENSE)",
    re.MULTILINE,
)
PICTURES = {".gif", ".jpg", ".png", ".svg"}


def project_urls(home: str, version: str) -> dict[str, str]:
    """Return the links that the package index shows."""
    return {
        "Documentation": f"{home}/tree/v{version}/docs",
        "Changes": f"{home}/blob/v{version}/CHANGES.rst",
        "Source": home,
        "Issues": f"{home}/issues",
        "Security": f"{home}/blob/v{version}/SECURITY.rst",
    }


def with_whole_links(text: str, home: str, version: str) -> str:
    """Return a text in which relative links lead to the files of a version."""

    def whole(link: re.Match[str]) -> str:
        kind = "raw" if Path(link["path"]).suffix in PICTURES else "blob"
        return f"{link['before']}{home}/{kind}/v{version}/{link['path']}"

    return RELATIVE.sub(whole, text)


def main() -> None:
    """Set the package up; the rest is in setup.cfg."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    home = config["metadata"]["url"]
    source = (ROOT / "scrapy_mandelbot" / "_version.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    readme = (ROOT / "README.rst").read_text(encoding="utf-8")
    setup(
        long_description=with_whole_links(readme, home, version),
        long_description_content_type="text/x-rst",
        project_urls=project_urls(home, version),
    )


if __name__ == "__main__":
    main()
