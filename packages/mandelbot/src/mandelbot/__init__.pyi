# The public names for type checkers; __init__.py has them for the interpreter.

from ._version import __version__ as __version__
from .answers.outcome import Answer as Answer
from .answers.outcome import Failure as Failure
from .answers.outcome import Outcome as Outcome
from .answers.outcome import OutcomeKind as OutcomeKind
from .answers.outcome import OutcomePolicy as OutcomePolicy
from .answers.retry_after import wait_asked_for as wait_asked_for
from .findings import Finding as Finding
from .findings import Severity as Severity
from .findings import lint as lint
from .fix import normalize as normalize
from .preferences.in_pages import page_usage as page_usage
from .preferences.of_file import usage as usage
from .preferences.statements import Statement as Statement
from .preferences.statements import Usage as Usage
from .robotstxt import DIALECTS as DIALECTS
from .robotstxt import Dialect as Dialect
from .robotstxt import RobotsTxt as RobotsTxt
from .robotstxt import Rule as Rule
from .robotstxt import Verdict as Verdict
from .sitemaps import SitemapEntry as SitemapEntry
from .sitemaps import SitemapReader as SitemapReader
from .tags import RobotTag as RobotTag
from .tags import RobotTags as RobotTags
from .tags import robot_tags as robot_tags
