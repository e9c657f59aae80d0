"""The robots.txt files of a crawl: fetched once, kept, and known to all who ask.

What an answer means is in ``politeness/outcome.py``, where copies are kept in ``store``.
"""
