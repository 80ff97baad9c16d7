"""Attempts that fail and leave memory as it was: a failed `exch` of a lock writes back the value that it read.

A loop of such attempts counts as its last repetition, like one that writes nothing. Where every access to the word is
strong and names a scope that includes the other threads, a failed attempt stands just behind the write that it read.
Taking it out leaves an execution, where no other read can take the value from it, or where the model lets that read
take it from the earlier write instead. `docs/loops.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxmm import arith
from ptxmm.arith import wrap
from ptxmm.events import Again, Event, EventGraph, Retry
from ptxmm.formula import Lit
from ptxmm.memory import Range
from ptxmm.program import Atomic, Const, Order, Proxy
from ptxmm.tags import includes

Cell = tuple[str, Range]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A waiting loop that is about to repeat, and the events of the repetition that is over."""

    again: Again
    events: tuple[Event, ...]


def retries(graph: EventGraph, found: list[Repetition], hands_on: bool) -> list[Retry] | None:
    """The loops whose failed attempts can be left out, with all others that read their words; None where none can.

    `hands_on` is what the model declares (`Model.hands_on`).
    """
    words: dict[Cell, set[int]] = {}
    for one in found:
        for write in _writes(graph, one):
            values = _written_back(graph, one, write)
            if values is None:
                return None
            words.setdefault((write.object, write.where), set()).update(values)
    mine = [one for one in found if any(_cells(event) & words.keys() for event in one.events)]
    touched = {cell for one in mine for event in one.events for cell in _cells(event)}
    if any(event.kind not in "RWF" for one in mine for event in one.events):
        return None
    if not all(_settled(graph, cell) for cell in touched):
        return None
    reads = list(_reading(graph, mine, words))
    if reads and not (hands_on and all(_takes_it_earlier(graph, mine, *read) for read in reads)):
        return None
    return [Retry(one.again, tuple(e.id for e in one.events), _reads(one)) for one in mine]


def _reads(one: Repetition) -> tuple[int, ...]:
    return tuple(event.id for event in one.events if event.kind == "R")


def _writes(graph: EventGraph, one: Repetition) -> Iterator[Event]:
    """The writes that a repetition makes although it fails."""
    for event in one.events:
        if event.kind == "W" and not _never(graph, event.guard, one.again.literal):
            yield event


def _never(graph: EventGraph, *literals: Lit) -> bool:
    """Whether literals contradict each other, as far as one implies the next."""
    parts, new = set[Lit](), set(literals)
    while new:
        parts |= new
        if -1 in parts or any(-part in parts for part in new):
            return True
        new = {found for part in parts for found in _implied(graph, part, parts)} - parts - {1}
    return False


def _implied(graph: EventGraph, part: Lit, known: set[Lit]) -> Iterator[Lit]:
    """What follows from a conjunction, or from one that fails although all of its parts but one hold."""
    kids = graph.formulas.parts(abs(part)) or ()
    if part > 0:
        yield from kids
        return
    missing = [kid for kid in kids if kid not in known]
    if kids and len(missing) < 2:
        yield -missing[0] if missing else -1


def _written_back(graph: EventGraph, one: Repetition, write: Event) -> set[int] | None:
    """The values that a failed attempt reads and writes back; None where it may write another."""
    statement = write.statement
    if not isinstance(statement, Atomic) or write.rmw < 0 or len(statement.dst) != 1 or statement.type.lanes != 1:
        return None
    operands = tuple(expr.value for expr in statement.operands if isinstance(expr, Const))
    if len(operands) != len(statement.operands) or statement.type.floating:
        return None
    kind, values = statement.type, set[int]()
    given = (*(wrap(value, kind.bits) for value in operands), 0)
    for value, literal in graph.events[write.rmw].table.items():
        if not _never(graph, write.guard, one.again.literal, literal):
            if arith.atomic(statement.op, value, given, kind) not in (value, None):
                return None
            values.add(value)
    return values


def _cells(event: Event) -> set[Cell]:
    return {(event.object, cell) for cell in event.cells}


def _settled(graph: EventGraph, cell: Cell) -> bool:
    """Whether all accesses to a word are whole, by one address, strong, and in each other's scopes."""
    threads = graph.program.threads
    events = [e for e in graph.events if e.thread >= 0 and e.guard != -1 and cell in _cells(e)]
    if len({event.virtual for event in events}) > 1:
        return False
    for event in events:
        strong = event.order is not Order.WEAK and event.scope is not None and event.proxy is Proxy.GENERIC
        if not strong or event.where != cell[1] or event.cells != (cell[1],):
            return False
    seen = {(event.scope, event.thread) for event in events if event.scope is not None}
    return all(
        includes(scope, threads[thread].place, threads[other].place)
        for scope, thread in seen
        for other in {event.thread for event in events}
    )


def _reading(
    graph: EventGraph, mine: list[Repetition], words: dict[Cell, set[int]]
) -> Iterator[tuple[Event, Cell, int]]:
    """The reads that are not in a failed attempt and can return a value that is written back, with that value."""
    formulas = graph.formulas
    failing: dict[int, Lit] = {}
    for one in mine:
        for event in one.events:
            failing[event.id] = formulas.disj((failing.get(event.id, -1), one.again.literal))
    for read in graph.events:
        if read.kind != "R" or read.guard == -1:
            continue
        for cell in _cells(read) & words.keys():
            for value in words[cell]:
                if not _never(graph, read.guard, read.table.get(value, -1), -failing.get(read.id, -1)):
                    yield read, cell, value


def _takes_it_earlier(graph: EventGraph, mine: list[Repetition], read: Event, cell: Cell, value: int) -> bool:
    """Whether no value comes out of thin air where a read takes a value from the write that failed attempts hand on.

    The way from that write to the read is one of dependencies already where the attempts' writes depend on what they
    read. Otherwise it closes no circle if nothing depends on the read, or if such a write depends on nothing.
    """
    depends = [(source, event) for pairs in (graph.addr, graph.data, graph.ctrl) for source, event, _ in pairs]
    attempts = {event.id for one in mine for event in one.events}
    passing = [e for e in graph.events if e.kind == "W" and e.id in attempts and cell in _cells(e)]
    if all((write.rmw, write.id) in depends for write in passing) or all(source != read.id for source, _ in depends):
        return True
    heads = [e.id for e in graph.events if e.kind == "W" and cell in _cells(e) and value in e.table]
    return all(event not in heads for _, event in depends)


def leave_out(graph: EventGraph, found: list[Retry]) -> None:
    """Let the events of failed attempts not happen: a thread that fails for ever stays before the attempt."""
    for retry in found:
        for number in retry.events:
            event = graph.events[number]
            event.guard = graph.formulas.both(event.guard, -retry.again.literal)
