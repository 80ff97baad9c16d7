"""Operations on one mbarrier in lanes: each lane is done in order, and no order between lanes is certain."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ptxmm.events import Event

Progress = tuple[int, ...]
Needs = Mapping[int, Collection[int]]


@dataclass
class Lane:
    """Operations that happen in one order: a thread's own, or completions of copies that are alike.

    `after[k]` says how far the lane `source` must be before the k-th completion can happen.
    """

    events: list[Event]
    source: int = -1
    after: list[int] = field(default_factory=list)

    @property
    def late(self) -> bool:
        """Whether these are completions of copies."""
        return self.events[0].issue >= 0

    @property
    def shape(self) -> tuple[object, ...]:
        """What makes two lanes alike."""
        return tuple((e.operation, e.guard, tuple(e.asked), e.blocking) for e in self.events)


class Lanes:
    """The lanes of some operations, how far other lanes must be before each, and the lanes that can be exchanged.

    Where they are not `exact`, completions of a thread that do the same are one lane and come in any order, and threads
    that look the same are not told apart.
    """

    def __init__(self, events: list[Event], needs: Needs, *, exact: bool) -> None:
        self.exact = exact
        self.each = _lanes(events, exact=exact)
        place = {event.id: (n, k) for n, lane in enumerate(self.each) for k, event in enumerate(lane.events)}
        self.needs = {e: self._counted({place[one] for one in needs.get(e, ()) if one in place}) for e in place}
        self.alike = [] if exact else [group for group in _alike(self.each) if self._same_needs(group)]

    def _counted(self, needed: set[tuple[int, int]]) -> list[tuple[int, int]]:
        """How far each lane must be; completions that are counted come in any order."""
        found: dict[int, int] = {}
        for number, k in needed:
            counted = not self.exact and self.each[number].late
            found[number] = found.get(number, 0) + 1 if counted else max(found.get(number, 0), k + 1)
        return sorted(found.items())

    def _same_needs(self, group: list[int]) -> bool:
        """Whether lanes that look the same can be exchanged where operations need one another, too."""
        for other in group[1:]:
            swap = {group[0]: other, other: group[0]}
            for number, lane in enumerate(self.each):
                mirror = self.each[swap.get(number, number)]
                for event, image in zip(lane.events, mirror.events, strict=True):
                    there = sorted((swap.get(n, n), k) for n, k in self.needs[event.id])
                    if there != self.needs[image.id]:
                        return False
        return True

    def canonical(self, progress: Progress) -> Progress:
        """The one that stands for all that come of it when lanes are exchanged."""
        if not self.alike:
            return progress
        found = list(progress)
        for group in self.alike:
            for number, place in zip(group, sorted(progress[n] for n in group), strict=True):
                found[number] = place
        return tuple(found)


def _lanes(events: list[Event], *, exact: bool) -> list[Lane]:
    """A lane for each thread; for completions one each, or one for each kind of a thread's copies."""
    own: dict[int, list[Event]] = {}
    late: dict[tuple[object, ...], list[Event]] = {}
    for event in events:
        if event.issue < 0:
            own.setdefault(event.thread, []).append(event)
        else:
            key = (event.thread, event.id) if exact else (event.thread, event.operation)
            late.setdefault(key, []).append(event)
    lanes = [Lane(mine) for mine in own.values()]
    places = {thread: place for place, thread in enumerate(own)}
    for mine in late.values():
        thread = mine[0].thread
        if thread in places:
            before = [sum(e.id < event.issue for e in own[thread]) for event in mine]
            lanes.append(Lane(mine, places[thread], before))
        else:
            lanes.append(Lane(mine))
    return lanes


def _alike(lanes: list[Lane]) -> list[list[int]]:
    """Groups of lanes that can be exchanged: they look the same and no completion hangs on them."""
    sources = {lane.source for lane in lanes}
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, lane in enumerate(lanes):
        if not lane.late and number not in sources:
            groups.setdefault(lane.shape, []).append(number)
    return [group for group in groups.values() if len(group) > 1]
