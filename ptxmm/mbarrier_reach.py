"""The states that each operation on an mbarrier can find: all orders that program order leaves open are followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.errors import Undecided
from ptxmm.events import Event
from ptxmm.mbarrier_state import Operation, State, step

MOST = 40_000
Progress = tuple[int, ...]


@dataclass
class Reach:
    """By event, the states that it can find; None stands for undefined."""

    found: dict[int, set[State | None]] = field(default_factory=dict)


@dataclass
class _Lane:
    """Operations that happen in one order: a thread's own, or completions of copies that are alike.

    `after[k]` says how far the lane `source` must be before the k-th completion can happen.
    """

    events: list[Event]
    source: int = -1
    after: list[int] = field(default_factory=list)

    @property
    def shape(self) -> tuple[object, ...]:
        """What makes two lanes alike."""
        return tuple((event.operation, event.guard == 1) for event in self.events)


def reachable(start: State, events: list[Event]) -> Reach:
    """The states that the operations on one mbarrier can find, each done at most once. Undecided where too many."""
    lanes = _lanes(events)
    alike = _alike(lanes)
    reach = Reach({event.id: set() for event in events})
    first = (_canonical((0,) * len(lanes), alike), start)
    seen, stack = {first}, [first]
    undefined = False
    while stack:
        progress, state = stack.pop()
        for number, lane in enumerate(lanes):
            place = progress[number]
            if place == len(lane.events) or (lane.source >= 0 and progress[lane.source] < lane.after[place]):
                continue
            event = lane.events[place]
            _note(reach, lanes, alike, number, place, state)
            moved = _canonical((*progress[:number], place + 1, *progress[number + 1 :]), alike)
            after = step(state, event.operation or Operation("wait"))
            undefined |= isinstance(after, str)
            reached = [after] if isinstance(after, State) else []
            for then in {*reached, *([state] if event.guard != 1 else [])}:
                if (moved, then) not in seen:
                    seen.add((moved, then))
                    stack.append((moved, then))
        if len(seen) > MOST:
            raise Undecided(f"an mbarrier has more than {MOST:,} reachable states")
    if undefined:
        for states in reach.found.values():
            states.add(None)
    return reach


def _lanes(events: list[Event]) -> list[_Lane]:
    """A lane for each thread, and one for each kind of completion of a thread's copies."""
    own: dict[int, list[Event]] = {}
    late: dict[tuple[int, Operation | None], list[Event]] = {}
    for event in events:
        if event.issue < 0:
            own.setdefault(event.thread, []).append(event)
        else:
            late.setdefault((event.thread, event.operation), []).append(event)
    lanes = [_Lane(mine) for mine in own.values()]
    places = {thread: place for place, thread in enumerate(own)}
    for (thread, _), mine in late.items():
        if thread in places:
            before = [sum(e.id < event.issue for e in own[thread]) for event in mine]
            lanes.append(_Lane(mine, places[thread], before))
        else:
            lanes.append(_Lane(mine))
    return lanes


def _alike(lanes: list[_Lane]) -> list[list[int]]:
    """Groups of lanes that can be exchanged: they look the same and no completion hangs on them."""
    sources = {lane.source for lane in lanes}
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, lane in enumerate(lanes):
        if lane.source < 0 and number not in sources:
            groups.setdefault(lane.shape, []).append(number)
    return [group for group in groups.values() if len(group) > 1]


def _canonical(progress: Progress, alike: list[list[int]]) -> Progress:
    if not alike:
        return progress
    found = list(progress)
    for group in alike:
        for number, place in zip(group, sorted(progress[n] for n in group), strict=True):
            found[number] = place
    return tuple(found)


def _note(reach: Reach, lanes: list[_Lane], alike: list[list[int]], number: int, place: int, state: State) -> None:
    """An event at a place of a lane can find a state; so can those at that place of lanes alike."""
    same = next((group for group in alike if number in group), [number])
    for one in same:
        reach.found[lanes[one].events[place].id].add(state)
    lane = lanes[number]
    if lane.source >= 0:
        for event in lane.events:
            reach.found[event.id].add(state)
