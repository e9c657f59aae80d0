"""The command line, ``mandelbot VERB``."""
