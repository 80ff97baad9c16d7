"""One mbarrier of an execution: its operations in a total order, which literals say, and the states that they find."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.events import Event
from ptxmm.formula import Formulas, Lit
from ptxmm.mbarrier_orders import Exchanges
from ptxmm.mbarrier_reach import Reach
from ptxmm.mbarrier_state import Phase, State

Found = dict[State, Lit]


@dataclass
class Mbarrier:
    """The operations on one mbarrier: `before[i, j]` is the literal that `i` is earlier; `found` what each finds.

    `lost` has the literal that an operation comes after one that PTX leaves undefined: then what it finds says nothing,
    and no thread goes on from it because of a phase.
    """

    name: str
    start: State
    events: list[Event]
    before: dict[tuple[int, int], Lit] = field(default_factory=dict)
    found: dict[int, Found] = field(default_factory=dict)
    phases: dict[int, dict[Phase, Lit]] = field(default_factory=dict)
    lost: dict[int, Lit] = field(default_factory=dict)

    @property
    def changing(self) -> list[Event]:
        """The operations that change the state."""
        return [event for event in self.events if event.changes]

    @property
    def waits(self) -> list[Event]:
        """The tests for the end of a phase."""
        return [event for event in self.events if event.waits]


def order(barrier: Mbarrier, reach: Reach, formulas: Formulas, orders: Exchanges | None) -> None:
    """A literal for each pair, fixed where only one order is possible, and transitive among what is done.

    What is certain of an operation that is not done must not pass from the one side of it to the other.
    """
    events, before = barrier.events, barrier.before
    waits = {event.id for event in barrier.waits}
    for place, later in enumerate(events):
        for earlier in events[:place]:
            if earlier.id in waits and later.id in waits and earlier.thread != later.thread:
                continue
            literal = _known(earlier, later, reach, orders) or formulas.var()
            before[earlier.id, later.id], before[later.id, earlier.id] = literal, -literal
    _transitive(barrier, formulas)


def _transitive(barrier: Mbarrier, formulas: Formulas) -> None:
    """Of three operations that are done, the order of the first and the last follows from the other two."""
    before = barrier.before
    known = {event.id: event for event in barrier.events}
    uncertain = [pair for pair, literal in before.items() if pair[0] < pair[1] and abs(literal) != 1]
    seen = set[tuple[int, int, int]]()
    for pair in uncertain:
        for other in known:
            i, j, k = sorted((*pair, other))
            if i == j or j == k or (i, j, k) in seen:
                continue
            seen.add((i, j, k))
            if (i, j) in before and (j, k) in before and (i, k) in before:
                first, last, whole = before[i, j], before[j, k], before[i, k]
                undone = (-known[i].guard, -known[j].guard, -known[k].guard)
                formulas.require(*undone, -first, -last, whole)
                formulas.require(*undone, first, last, -whole)


def _known(one: Event, other: Event, reach: Reach, orders: Exchanges | None) -> Lit:
    """TRUE or FALSE where one order of two operations is certain, else 0."""
    if in_order(one, other):
        return 1
    if orders is not None and (one.id, other.id) in orders.before:
        return 1
    if orders is not None and (other.id, one.id) in orders.before:
        return -1
    if reach.earlier is None or reach.undefined:
        return 0
    may, must = reach.earlier[other.id]
    if one.id not in may:
        return -1
    return 1 if one.id in must else 0


def in_order(earlier: Event, later: Event) -> bool:
    """Whether program order puts one operation of a thread before another; a completion comes after its start."""
    if earlier.thread != later.thread or earlier.issue >= 0:
        return False
    return later.issue < 0 or earlier.id < later.issue


def previous(barrier: Mbarrier, event: Event, reach: Reach, formulas: Formulas) -> list[tuple[Event | None, Lit]]:
    """For each operation, and None for the start, the literal that it is the last change before an event."""
    before = barrier.before
    changing = [o for o in barrier.changing if o.id != event.id]
    others = [o for o in changing if formulas.both(o.guard, before[o.id, event.id]) != -1]
    always: frozenset[int] = frozenset()
    if reach.earlier is not None and not reach.undefined:
        always = reach.earlier[event.id][1] - reach.skipped
    sure = [o for o in others if before[o.id, event.id] == 1 and (o.guard == 1 or o.id in always)]
    found: list[tuple[Event | None, Lit]] = []
    nothing = formulas.conj([-formulas.both(o.guard, before[o.id, event.id]) for o in others]) if not sure else -1
    if nothing != -1:
        found.append((None, nothing))
    for one in others:
        if any(before.get((one.id, o.id)) == 1 for o in sure):
            continue
        between = [
            -formulas.conj((o.guard, before[one.id, o.id], before[o.id, event.id]))
            for o in others
            if o.id != one.id and before[one.id, o.id] != -1
        ]
        literal = formulas.conj((one.guard, before[one.id, event.id], *between))
        if literal != -1:
            found.append((one, literal))
    return found
