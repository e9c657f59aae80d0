"""What the command prints: from parsed files to plain data, and from these to text.

Pure: no Scrapy, no network, no file, no clock. The data are what ``--format json`` prints, and
``docs/command.rst`` describes them: what is there keeps its name and meaning.
"""
