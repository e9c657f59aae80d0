"""What the tests' processes send stays on this machine."""

from __future__ import annotations

import subprocess
import sys

NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo"}:
        raise RuntimeError(f"{event} {arguments}")

sys.addaudithook(refuse)
"""
SPLIT = """
from tldextract import TLDExtract

print(TLDExtract(include_psl_private_domains=True)("www.example.co.uk").suffix)
"""


def test_a_process_of_the_tests_fetches_no_list_of_public_suffixes(tmp_path):
    """As Scrapy's CookiesMiddleware does for the first cookie, where none is kept."""
    script = tmp_path / "split.py"
    script.write_text(NO_NETWORK + SPLIT)
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False
    )
    assert run.stdout == "co.uk\n", run.stderr
