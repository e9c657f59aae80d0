"""What a response means: to a request for a robots.txt, a page or a sitemap."""
