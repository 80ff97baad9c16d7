"""What causality makes certain about mbarriers before anything is solved.

An operation that is before another in every execution (in program order, or through arrivals that a wait is certain to
have found) cannot be later on their mbarrier. That leaves fewer orders to follow, which in turn makes more certain; the
rings of real pipelines come out with one order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ptxmm.closure import bits
from ptxmm.errors import Undecided
from ptxmm.events import Event, EventGraph
from ptxmm.mbarrier_orders import Exchanges
from ptxmm.mbarrier_reach import MOST, Reach, reachable
from ptxmm.mbarrier_state import State
from ptxmm.program import Order
from ptxmm.tags import includes

ROUNDS = 100
Found = dict[str, Reach]
Barrier = tuple[State, list[Event]]


def certain(graph: EventGraph, barriers: Mapping[str, Barrier], orders: Exchanges | None, *, causal: bool) -> Found:
    """What the operations on each mbarrier can find; with `causal`, orders that causality forbids are left out.

    `orders` puts operations that can be exchanged in one order. Undecided where an mbarrier has too many states.
    """
    events = [event for _, mine in barriers.values() for event in mine]
    skipped = frozenset(event.id for event in events if _skippable(graph, event))
    needs: dict[int, set[int]] = {}
    found = {name: reachable(start, mine, needs, skipped) for name, (start, mine) in barriers.items()}
    for _ in range(ROUNDS if causal else 0):
        known = _needs(graph, events, _joins(graph, found, events), skipped)
        if orders is not None:
            orders.look(found, known)
            known = {one: before | orders.needed.get(one, set()) for one, before in known.items()}
        for name, (start, mine) in barriers.items():
            if any(known[e.id] != needs.get(e.id, set()) for e in mine):
                graph.formulas.deadline.check()
                found[name] = reachable(start, mine, known, skipped)
        if known == needs:
            break
        needs = known
    whole: Found = {}
    for name, (start, mine) in barriers.items():
        reach = found[name] or reachable(start, mine, needs, skipped, MOST) or reachable(start, mine, {}, skipped, MOST)
        if reach is None:
            raise Undecided(f"an mbarrier has more than {MOST:,} reachable states")
        whole[name] = reach
    return whole


def _skippable(graph: EventGraph, event: Event) -> bool:
    """Whether a thread may go on past an operation without doing it; a thread that stays at a wait does not go on."""
    if event.guard == 1:
        return False
    earlier = [e for e in graph.events if e.thread == event.thread and e.issue < 0 and e.node < event.node]
    last = max((e for e in earlier if e.guard != -1), key=lambda e: e.id, default=None)
    if last is None:
        return True
    going = graph.formulas.both(last.guard, last.table.get(1, -1) if last.blocking else 1)
    return graph.formulas.both(going, -event.guard) != -1


def _joins(graph: EventGraph, found: Mapping[str, Reach | None], events: list[Event]) -> dict[int, list[Event]]:
    """For each wait, the arrivals that are certain to synchronise with it."""
    known = {event.id: event for event in events}
    return {
        wait: [known[one] for one in joined if _synchronise(graph, events, known[one], known[wait])]
        for reach in found.values()
        if reach is not None
        for wait, joined in reach.joined.items()
    }


def _synchronise(graph: EventGraph, events: list[Event], arrival: Event, wait: Event) -> bool:
    """Whether arrivals of one thread, from this one on, release what a wait acquires, by their orders and scopes."""
    later = [
        e
        for e in events
        if (e.object, e.thread, e.issue >= 0) == (arrival.object, arrival.thread, arrival.issue >= 0)
        and e.id >= arrival.id
        and e.joins
    ]
    return wait.order is Order.ACQUIRE and all(
        e.order is Order.RELEASE and _mutual(graph, e, wait) for e in ([arrival] if arrival.issue >= 0 else later)
    )


def _mutual(graph: EventGraph, one: Event, other: Event) -> bool:
    places = [graph.program.threads[e.thread].place for e in (one, other)]
    return bool(one.scope and other.scope and includes(one.scope, *places) and includes(other.scope, *reversed(places)))


def _needs(
    graph: EventGraph, events: list[Event], joins: Mapping[int, list[Event]], skipped: Collection[int]
) -> dict[int, set[int]]:
    """For each operation, those on its mbarrier that are before it in every execution in which it is done.

    A wait that stays incomplete is done as well, so that what it joins is before what follows it.
    """
    before: dict[int, int] = {event.id: 0 for event in events}
    own: dict[int, list[Event]] = {}
    for event in sorted(events, key=lambda e: e.id):
        if event.issue < 0:
            own.setdefault(event.thread, []).append(event)
    past = {event.id: _past(graph, own.get(event.thread, []), event, skipped) for event in events}
    changed = True
    while changed:
        changed = False
        for event in events:
            if event.issue >= 0:
                continue
            found = _together(past[event.id], before)
            for arrival in joins.get(event.id, ()):
                found |= 1 << arrival.id if arrival.issue >= 0 else 1 << arrival.id | before[arrival.id]
            if found & ~before[event.id]:
                before[event.id] |= found
                changed = True
    objects: dict[str, int] = {}
    for event in events:
        objects[event.object] = objects.get(event.object, 0) | 1 << event.id
    return {e.id: set(bits(_together(past[e.id], before) & objects[e.object] & ~(1 << e.id))) for e in events}


Past = tuple[int, list[int]]


def _past(graph: EventGraph, own: list[Event], event: Event, skipped: Collection[int]) -> Past:
    """What is before an operation, or a copy's start, in program order; and those that are done wherever it is."""
    bound = event.id if event.issue < 0 else event.issue
    earlier = [e for e in own if e.id < bound and (event.issue >= 0 or e.node < event.node)]
    done = [e.id for e in earlier if e.id not in skipped or graph.formulas.both(event.guard, -e.guard) == -1]
    return sum(1 << e.id for e in earlier), done


def _together(past: Past, before: Mapping[int, int]) -> int:
    """Operations of a thread's past, and what is before those of them that are certain to be done."""
    found, done = past
    for one in done:
        found |= before[one]
    return found
