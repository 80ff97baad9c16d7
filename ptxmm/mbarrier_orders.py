"""Operations on an mbarrier that can be exchanged, put in one order.

Where operations are the same, are always in the same phase and return nothing, who of them is first makes no difference
to the state of the mbarrier. An execution says of their order only that it agrees with causality; so where causality
cannot lead from the later ones to the earlier ones, the executions in which they stand in one order have all outcomes.
The argument: let each of them take the place of the one that is as early in the other order, and each wait that finds
the phase incomplete stand where causality lets it, before the operation that completes the phase. For that no such wait
may have to be after one of them: a thread that arrives and then tests the same mbarrier is told apart by when it does.
Every operation finds the phase that it found before.

Causality that leads through an operation leads to it and on from it. So a way that begins at an arrival and ends while
its phase is incomplete goes through no wait that found a phase of this mbarrier complete: of later phases such a wait
is too late, and the arrivals of earlier phases are over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ptxmm.closure import bits, closed_masks
from ptxmm.events import Event
from ptxmm.mbarrier_reach import Reach
from ptxmm.mbarrier_state import Phase

Found = Mapping[str, Reach | None]


class Causality(Protocol):
    """For what operations can find, the mask of events that causality may lead to from each, at most.

    None where a model looks at the order of operations in another way. Ways through the phases of the mbarrier `apart`
    are left out.
    """

    def __call__(self, found: Found, apart: str = "") -> list[int] | None: ...


class Exchanges:
    """The orders that are fixed: `before` as pairs, `needed` for each completion one of its thread that is over then.

    Pairs are of operations that both happen.
    """

    def __init__(self, barriers: Mapping[str, list[Event]], causality: Causality) -> None:
        self.barriers, self.causality = barriers, causality
        self.before: set[tuple[int, int]] = set()
        self.needed: dict[int, set[int]] = {}
        self.settled: set[tuple[int, ...]] = set()

    def look(self, found: Found, known: Mapping[int, set[int]]) -> None:
        """Fix the order of more operations, as far as what they find and what is `known` to be before each tells."""
        open_ones = [
            (name, reach, groups)
            for name, reach in found.items()
            if reach is not None and (groups := self._alike(name, reach))
        ]
        rows = self.causality(found) if open_ones else None
        for name, reach, groups in open_ones:
            inside = self.causality(found, name) if rows is not None else None
            if rows is None or inside is None:
                self.settled.update(map(_ids, groups))
                continue
            view = _View(self.barriers[name], reach, known, (rows, inside), self.before)
            for group in groups:
                row = view.in_a_row(group)
                if row is not None:
                    self.settled.add(_ids(group))
                    self._fix(row, reach)

    def _alike(self, name: str, reach: Reach) -> list[list[Event]]:
        """The operations that do the same in the same phase, where they have no order yet."""
        if reach.undefined:
            return []
        groups: dict[object, list[Event]] = {}
        for event in self.barriers[name]:
            phases = phases_of(reach, event)
            if event.joins and not event.table and len(phases) == 1:
                groups.setdefault((event.operation, event.issue >= 0, *phases), []).append(event)
        return [g for g in groups.values() if len(g) > 1 and _ids(g) not in self.settled]

    def _fix(self, row: list[Event], reach: Reach) -> None:
        last: dict[int, int] = {}
        for place, later in enumerate(row):
            self.before.update((earlier.id, later.id) for earlier in row[:place])
            if later.issue >= 0 and later.id not in reach.skipped:
                if later.thread in last:
                    self.needed.setdefault(later.id, set()).add(last[later.thread])
                last[later.thread] = later.id


def _ids(group: list[Event]) -> tuple[int, ...]:
    return tuple(sorted(event.id for event in group))


def phases_of(reach: Reach, event: Event) -> set[Phase]:
    """The phases that an operation can be in."""
    return {state.current for state in reach.found[event.id]}


class _View:
    """What is known of the order of the operations on one mbarrier."""

    def __init__(
        self,
        events: list[Event],
        reach: Reach,
        known: Mapping[int, set[int]],
        rows: tuple[list[int], list[int]],
        before: Iterable[tuple[int, int]],
    ) -> None:
        self.events, self.reach, self.known = events, reach, known
        self.places = places = {event.id: place for place, event in enumerate(events)}
        whole, inside = ([self._here(event, row[event.id]) for event in events] for row in rows)
        for i, j in before:
            if i in places:
                whole[places[i]] |= 1 << places[j]
        self.paths, self.inside = closed_masks(whole), closed_masks(inside)

    def _here(self, event: Event, row: int) -> int:
        """The other operations on this mbarrier among the events of a mask."""
        return sum(1 << self.places[j] for j in bits(row) if j in self.places and j != event.id)

    def leads(self, one: Event, other: Event) -> bool:
        """Whether causality may lead from one operation to another."""
        return bool(self.paths[self.places[one.id]] >> self.places[other.id] & 1)

    def certain(self, one: Event, other: Event) -> bool:
        """Whether one operation is before another wherever both are done."""
        if one.id in self.known.get(other.id, ()):
            return True
        if self.reach.earlier is None:
            return False
        return one.id in self.reach.earlier[other.id][1] or other.id not in self.reach.earlier[one.id][0]

    def in_a_row(self, group: list[Event]) -> list[Event] | None:
        """An order of operations that do the same which stands for all their orders; None where none does."""
        ids = {event.id for event in group}
        count = {one.id: sum(self.leads(other, one) for other in group if other.id != one.id) for one in group}
        row = sorted(group, key=lambda event: (count[event.id], event.id))
        if any(self.leads(later, earlier) for n, later in enumerate(row) for earlier in row[:n]):
            return None
        phases = phases_of(self.reach, group[0])
        for other in self.events:
            beside = other.id not in ids and phases & phases_of(self.reach, other)
            if beside and not (self._keeps(other, row) if other.changes else self._moves(other, row)):
                return None
        return row

    def _moves(self, wait: Event, row: list[Event]) -> bool:
        """Whether a wait that finds their phase incomplete can stand before all of them."""
        return not any(self.inside[self.places[one.id]] >> self.places[wait.id] & 1 for one in row)

    def _keeps(self, other: Event, row: list[Event]) -> bool:
        """Whether another change can stay where it is, whatever order a row had before.

        It is after the first so many of them and before the last so many, and causality does not relate it to the rest.
        What is before one that returns a state must not hang on that state, so that for it there is no rest.
        """
        after = [self.certain(one, other) for one in row]
        before = [self.certain(other, one) for one in row]
        ordered = after == sorted(after, reverse=True) and before == sorted(before)
        free = [one for n, one in enumerate(row) if not after[n] and not before[n]]
        return (
            ordered
            and not (other.table and free)
            and not any(self.leads(one, other) or self.leads(other, one) for one in free)
        )
