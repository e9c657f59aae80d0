"""The demo web: three small sites on this machine, each with its own count of what it was asked.

It knows nothing of Scrapy or of scrapy-mandelbot. sites.py says what the sites hold,
server.py serves and counts.
"""
