"""What the package adds to the command ``scrapy``.

Scrapy loads ``robots`` on every call, whatever the call is for: importing it costs next to nothing.
"""
