"""``scrapy robots``. Scrapy imports this package on every call."""
