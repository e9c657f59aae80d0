"""The downloader middlewares: robots.txt, pauses, signatures."""
