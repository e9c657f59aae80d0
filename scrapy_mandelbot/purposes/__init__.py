"""What pages are wanted for, and what their owners say of that: in a crawl.

``MANDELBOT_PURPOSE`` says what for. What owners say is read by
:mod:`scrapy_mandelbot.robots.preferences`; here it is found out for each page, obeyed, and noted in
a ledger.
"""

from scrapy_mandelbot.purposes.usage import (
    TermsMiddleware,
    UsageMiddleware,
    UsageObeyingMiddleware,
)

__all__ = ["TermsMiddleware", "UsageMiddleware", "UsageObeyingMiddleware"]
