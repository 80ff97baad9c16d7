"""What the operations on an mbarrier can find: all orders that program order leaves open are followed.

A thread does its operations in order and stays at a wait that does not succeed; the completion of a copy comes at any
time after the copy was started. Where there are too many orders, threads that look the same and completions of one
thread that do the same are counted instead of told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ptxmm.errors import Undecided
from ptxmm.events import Event
from ptxmm.mbarrier_state import Operation, State, passes, phase_of, step

EXACT, MOST = 4_000, 40_000
Progress = tuple[int, ...]
Turns = tuple[Progress, Progress]
Point = tuple[Progress, State, Turns]
Needs = Mapping[int, Collection[int]]


@dataclass
class Reach:
    """By event, the states that it can find; by pair, whether the first can be earlier, where events are told apart.

    `skipped` are the operations that may not be done although their thread goes on.
    `undefined` says that some operation can find a state in which PTX leaves it undefined. `joined` has for a
    wait that its thread cannot pass without success the arrivals that are certain to be in its phase, or later ones of
    the same thread.
    """

    found: dict[int, set[State]] = field(default_factory=dict)
    earlier: dict[int, tuple[frozenset[int], frozenset[int]]] | None = None
    undefined: bool = False
    joined: dict[int, frozenset[int]] = field(default_factory=dict)
    skipped: frozenset[int] = frozenset()


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
        return tuple((e.operation, e.guard, tuple(e.asked), e.blocking) for e in self.events)


def reachable(start: State, events: list[Event], needs: Needs, skipped: frozenset[int]) -> Reach:
    """What the operations on one mbarrier can find, each done at most once and after those that it `needs`.

    Operations that are `skipped` in some executions may be passed without being done. Undecided where too many.
    """
    search = _Search(start, events, needs, skipped, exact=True)
    return search.run() or _Search(start, events, {}, skipped, exact=False).all()


class _Search:
    """All orders of the operations on one mbarrier."""

    def __init__(
        self, start: State, events: list[Event], needs: Needs, skipped: frozenset[int], *, exact: bool
    ) -> None:
        self.start, self.events, self.exact, self.skipped = start, events, exact, skipped
        self.lanes = _lanes(events, exact=exact)
        self.alike = [] if exact else _alike(self.lanes)
        self.reach = Reach({event.id: set() for event in events}, skipped=skipped)
        self.before: dict[int, set[int]] = {event.id: set() for event in events}
        self.always: dict[int, set[int] | None] = {event.id: None for event in events}
        self.windows: dict[int, list[tuple[Progress, Progress]]] = {event.id: [] for event in events}
        place = {event.id: (n, k) for n, lane in enumerate(self.lanes) for k, event in enumerate(lane.events)}
        self.needs = {e: [place[one] for one in found if one in place] for e, found in needs.items()}

    def all(self) -> Reach:
        """The search with a larger limit."""
        found = self.run(MOST)
        if found is None:
            raise Undecided(f"an mbarrier has more than {MOST:,} reachable states")
        return found

    def run(self, most: int = EXACT) -> Reach | None:
        """What is found, or None where there is too much."""
        nowhere = self._canonical((0,) * len(self.lanes))
        first = (nowhere, self.start, (nowhere, nowhere))
        seen, stack = {first}, [first]
        while stack:
            progress, state, turns = stack.pop()
            for number in range(len(self.lanes)):
                for reached in self._step(progress, state, turns, number):
                    if reached not in seen:
                        seen.add(reached)
                        stack.append(reached)
            if len(seen) > most:
                return None
        if self.exact:
            self.reach.earlier = {
                e.id: (frozenset(self.before[e.id]), frozenset(self.always[e.id] or ())) for e in self.events
            }
            self.reach.joined = {e: self._joined(found) for e, found in self.windows.items() if found}
        return self.reach

    def _step(self, progress: Progress, state: State, turns: Turns, number: int) -> list[Point]:
        """Where the next operation of a lane leads; `turns` are where the lanes were as the last two phases ended."""
        lane, place = self.lanes[number], progress[number]
        if place == len(lane.events) or (lane.source >= 0 and progress[lane.source] < lane.after[place]):
            return []
        event = lane.events[place]
        moved = self._canonical((*progress[:number], place + 1, *progress[number + 1 :]))
        found: list[Point] = [(moved, state, turns)] if event.id in self.skipped else []
        if any(progress[n] <= k for n, k in self.needs.get(event.id, ())):
            return found
        self._note(progress, number, state)
        after = step(state, event.operation or Operation("wait"))
        self.reach.undefined |= isinstance(after, str)
        asked = next(iter(event.asked)) if len(event.asked) == 1 else None
        stuck = event.blocking and asked is not None and not passes(state, asked, parity=event.parity)
        if event.blocking and asked is not None and passes(state, asked, parity=event.parity):
            nothing = (progress, progress)
            self.windows[event.id].append(turns if event.parity or phase_of(asked) == state.phase - 1 else nothing)
        if isinstance(after, State) and not stuck:
            turned = self.exact and after.current != state.current
            since = moved if after.life != state.life else turns[1]
            found.append((moved, after, (since, moved) if turned else turns))
        return found

    def _joined(self, windows: list[Turns]) -> frozenset[int]:
        """For each lane, the earliest of the arrivals that were the last of a phase, where every phase had one."""
        found = set()
        for number, lane in enumerate(self.lanes):
            last = []
            for start, end in windows:
                inside = range(start[number], end[number])
                sure = [k for k in inside if lane.events[k].joins and lane.events[k].id not in self.skipped]
                last.append(max(sure, default=-1))
            if min(last) >= 0:
                found.add(lane.events[min(last)].id)
        return frozenset(found)

    def _note(self, progress: Progress, number: int, state: State) -> None:
        """An event finds a state; so do those that it stands for."""
        lane, place = self.lanes[number], progress[number]
        if self.exact:
            event = lane.events[place]
            self.reach.found[event.id].add(state)
            done = {e.id for n, other in enumerate(self.lanes) for e in other.events[: progress[n]]}
            self.before[event.id] |= done
            known = self.always[event.id]
            self.always[event.id] = done if known is None else known & done
            return
        for one in next((group for group in self.alike if number in group), [number]):
            self.reach.found[self.lanes[one].events[place].id].add(state)
        if lane.source >= 0:
            for event in lane.events:
                self.reach.found[event.id].add(state)

    def _canonical(self, progress: Progress) -> Progress:
        if not self.alike:
            return progress
        found = list(progress)
        for group in self.alike:
            for number, place in zip(group, sorted(progress[n] for n in group), strict=True):
                found[number] = place
        return tuple(found)


def _lanes(events: list[Event], *, exact: bool) -> list[_Lane]:
    """A lane for each thread; for completions one each, or one for each kind of a thread's copies."""
    own: dict[int, list[Event]] = {}
    late: dict[tuple[object, ...], list[Event]] = {}
    for event in events:
        if event.issue < 0:
            own.setdefault(event.thread, []).append(event)
        else:
            key = (event.thread, event.id) if exact else (event.thread, event.operation)
            late.setdefault(key, []).append(event)
    lanes = [_Lane(mine) for mine in own.values()]
    places = {thread: place for place, thread in enumerate(own)}
    for mine in late.values():
        thread = mine[0].thread
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
