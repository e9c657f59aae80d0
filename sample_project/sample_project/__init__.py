"""A Scrapy project that shows scrapy-mandelbot at work on a small web of its own."""
