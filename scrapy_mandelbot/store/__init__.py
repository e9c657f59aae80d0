"""Where copies of robots.txt files are kept. I/O lives here; Scrapy does not."""
