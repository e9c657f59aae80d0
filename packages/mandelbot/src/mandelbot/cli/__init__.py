"""The command line, ``mandelbot VERB``; the add-on builds its own on it."""
