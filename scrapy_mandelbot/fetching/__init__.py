"""The robots.txt files of a crawl, each fetched once for all requests, and cached.

``mandelbot.answers.outcome`` defines what a response means; ``store`` holds the copies.
"""
