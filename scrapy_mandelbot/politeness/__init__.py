"""What a site's answers mean, and when it may be asked again.

Pure: answers, numbers and ``now`` go in, values come out. Nothing here reads a clock, draws a
random number or touches a socket, so that all of it is tested without a crawl.
"""

from scrapy_mandelbot.politeness.by_host import value_for
from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.freshness import IMPOSSIBLE_PATH, conditions, is_fresh
from scrapy_mandelbot.politeness.hosts import is_inside, leads_inside
from scrapy_mandelbot.politeness.origins import host_of, robots_url, site_of, without_user
from scrapy_mandelbot.politeness.outcome import (
    ENOUGH_BROKEN_OFF,
    SHORT_TRIES,
    SILENT,
    Answer,
    Failure,
    Known,
    Outcome,
    OutcomeKind,
    OutcomeLaw,
    counted_as,
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
from scrapy_mandelbot.politeness.parts import Parts, Section, sections_of
from scrapy_mandelbot.politeness.pause import LeftPause, Pause
from scrapy_mandelbot.politeness.pause_law import PauseLaw, Refusal
from scrapy_mandelbot.politeness.pause_table import TRANSITIONS, Fact, News, PauseState
from scrapy_mandelbot.politeness.recovery import Recovery
from scrapy_mandelbot.politeness.retry_after import parse_retry_after, wait_asked_for
from scrapy_mandelbot.politeness.site import Admission, SiteState

__all__ = [
    "ENOUGH_BROKEN_OFF",
    "IMPOSSIBLE_PATH",
    "SHORT_TRIES",
    "SILENT",
    "TRANSITIONS",
    "Admission",
    "Answer",
    "Fact",
    "Failure",
    "Flight",
    "Known",
    "LeftPause",
    "Metronome",
    "News",
    "Outcome",
    "OutcomeKind",
    "OutcomeLaw",
    "Pace",
    "PaceLaw",
    "Parts",
    "Pause",
    "PauseLaw",
    "PauseState",
    "Recovery",
    "Refusal",
    "Section",
    "SiteState",
    "conditions",
    "counted_as",
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
    "sections_of",
    "site_of",
    "unreadable_lines",
    "value_for",
    "wait_asked_for",
    "without_user",
]
