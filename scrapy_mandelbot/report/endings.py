"""The reasons for which runs end, in words, and those that are failures."""

from __future__ import annotations

from scrapy_mandelbot.throttle.manual_control import BUDGET_REACHED

HOW_RUNS_END = {
    "finished": ("Finished", ""),
    "not finished": ("Running", ""),
    "shutdown": ("Stopped", "Ctrl-C or SIGTERM"),
    "sites_paused": ("Stopped", "only what is paused or given up is left"),
    BUDGET_REACHED: ("Finished", "within MANDELBOT_SITE_BUDGET"),
    "job_set_aside": (
        "Finished",
        "but for requests set aside, which `scrapy robots job` lists",
    ),
    "job_idle": ("Stopped", "other workers go on"),
    "job_not_saved": ("Stopped", "the job could not be saved"),
    "job_unreadable": ("Stopped", "the job could not be read"),
    "job_forgotten": ("Stopped", "Redis has lost the job"),
}
"""Of finish reasons, the first word of the verdict, and why; of all others, they are
the why.
"""
FAILING_REASONS = frozenset({"job_not_saved", "job_unreadable", "job_forgotten"})
"""Finish reasons with which a run exits with status 1, whatever the settings."""
