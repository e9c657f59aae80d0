"""What a response means: to a request for a robots.txt, a page or a sitemap.

The public names stand below; each is imported when it is first used.
"""

from mandelbot.lazy import lazy_names

_HOMES = {
    "ACCEPTED": ".content_codings",
    "UnknownCodingError": ".content_codings",
    "UnreadableBodyError": ".content_codings",
    "codings_in": ".content_codings",
    "is_plain": ".content_codings",
    "unpack": ".content_codings",
    "TruncatedError": ".failures",
    "error_text": ".failures",
    "failure_at": ".failures",
    "failure_of": ".failures",
    "has_begun": ".failures",
    "without_traceback": ".failures",
    "leads_inside": ".inside",
    "GOES_BACK": ".meaning",
    "NOTHING": ".meaning",
    "Kind": ".meaning",
    "ResponseMeaning": ".meaning",
    "meaning_of": ".meaning",
    "terms_of": ".meaning",
    "PAUSE_STATUSES": ".outcome",
    "SILENT": ".outcome",
    "SiteKnowledge": ".outcome",
    "Trouble": ".outcome",
    "is_fresh": ".outcome",
    "whole_lines": ".outcome",
    "quota_of": ".retry_after",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
