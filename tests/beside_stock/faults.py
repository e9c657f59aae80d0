"""Troubles of eight seconds at each moment of a crawl, of one site or of six."""

from __future__ import annotations

from functools import partial

from cell import Cell, CellSpider, World
from network import Answer, Fault, Window, page, text, with_robots

LASTS = 8.0
"""Seconds of a trouble."""
LOGIN = text("please log in")
TROUBLES = {
    "refused": Fault.REFUSED,
    "no name": Fault.NO_NAME,
    "hang": Fault.HANG,
    "slow body": Answer(body_takes=20.0),
    "503": Answer(b"back soon", 503),
    "login page": LOGIN,
}
MOMENTS = {
    "first contact": "as the crawl begins",
    "known site": "from second 11 on",
    "resumed": "as the second run of a job begins",
    "second worker": "as a second worker joins the job",
}
OUT = (LASTS, 0, "the site is out so long, and only probes are sent to it")
ALLOWED = {
    "refused": OUT,
    "no name": OUT,
    "503": OUT,
    ("second worker", "hang"): (0, 8, "two workers send what one sends more slowly"),
    ("resumed", "hang"): (
        0,
        8,
        "with the robots.txt of the job, pages are sent at once, and meet the silence",
    ),
}
"""What the add-on may do more in the cells of a trouble."""
SETTINGS = {
    "DOWNLOAD_DELAY": 1,
    "DOWNLOAD_TIMEOUT": 25,
}

SCALE = 0.1
"""Of all times in cells with a Redis, whose clock is the machine's."""
OF_WORKERS = {name: SCALE * value for name, value in SETTINGS.items()}


class OnceSpider(CellSpider):
    """Asks for each start URL once, also over two runs."""

    async def start(self):
        for url in self.world.start:
            yield self.request(url, dont_filter=False)


def _is_real(response):
    return b"the text of" in response.body


def _world(moment: str, trouble: Answer | Fault, *, many: bool) -> World:
    # how many pages fall into so many seconds depends on requests for robots.txt
    scale = SCALE if moment == "second worker" else 1.0
    if isinstance(trouble, Answer) and trouble.body_takes:
        trouble = trouble._replace(body_takes=scale * trouble.body_takes)
    pages_of_trouble = 8 if trouble is LOGIN else None
    window = Window(trouble, scale * LASTS, pages=pages_of_trouble)
    hosts = [f"shop{i}.example" for i in range(6 if many else 1)]
    sites = {}
    for number, host in enumerate(hosts):
        site = with_robots(page)
        is_hit = not many or number % 2
        sites[host] = window.over(site) if is_hit else site
    pages = 10 if many else 30
    start = [f"http://{host}/page/{i}" for i in range(pages) for host in hosts]
    world = World(sites, start, OnceSpider, is_page=_is_real)
    if moment == "first contact":
        window.begins = 0.0
    elif moment == "known site":
        window.begins = 5.0 if many else 11.0
    elif moment == "resumed":
        world.runs = 2
        world.stop_after = 12 if many else 8

        def second_run_begins(world: World) -> None:
            if world.run == 2:
                window.begins = world.network.t

        world.before_run = second_run_begins
    else:
        world.workers = 2
        world.joins_after = 5.0 * scale
        window.begins = 5.0 * scale
    return world


def _cell(moment: str, name: str, *, many: bool) -> Cell:
    where = "three of six sites" if many else "the one site"
    is_shared = moment == "second worker"
    seconds = LASTS * SCALE if is_shared else LASTS
    lasts = "8 pages" if name == "login page" else f"{seconds:g} s"
    waits, requests, why = ALLOWED.get((moment, name), ALLOWED.get(name, (0, 0, "")))
    return Cell(
        f"{moment}, {name}, {'many sites' if many else 'one site'}",
        f"{name} at {where} {MOMENTS[moment]}, for {lasts}",
        partial(_world, moment, TROUBLES[name], many=many),
        settings=OF_WORKERS if is_shared else SETTINGS,
        waits=waits,
        requests=requests,
        why=why,
        needs="redis" if is_shared else "",
    )


CELLS = [
    _cell(moment, name, many=many)
    for moment in MOMENTS
    for name in TROUBLES
    for many in (False, True)
]
