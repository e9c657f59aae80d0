"""Scrapy reads every robots.txt right, pauses on 503 and finds sitemaps."""
