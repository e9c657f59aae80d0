"""What a site's answers mean, and when it may be asked again.

Pure: answers, numbers and ``now`` go in, values come out. Nothing here reads a clock, draws a
random number or touches a socket, so that all of it is tested without a crawl.
"""

from scrapy_mandelbot.politeness.freshness import IMPOSSIBLE_PATH, conditions, is_fresh
from scrapy_mandelbot.politeness.gate import Gate, GateState, PauseLaw, Refusal, Transition
from scrapy_mandelbot.politeness.hosts import is_inside, leads_inside
from scrapy_mandelbot.politeness.outcome import (
    Answer,
    Failure,
    Known,
    Outcome,
    OutcomeKind,
    OutcomeLaw,
    kept_outcome,
    may_be_misreported,
    outcome_of,
)
from scrapy_mandelbot.politeness.pace import (
    Metronome,
    Pace,
    PaceLaw,
    pace_by_hand,
    pace_of_file,
    unreadable_lines,
)
from scrapy_mandelbot.politeness.recovery import Goodput, Recovery
from scrapy_mandelbot.politeness.retry_after import parse_retry_after
from scrapy_mandelbot.politeness.sites import host_of, robots_url, site_of, without_user

__all__ = [
    "IMPOSSIBLE_PATH",
    "Answer",
    "Failure",
    "Gate",
    "GateState",
    "Goodput",
    "Known",
    "Metronome",
    "Outcome",
    "OutcomeKind",
    "OutcomeLaw",
    "Pace",
    "PaceLaw",
    "PauseLaw",
    "Recovery",
    "Refusal",
    "Transition",
    "conditions",
    "host_of",
    "is_fresh",
    "is_inside",
    "kept_outcome",
    "leads_inside",
    "may_be_misreported",
    "outcome_of",
    "pace_by_hand",
    "pace_of_file",
    "parse_retry_after",
    "robots_url",
    "site_of",
    "unreadable_lines",
    "without_user",
]
