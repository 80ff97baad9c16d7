"""What the operations on an mbarrier can find: all orders that program order leaves open are followed.

A thread does its operations in order and stays at a wait that does not succeed; the completion of a copy comes at any
time after the copy was started. Where there are too many orders, threads that look the same and completions of one
thread that do the same are counted instead of told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.events import Event
from ptxmm.mbarrier_lanes import Lanes, Needs, Progress
from ptxmm.mbarrier_state import Operation, State, passes, phase_of, step

EXACT, MOST = 6_000, 40_000
Turns = tuple[Progress, Progress]
Point = tuple[Progress, State, Turns]


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


def reachable(
    start: State, events: list[Event], needs: Needs, skipped: frozenset[int], most: int = EXACT
) -> Reach | None:
    """What the operations on one mbarrier can find, each done at most once and after those that it `needs`.

    Operations that are `skipped` in some executions may be passed without being done. None where there are too many
    states, even where they are counted.
    """
    for exact in (True, False):
        kept: list[Reach] = []
        for part in _parts(events):
            found = _Search(start, part, needs, skipped, exact=exact).run(EXACT if exact else most)
            if found is None:
                break
            kept.append(found)
        else:
            return _together(kept, events)
    return None


def _parts(events: list[Event]) -> list[list[Event]]:
    """The operations without those of threads that only wait, with one such thread at a time.

    Each part allows more orders than the whole, so that what all of them say is true of the whole.
    """
    threads: dict[int, list[Event]] = {}
    for event in events:
        threads.setdefault(event.thread, []).append(event)
    idle = [thread for thread, mine in threads.items() if all(event.waits for event in mine)]
    if len(idle) < 2:
        return [events]
    return [[e for e in events if e.thread not in idle or e.thread == thread] for thread in idle]


def _together(parts: list[Reach], events: list[Event]) -> Reach:
    """What several views of the same operations say together."""
    if len(parts) == 1:
        return parts[0]
    everything = frozenset(event.id for event in events)
    whole = Reach(undefined=all(part.undefined for part in parts), skipped=parts[0].skipped)
    earlier: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
    for event in everything:
        seen = [part for part in parts if event in part.found]
        whole.found[event] = set[State].intersection(*(part.found[event] for part in seen))
        joined = frozenset[int]().union(*(part.joined.get(event, ()) for part in seen))
        if joined:
            whole.joined[event] = joined
        orders = [(part.earlier[event], everything - part.found.keys()) for part in seen if part.earlier is not None]
        may = frozenset[int].intersection(everything, *(one | unseen for (one, _), unseen in orders))
        earlier[event] = may, frozenset[int]().union(*(must for (_, must), _ in orders))
    whole.earlier = earlier if all(part.earlier is not None for part in parts) else None
    return whole


class _Search:
    """All orders of the operations on one mbarrier."""

    def __init__(
        self, start: State, events: list[Event], needs: Needs, skipped: frozenset[int], *, exact: bool
    ) -> None:
        self.start, self.events, self.exact, self.skipped = start, events, exact, skipped
        self.lanes = Lanes(events, needs, exact=exact)
        self.reach = Reach({event.id: set() for event in events}, skipped=skipped)
        self.before: dict[int, set[int]] = {event.id: set() for event in events}
        self.always: dict[int, set[int] | None] = {event.id: None for event in events}
        self.windows: dict[int, list[tuple[Progress, Progress]]] = {event.id: [] for event in events}

    def run(self, most: int = EXACT) -> Reach | None:
        """What is found, or None where there is too much."""
        nowhere = self.lanes.canonical((0,) * len(self.lanes.each))
        first = (nowhere, self.start, (nowhere, nowhere))
        seen, stack = {first}, [first]
        while stack:
            progress, state, turns = stack.pop()
            for number in range(len(self.lanes.each)):
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
        """Where the next operation of a lane leads; `turns` are where the lanes were as the last two phases ended.

        A wait leaves what it finds, also where PTX leaves undefined what it says.
        """
        lane, place = self.lanes.each[number], progress[number]
        if place == len(lane.events):
            return []
        if lane.late and not self.exact:
            return self._complete(progress, state, turns, number)
        if lane.source >= 0 and progress[lane.source] < lane.after[place]:
            return []
        event = lane.events[place]
        moved = self.lanes.canonical((*progress[:number], place + 1, *progress[number + 1 :]))
        found: list[Point] = [(moved, state, turns)] if event.id in self.skipped else []
        if any(progress[n] < k for n, k in self.lanes.needs[event.id]):
            return found
        after = step(state, event.operation or Operation("wait"))
        undefined = isinstance(after, str)
        if event.waits:
            after = state
        asked = next(iter(event.asked)) if len(event.asked) == 1 else None
        passed = asked is not None and passes(state, asked, parity=event.parity)
        stuck = event.blocking and asked is not None and not passed
        if stuck and state.valid and 0 not in event.table:
            return found
        self._note(progress, number, state)
        self.reach.undefined |= undefined
        if event.blocking and asked is not None and passed:
            nothing = (progress, progress)
            self.windows[event.id].append(turns if event.parity or phase_of(asked) == state.phase - 1 else nothing)
        if isinstance(after, State) and not stuck:
            turned = self.exact and after.current != state.current
            since = moved if after.life != state.life else turns[1]
            found.append((moved, after, (since, moved) if turned else turns))
        return found

    def _complete(self, progress: Progress, state: State, turns: Turns, number: int) -> list[Point]:
        """Where one more completion of a lane leads, whichever; where all that can be are over, those are known.

        Here `turns` are, for each lane of completions, how many of the first ones are certain to be over.
        """
        lane, place = self.lanes.each[number], progress[number]
        started = [
            k for k, event in enumerate(lane.events)
            if (lane.source < 0 or progress[lane.source] >= lane.after[k])
            and all(progress[n] >= far for n, far in self.lanes.needs[event.id])
        ]  # fmt: skip
        known = turns[0]
        moved = (*progress[:number], place + 1, *progress[number + 1 :])
        passed: list[Point] = [(moved, state, turns)] if any(e.id in self.skipped for e in lane.events) else []
        if place >= len(started):
            return passed
        for k in started:
            if k >= known[number]:
                self.reach.found[lane.events[k].id].add(state)
        after = step(state, lane.events[place].operation or Operation("wait"))
        if isinstance(after, str):
            self.reach.undefined = True
            return passed
        over = started == list(range(place + 1))
        if over and not any(e.id in self.skipped for e in lane.events):
            known = (*known[:number], place + 1, *known[number + 1 :])
        return [*passed, (moved, after, (known, turns[1]))]

    def _joined(self, windows: list[Turns]) -> frozenset[int]:
        """For each lane, the earliest of the arrivals that were the last of a phase, where every phase had one."""
        found = set()
        for number, lane in enumerate(self.lanes.each):
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
        lane, place = self.lanes.each[number], progress[number]
        if self.exact:
            event = lane.events[place]
            self.reach.found[event.id].add(state)
            done = {e.id for n, other in enumerate(self.lanes.each) for e in other.events[: progress[n]]}
            self.before[event.id] |= done
            known = self.always[event.id]
            self.always[event.id] = done if known is None else known & done
            return
        for one in next((group for group in self.lanes.alike if number in group), [number]):
            self.reach.found[self.lanes.each[one].events[place].id].add(state)
