"""The robots.txt files of a crawl, each fetched once for all requests, and cached.

``politeness/outcome.py`` defines what a response means; ``store`` holds the copies.
"""
