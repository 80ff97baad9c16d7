"""Why two accesses race in one execution, in words for the author of the test: the hazard, and what is missing."""

from __future__ import annotations

from ptxmm.conflicts import RacePair
from ptxmm.encode import Encoding
from ptxmm.events import Event
from ptxmm.evidence import shown
from ptxmm.execution import Concrete
from ptxmm.program import Atomic, Order
from ptxmm.races.naming import bytes_of
from ptxmm.races.remedies import Remedy, Search
from ptxmm.races.whatif import Draft
from ptxmm.races.words import Words
from ptxmm.tags import includes
from ptxmm.verdict import Race

HAZARDS = {"WR": "read after write", "RW": "write after read", "WW": "write after write"}


def explained(encoding: Encoding, one: Concrete, pair: RacePair) -> Race:
    """A race of an execution, with what would have kept it from being one."""
    draft = Draft(one)
    search = Search(encoding, draft, (pair.first, pair.second))
    remedy = search.best()
    first, second = _in_turn(draft, pair, remedy)
    words = Words(encoding, draft)
    missing = words.missing(remedy) if remedy is not None else (words.nothing(first, second, search),)
    hazard = HAZARDS[first.kind + second.kind]
    why = f"{unlike(encoding, first, second)}, and causality orders them neither way"
    return Race(pair.on, first.id, second.id, pair.mixed, why, shown(one), hazard, missing)


def _in_turn(draft: Draft, pair: RacePair, remedy: Remedy | None) -> tuple[Event, Event]:
    """The pair in the order that the synchronisation was to give it, or else as the execution has it."""
    one, other = draft.event(pair.first), draft.event(pair.second)
    if remedy is not None and not remedy.strong:
        return (one, other) if remedy.first == one.id else (other, one)
    before = {(w, r) for (r, _), w in draft.reads.items()} | draft.order | draft.overwritten()
    before |= {(v, r) for (r, _), w in draft.reads.items() for v, later in draft.order if later == w}
    return (other, one) if (other.id, one.id) in before else (one, other)


def unlike(encoding: Encoding, one: Event, other: Event) -> str:
    """What keeps a pair from being morally strong (PTX ISA 8.7)."""
    threads = [encoding.program.threads[event.thread] for event in (one, other)]
    names = [thread.name for thread in threads]
    if one.where != other.where:
        return f"they touch different bytes ({bytes_of(one)} and {bytes_of(other)})"
    if one.proxy is not other.proxy:
        return f"they go through different proxies ({one.proxy.value} and {other.proxy.value})"
    weak = [name for name, event in zip(names, (one, other), strict=True) if event.order is Order.WEAK]
    if len(weak) == 2:
        return f"the accesses of {' and '.join(dict.fromkeys(weak))} are weak"
    if weak:
        return f"the access of {weak[0]} is weak"
    for n, event in enumerate((one, other)):
        mine, theirs = threads[n].place, threads[1 - n].place
        name = names[n]
        if event.scope is not None and not includes(event.scope, mine, theirs):
            what = "atomic operation" if isinstance(event.statement, Atomic) else "access"
            return f"the scope .{event.scope.value} of {name}'s {what} does not include the other thread"
    return "they are not morally strong"
