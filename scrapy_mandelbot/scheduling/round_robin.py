"""Which line is next: those with the fewest active downloads first, round robin among equals.

The next one costs the same among ten lines and among fifty thousand. Lines stand by how active
their slot is; none is looked at twice to find that it must wait: it steps out until something says
that this may have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.site_state import Site


_LOOK_AGAIN = 1.0  # seconds


class Line:
    """The requests of a site, or of its section, through one download slot."""

    __slots__ = (
        "activity",
        "delayed",
        "has_joined",
        "is_ours",
        "is_sharing",
        "name",
        "named_slot",
        "section",
        "site",
        "slot",
    )

    def __init__(self, name: str, site: Site, slot: str, section: str = "") -> None:
        self.name = name
        self.site = site
        self.slot = self.named_slot = slot
        """Through which its requests go, and the one in its name: others may share the former."""
        self.section = section
        """The path of the section with which its requests were set aside."""
        self.activity: int | None = None
        """Of its slot, as it stands; None: it has stepped out."""
        self.delayed = 0
        """How many of its requests wait for a time of their own."""
        self.has_joined = False
        """Whether it takes part: it has a request that may be handed out."""
        self.is_sharing = False
        """Whether there are other lines for its slot."""
        self.is_ours = True
        """Whether all its requests are of this site: Scrapy's own queue keeps several in one."""

    def __repr__(self) -> str:
        return f"<Line {self.name!r}>"


class RoundRobin(dict[tuple[str, str, str], Line]):
    """The lines of a queue by site, slot and section; those that take part by activity."""

    def __init__(self, activity: Callable[[str], int]) -> None:
        super().__init__()
        self._activity = activity
        self._by_site: dict[Site, list[Line]] = {}
        self._by_slot: dict[str, dict[Line, None]] = {}  # whose last turn is longest ago first
        self._standing: dict[int, dict[Line, None]] = {}  # activity -> lines, in order
        self._waits_for_an_end: set[Line] = set()
        """Lines that wait until a request in flight has ended: a full slot, a scout, a probe."""
        self._looked_again_at = -inf
        self.held: dict[Line, None] = {}
        """Lines that wait until fewer requests are in flight of all sites that are as theirs."""

    def of(self, site: Site) -> Sequence[Line]:
        """Return those of a site, as they came."""
        return self._by_site.get(site, ())

    def add(self, line: Line) -> None:
        """Note one more."""
        self[line.site.name, line.named_slot, line.section] = line
        self._by_site.setdefault(line.site, []).append(line)

    def drop(self, line: Line) -> None:
        """Forget one of them: a crawl may come by a million sites."""
        del self[line.site.name, line.named_slot, line.section]
        lines = self._by_site[line.site]
        lines.remove(line)
        if not lines:
            del self._by_site[line.site]

    def join(self, line: Line) -> None:
        """Let a line take part, behind those that are as active."""
        line.has_joined = True
        lines = self._by_slot.setdefault(line.slot, {})
        lines[line] = None
        if len(lines) > 1:
            for one in lines:
                one.is_sharing = True
        self.stand(line)

    def leave(self, line: Line) -> None:
        """Let a line take part no longer."""
        self.step_out(line)
        self._waits_for_an_end.discard(line)
        self.held.pop(line, None)
        line.has_joined = False
        lines = self._by_slot[line.slot]
        del lines[line]
        line.is_sharing = False
        if not lines:
            del self._by_slot[line.slot]

    def move(self, line: Line, shared_slot: Callable[[Site, str], str]) -> None:
        """Have a line's requests go through the download slot that its site shares with others."""
        slot = shared_slot(line.site, line.named_slot)
        if slot != line.slot and line.has_joined:
            self.leave(line)
            line.slot = slot
            self.join(line)
        line.slot = slot

    def first(self) -> Line | None:
        """Return the line that is next, and leave it in its place."""
        standing = self._standing
        if not standing:
            return None
        least = 0 if 0 in standing else min(standing)
        return next(iter(standing[least]))

    def lines_of(self, slot: str) -> Iterable[Line]:
        """Return the lines of a download slot that take part, whether they have to wait or not."""
        return self._by_slot.get(slot, ())

    def take(self, line: Line) -> None:
        """Note that a line takes its turn: of those that share its slot it is the last now."""
        lines = self._by_slot[line.slot]
        del lines[line]
        lines[line] = None

    def step_out(self, line: Line, *, until_an_end: bool = False) -> None:
        """Have a line wait for something, or until a request in flight has ended."""
        if until_an_end:
            self._waits_for_an_end.add(line)
        activity = line.activity
        if activity is None:
            return
        line.activity = None
        standing = self._standing[activity]
        del standing[line]
        if not standing:
            del self._standing[activity]

    def hold(self, line: Line) -> None:
        """Have a line wait until fewer requests are in flight of all sites that are as its own."""
        self.step_out(line)
        self.held[line] = None

    def stand_one_held(self) -> None:
        """Let the line take part again that was held first."""
        line = next(iter(self.held))
        del self.held[line]
        if line.activity is None:
            self.stand(line)

    def stand(self, line: Line) -> None:
        """Put a line behind those that are as active, wherever it stands."""
        if line.activity is not None:
            self.step_out(line)
        activity = line.activity = self._activity(line.slot)
        standing = self._standing.get(activity)
        if standing is None:
            standing = self._standing[activity] = {}
        standing[line] = None

    def slot_changed(self, slot: str, activity: int) -> None:
        """Move the lines of a slot whose activity has changed, those that had to wait too."""
        for line in tuple(self._by_slot.get(slot, ())):
            before = line.activity
            if before is not None:  # as step_out() and stand(), of which this is most of the calls
                standing = self._standing[before]
                del standing[line]
                if not standing:
                    del self._standing[before]
            line.activity = activity
            there = self._standing.get(activity)
            if there is None:
                self._standing[activity] = {line: None}
            else:
                there[line] = None

    def look_again(self, now: float) -> bool:
        """Let lines stand whose wait may have ended without a word; return whether there are any.

        Every end is told, but that of a request which some middleware swallowed.
        """
        if not self._waits_for_an_end or now < self._looked_again_at + _LOOK_AGAIN:
            return False
        self._looked_again_at = now
        for line in self._waits_for_an_end:
            if line.activity is None:
                self.stand(line)
        self._waits_for_an_end.clear()
        return True
