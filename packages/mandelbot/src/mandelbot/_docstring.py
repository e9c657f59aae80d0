"""Parsers for everything a site says to robots: no Scrapy, no network, no clock.

They read robots.txt (and lint and fix it), sitemaps, robot tags and usage preferences.
"""
