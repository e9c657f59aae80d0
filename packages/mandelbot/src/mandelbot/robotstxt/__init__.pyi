# The public names for type checkers; __init__.py has them for the interpreter.

from .agents import Agent as Agent
from .agents import header_text as header_text
from .agents import product_tokens as product_tokens
from .decider import LARGE as LARGE
from .dialects import DIALECTS as DIALECTS
from .dialects import Dialect as Dialect
from .known_robots import known_robot_verdict as known_robot_verdict
from .paths import as_servers_read_it as as_servers_read_it
from .robots_txt import RobotsTxt as RobotsTxt
from .times import TIME_READERS as TIME_READERS
from .times import RequestRate as RequestRate
from .times import TimeWindow as TimeWindow
from .verdict import Rule as Rule
from .verdict import Verdict as Verdict
