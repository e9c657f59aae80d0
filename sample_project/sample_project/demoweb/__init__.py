"""The demo web: three small sites on this machine; each counts its requests.

It knows nothing of Scrapy or of scrapy-mandelbot. sites.py says what the sites hold,
server.py serves and counts.
"""
