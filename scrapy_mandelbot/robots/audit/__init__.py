"""Whether a robot was polite, from the server's side: what an access log says of its requests.

Pure: lines, robots.txt files and numbers go in, what was found comes out. No file is opened here.
"""

from scrapy_mandelbot.robots.audit.judging import Law, judge
from scrapy_mandelbot.robots.audit.log_formats import (
    NAMED,
    FormatError,
    LogFormat,
    detect,
    read_format,
)
from scrapy_mandelbot.robots.audit.visits import (
    CopiesInForce,
    CopyInForce,
    LogReading,
    Robot,
    Visits,
)

__all__ = [
    "NAMED",
    "CopiesInForce",
    "CopyInForce",
    "FormatError",
    "Law",
    "LogFormat",
    "LogReading",
    "Robot",
    "Visits",
    "detect",
    "judge",
    "read_format",
]
