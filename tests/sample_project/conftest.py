"""Makes the sample project importable, as `scrapy` does when it runs inside it."""

import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "sample_project"
sys.path.insert(0, str(PROJECT))
