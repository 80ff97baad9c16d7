"""Why two accesses race, in words for the author of the test."""

from __future__ import annotations

from ptxmm.encode import Encoding, RacePair
from ptxmm.events import Event
from ptxmm.program import Atomic, Order, Place
from ptxmm.tags import includes


def reason(encoding: Encoding, pair: RacePair) -> str:
    """What keeps a pair from being morally strong, and what kind of conflict it is.

    The kinds are read after write, write after read and write after write, in the order of the two threads' texts.
    """
    one, other = encoding.graph.events[pair.first], encoding.graph.events[pair.second]
    kind = "write-write" if one.kind == other.kind == "W" else "read-write"
    return f"{kind} conflict: {_missing(encoding, one, other)}, and causality orders them neither way"


def _missing(encoding: Encoding, one: Event, other: Event) -> str:
    names = [encoding.program.threads[event.thread].name for event in (one, other)]
    if one.where != other.where:
        return f"they touch different bytes ({_bytes(one)} and {_bytes(other)})"
    if one.proxy is not other.proxy:
        return f"they go through different proxies ({one.proxy.value} and {other.proxy.value})"
    weak = [name for name, event in zip(names, (one, other), strict=True) if event.order is Order.WEAK]
    if weak:
        return (
            f"the access{'es' if len(weak) > 1 else ''} of {' and '.join(weak)} {'are' if len(weak) > 1 else 'is'} weak"
        )
    places = [encoding.program.threads[event.thread].place for event in (one, other)]
    for name, event, mine, theirs in _both_ways(names, (one, other), places):
        if event.scope is not None and not includes(event.scope, mine, theirs):
            what = "atomic operation" if isinstance(event.statement, Atomic) else "access"
            return f"the scope .{event.scope.value} of {name}'s {what} does not include the other thread"
    return "they are not morally strong"


def _both_ways(
    names: list[str], events: tuple[Event, Event], places: list[Place]
) -> list[tuple[str, Event, Place, Place]]:
    return [(names[0], events[0], places[0], places[1]), (names[1], events[1], places[1], places[0])]


def _bytes(event: Event) -> str:
    first, size = event.where
    return f"{first} to {first + size - 1}"
