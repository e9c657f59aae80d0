"""The add-on is nowhere worse than stock Scrapy: the same spider on the same site."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from cell import measure, violations
from cells import CELLS
from crawling import ensureDeferred
from redis_server import NEEDS_REDIS
from scrapy.utils.reactor import is_asyncio_reactor_installed

TLS = pytest.mark.filterwarnings("ignore:Passing pyOpenSSL:DeprecationWarning")
"""What Twisted and Scrapy pass to each other is theirs."""

NEEDS_H2 = pytest.mark.skipif(
    find_spec("h2") is None, reason="h2 is not installed (pip install Twisted[http2])"
)


def _parameter(cell):
    marks = [TLS] if cell.needs == "sockets" else []
    if "HTTP/2" in cell.name:
        marks.append(NEEDS_H2)
    if cell.needs == "redis":
        marks += [pytest.mark.slow, NEEDS_REDIS]
    return pytest.param(cell, id=cell.name, marks=marks)


@pytest.mark.parametrize("cell", [_parameter(cell) for cell in CELLS])
@pytest.mark.usefixtures("time_is_simulated")
@ensureDeferred
async def test_the_addon_is_not_worse_than_stock_scrapy(
    cell, redis_url, tmp_path, measure_stock, record_row
):
    """Pages, requests and seconds are within the bounds of the cell."""
    if not is_asyncio_reactor_installed():
        pytest.skip("only asyncio's time is turned")
    stock = await measure_stock(cell)
    ours = await measure(cell, tmp_path, addon=True, job=redis_url)
    record_row(cell, stock, ours)
    broken = "; ".join(violations(cell, stock, ours, len(cell.make().sites)))
    if cell.worse:
        assert broken, f"better than the table says: remove {cell.worse!r}"
    else:
        assert not broken, f"{broken}\nstock:  {stock.told()}\nadd-on: {ours.told()}"
