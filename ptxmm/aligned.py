"""`.aligned` instructions in divergent code, which PTX leaves undefined, where the lanes of a warp show it.

An aligned instruction is executed by all threads of a warp together. Where a test has several lanes of a warp, one that
executes more of them than another, which has ended, shows that the code was divergent.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.events import Event, EventGraph, same_warp
from ptxmm.formula import Lit
from ptxmm.program import Barrier, ClusterBarrier, TensormapCopy
from ptxmm.values import Table, booleans, combined

REASON = "is executed by some lanes of its warp and not by others"


def divergent(graph: EventGraph) -> Iterator[tuple[Lit, str]]:
    """Each way in which a lane is alone at an aligned instruction, with the sentence that says so."""
    threads = graph.program.threads
    lanes = [index for index, thread in enumerate(threads) if thread.place.lane is not None]
    for one in lanes:
        for other in lanes:
            if one != other and same_warp(threads[one], threads[other]):
                for kind in (Barrier, ClusterBarrier, TensormapCopy):
                    yield from _alone(graph, _executed(graph, one, kind), _executed(graph, other, kind), other)


def _executed(graph: EventGraph, thread: int, kind: type) -> list[Event]:
    """The aligned instructions of a kind that a thread may execute, one event for each."""
    found = []
    for event in graph.events:
        statement = event.statement
        mine = event.thread == thread and event.guard != -1 and isinstance(statement, kind)
        if mine and getattr(statement, "aligned", True) and (event.kind == "B" or event.last):
            found.append(event)
    return found


def _alone(graph: EventGraph, mine: list[Event], others: list[Event], other: int) -> Iterator[tuple[Lit, str]]:
    """A thread executes one more than another that has ended."""
    formulas = graph.formulas
    total = _count(graph, others)
    for place, event in enumerate(mine):
        before = _count(graph, mine[:place])
        parts = [
            formulas.both(earlier, literal)
            for number, earlier in before.items()
            for count, literal in total.items()
            if count <= number
        ]
        literal = formulas.conj((event.guard, graph.ends[other], formulas.disj(parts)))
        if literal != -1:
            yield literal, graph.tell(event.thread, event.statement, REASON)


def _count(graph: EventGraph, events: list[Event]) -> Table:
    count: Table = {0: 1}
    for event in events:
        count = combined(graph.formulas, count, booleans(event.guard), lambda a, b: a + b)
    return count
