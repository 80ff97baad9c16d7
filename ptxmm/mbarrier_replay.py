"""The mbarriers of one execution followed step by step, without the solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cmp_to_key

from ptxmm.events import Event
from ptxmm.formula import Lit
from ptxmm.mbarrier_sequence import Mbarrier
from ptxmm.mbarrier_state import State, passes, step, token
from ptxmm.mbarriers import Mbarriers
from ptxmm.program import MbarrierWait


def mistake(mbarriers: Mbarriers, true: Callable[[Lit], bool]) -> str:
    """What is wrong with the operations of an execution, where literals are `true` or not; "" where all is right.

    An execution is followed up to its first undefined step: PTX says nothing of what comes after.
    """
    for barrier in mbarriers.all.values():
        running = [event for event in barrier.events if true(event.guard)]
        if not _total(barrier, running, true):
            return f"the operations on {barrier.name} have no order"
        wrong = _follow(mbarriers, barrier, _in_order(barrier, running, true), true)
        if wrong:
            return wrong
    return ""


@dataclass(frozen=True, slots=True)
class History:
    """The operations on an mbarrier in their order, up to the first undefined one, and the state that they leave."""

    operations: tuple[Event, ...]
    state: State
    undefined: str = ""


def history(barrier: Mbarrier, true: Callable[[Lit], bool]) -> History:
    """What happened to an mbarrier in an execution in which there is no `mistake`."""
    events = _in_order(barrier, [event for event in barrier.events if true(event.guard)], true)
    state = barrier.start
    for place, event in enumerate(events, 1):
        assert event.operation is not None
        after = step(state, event.operation)
        if isinstance(after, str):
            return History(tuple(events[:place]), state, after)
        state = after
    return History(tuple(events), state)


def _total(barrier: Mbarrier, events: list[Event], true: Callable[[Lit], bool]) -> bool:
    """Whether the changes stand in one order, and every wait somewhere in it."""
    changes = [e for e in events if e.changes]
    for one in events:
        for other in changes:
            for third in changes:
                ids = (one.id, other.id, third.id)
                if len(set(ids)) == 3 and all(true(barrier.before[a, b]) for a, b in _around(*ids)):
                    return False
    return True


def _around(i: int, j: int, k: int) -> tuple[tuple[int, int], ...]:
    return (i, j), (j, k), (k, i)


def _in_order(barrier: Mbarrier, events: list[Event], true: Callable[[Lit], bool]) -> list[Event]:
    """The operations in their order; a wait stands where it finds what the changes before it left."""
    changes = [e for e in events if e.changes]

    def compared(one: Event, other: Event) -> int:
        return -1 if true(barrier.before[one.id, other.id]) else 1

    ordered = sorted(changes, key=cmp_to_key(compared))
    for wait in events:
        if wait not in changes:
            place = sum(true(barrier.before[change.id, wait.id]) for change in changes)
            at = next((n for n, e in enumerate(ordered) if _changes_before(ordered, n) == place), len(ordered))
            ordered.insert(at, wait)
    return ordered


def _changes_before(ordered: list[Event], place: int) -> int:
    return sum(e.changes for e in ordered[:place])


def _follow(mbarriers: Mbarriers, barrier: Mbarrier, events: list[Event], true: Callable[[Lit], bool]) -> str:
    state = barrier.start
    for event in events:
        assert event.operation is not None
        if isinstance(event.statement, MbarrierWait):
            asked = next(value for value, literal in event.asked.items() if true(literal))
            says, found = true(event.table.get(1, -1)), passes(state, asked, parity=event.parity)
            if says > found or (not event.statement.tries and says != found):
                return f"a wait on {barrier.name} says {says} in phase {state.phase}"
            continue
        if event.table and not true(event.table.get(token(state, pending=mbarriers.counted(event)), -1)):
            return f"an arrival on {barrier.name} gives another token than that of phase {state.phase}"
        after = step(state, event.operation)
        if isinstance(after, str):
            return ""
        state = after
    return ""
