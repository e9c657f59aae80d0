"""``python -m mandelbot VERB ...``, which is what ``mandelbot VERB ...`` runs, too."""

from __future__ import annotations

import sys

from mandelbot.cli.verbs import main

if __name__ == "__main__":
    sys.exit(main())
