"""``python -m mandelbot VERB ...``: the same as ``mandelbot VERB ...``."""

from __future__ import annotations

import sys

from mandelbot.cli.verbs import main

if __name__ == "__main__":
    sys.exit(main())
