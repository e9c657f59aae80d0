"""Decodes an answer as ``HttpCompressionMiddleware`` would, unseen by anything else."""

from __future__ import annotations

import logging
from copy import copy
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_LOGGER = logging.getLogger("scrapy.downloadermiddlewares.httpcompression")


def decoded(
    crawler: Crawler, request: Request, response: Response, most: int
) -> Response:
    """Return an answer with its body decoded, as its spider will get it.

    It is counted in no stats, and nothing is logged: the middleware does both when the
    answer comes by.

    Raises:
        IgnoreRequest: the body is longer than `most` bytes.
        Exception: whatever the middleware raises for a damaged body.
    """
    middleware: Any = copy(crawler.get_downloader_middleware(HttpCompressionMiddleware))
    if middleware is None or "Content-Encoding" not in response.headers:
        return response
    middleware.stats = None
    bounded = request.replace(meta={**request.meta, "download_maxsize": most})
    was_disabled = _LOGGER.disabled
    _LOGGER.disabled = True
    try:
        result: Response = middleware.process_response(bounded, response.copy())
    finally:
        _LOGGER.disabled = was_disabled
    result.request = request
    return result
