"""What owners of sites say to robots, read and judged: needs no Scrapy, no network, no clock.

robots.txt files with their faults and corrections, sitemaps, robot tags, preferences of use,
access logs.
"""
