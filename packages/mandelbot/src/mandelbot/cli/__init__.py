"""The command line, ``mandelbot VERB``; frameworks build theirs on it.

The public names stand below; each is imported when it is first used.
"""

from mandelbot.lazy import lazy_names

_HOMES = {
    "Fetched": ".fetch",
    "Invocation": ".invocation",
    "Result": ".invocation",
    "RewrittenLine": ".output",
    "Terminal": ".output",
    "TerminalStyle": ".output",
    "UnavailableError": ".output",
    "cut": ".output",
    "joined": ".output",
    "width_of": ".output",
    "Url": ".sources",
    "errors_at": ".sources",
    "write_file": ".sources",
    "OUTPUT": ".verbs",
    "VERBS": ".verbs",
    "Verb": ".verbs",
    "argument": ".verbs",
    "flag": ".verbs",
    "many": ".verbs",
    "parse": ".verbs",
    "run": ".verbs",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
