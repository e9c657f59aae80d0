"""What a site's answers mean, and when it may be asked again.

Pure: answers, numbers and ``now`` go in, values come out. Nothing here reads a clock,
draws a random number or touches a socket, so that all of it is tested without a crawl.
"""
