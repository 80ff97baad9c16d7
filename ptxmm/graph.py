"""From a program to its events.

Every thread is unrolled, the possible values of memory grow to their fixpoint in three-valued logic, and the threads
are walked once more with formulas. Addresses in registers become one event for each possible address, so which bytes an
event touches is always known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypedDict

from ptxmm.aligned import divergent
from ptxmm.arith import Type
from ptxmm.arrivals import arrives
from ptxmm.attempts import Repetition, leave_out, retries
from ptxmm.deadline import NEVER, Deadline
from ptxmm.events import Again, Ending, Event, EventGraph, asked_registers
from ptxmm.formula import Formulas, Lit
from ptxmm.memory import Memory, initial
from ptxmm.program import (
    Assign,
    Assume,
    Asynchronous,
    Atomic,
    Barrier,
    Const,
    CopyArrive,
    FinalMem,
    Load,
    MbarrierInit,
    MbarrierPending,
    Object,
    Program,
    Statement,
    Store,
    leaves,
    registers,
)  # fmt: skip
from ptxmm.unroll import Node, loops_of, unrolled
from ptxmm.values import Possible
from ptxmm.walk import Walk

FURTHEST = 2000
WHOLE = 8


def never() -> bool:
    """No loop that writes is a waiting loop."""
    return False


def unrefuted(_formulas: Formulas, _literal: Lit) -> bool:
    """No literal is refuted that its form does not refute."""
    return False


def event_graph(
    program: Program,
    bound: int,
    ending: Ending = Ending.FINISHED,
    deadline: Deadline | None = None,
    *,
    waits: bool = True,
    states: bool = True,
    attempts: Callable[[], bool] = never,
    hands_on: bool = False,
    refuted: Callable[[Formulas, Lit], bool] = unrefuted,
    grown: Grown | None = None,
) -> EventGraph:
    """The events of a test: with `waits`, waiting loops are passed once; other loops are unrolled to `bound`.

    Where `attempts` says so, loops whose failed attempts write back what they read are waiting loops too, and with
    `hands_on` others may read what they write; `refuted` is asked whether a literal cannot hold.
    Without `states`, final registers do not matter; with them, those matter that the test asks for. What is known of
    memory from graphs of the same test is taken from `grown`.

    Raises Undecided where values or code are too many.
    """
    effects: dict[int, set[int]] = {}
    if not waits:
        effects = {index: set(loops_of(thread.body)) for index, thread in enumerate(program.threads)}
    bounds: dict[int, dict[int, int]] = {}
    kept = [asked_registers(program, thread) if states else frozenset[str]() for thread in program.threads]
    grown = grown or Grown()
    while True:
        graph = _walked(program, bound, ending, deadline, effects, bounds, kept, grown)
        found = _left_behind(graph, attempts, hands_on, refuted)
        longer = [place for place in graph.forced if bounds.get(place[0], {}).get(place[1], bound) < FURTHEST]
        if not found and not longer:
            if ending is not Ending.FINISHED:
                leave_out(graph, graph.retries)
            return graph
        for again in found:
            effects.setdefault(again.thread, set()).add(again.loop.head)
        for thread, head in longer:
            mine = bounds.setdefault(thread, {})
            mine[head] = min(FURTHEST, 2 * mine.get(head, bound) + 1)


def _walked(
    program: Program,
    bound: int,
    ending: Ending,
    deadline: Deadline | None,
    effects: dict[int, set[int]],
    bounds: dict[int, dict[int, int]],
    kept: list[frozenset[str] | None],
    grown: Grown,
) -> EventGraph:
    to_the_end = program.conventions.branches_control_the_rest
    nodes = [
        unrolled(
            thread.body,
            bound,
            to_the_end=to_the_end,
            effects=frozenset(effects.get(index, ())),
            bounds=bounds.get(index, {}),
            kept=kept[index],
            deadline=deadline or NEVER,
        )
        for index, thread in enumerate(program.threads)
    ]
    formulas = Formulas(deadline)
    counts = _counts(program, nodes)
    memory = grown.memory(program, nodes, formulas, counts)
    graph = EventGraph(program, formulas, memory, nodes, ending=ending, **counts)
    _add_inits(graph)
    for index in range(len(program.threads)):
        Walk(graph, index, graph.formulas).run()
    _add_own_dependencies(graph)
    graph.bad.extend(divergent(graph))
    return graph


def _left_behind(
    graph: EventGraph, attempts: Callable[[], bool], hands_on: bool, refuted: Callable[[Formulas, Lit], bool]
) -> list[Again]:
    """The waiting loops of which a repetition may write to memory, change an mbarrier or start a copy."""
    formulas = graph.formulas
    found = [Repetition(again, tuple(e for e in graph.events if inside(graph, again, e))) for again in graph.again]

    def repeats_after(event: Event, again: Again) -> bool:
        both = formulas.both(event.guard, again.literal)
        return not (formulas.exclude(event.guard, again.literal) or refuted(formulas, both))

    acting = [one.again for one in found if any(_acts(e) and repeats_after(e, one.again) for e in one.events)]
    graph.retries = (retries(graph, found, hands_on) or []) if acting and attempts() else []
    return [] if graph.retries else acting


def _acts(event: Event) -> bool:
    return event.kind in "WSE" or event.changes


def inside(graph: EventGraph, again: Again, event: Event) -> bool:
    """Whether an event that can run belongs to a waiting loop that is about to repeat."""
    if event.thread != again.thread or event.guard == -1:
        return False
    if again.thread not in graph.heads:
        graph.heads[again.thread] = sorted(loops_of(graph.program.threads[again.thread].body))
    heads = graph.heads[again.thread]
    around = again.counts[: heads.index(again.loop.head)]
    node = graph.nodes[again.thread][event.node]
    return again.loop.head <= node.pc <= again.loop.end and node.counts[: len(around)] == around


class _Counts(TypedDict):
    """What bounds the tokens of mbarriers."""

    arrivals: int
    most_pending: int
    counts_pending: bool


def _counts(program: Program, nodes: list[tuple[Node, ...]]) -> _Counts:
    """How many arrivals a test can make, and how many can be pending where somebody asks for that."""
    statements = [node.statement for thread in nodes for node in thread]
    pending = any(isinstance(s, MbarrierPending) for s in statements)
    counts = [o.mbarrier or 0 for o in program.objects]
    counts += [s.count.value for s in statements if isinstance(s, MbarrierInit) and isinstance(s.count, Const)]
    more = sum(isinstance(s, CopyArrive) for s in statements)
    return {
        "arrivals": sum(arrives(s) for s in statements),
        "most_pending": max([0, *counts]) + more if pending else 0,
        "counts_pending": pending,
    }


class Grown:
    """The possible values of a test's memory, for each way in which its threads have been unrolled so far."""

    latest: ClassVar[tuple[Program, Grown] | None] = None

    @classmethod
    def of(cls, program: Program) -> Grown:
        """What is known of a test's memory, under whichever model: it is kept until another test is asked about."""
        if cls.latest is None or cls.latest[0] is not program:
            cls.latest = program, Grown()
        return cls.latest[1]

    def __init__(self) -> None:
        self._found: list[tuple[list[tuple[Node, ...]], Memory]] = []

    def memory(self, program: Program, nodes: list[tuple[Node, ...]], formulas: Formulas, counts: _Counts) -> Memory:
        """The memory of threads that are unrolled so."""
        for known, memory in self._found:
            if known == nodes:
                return memory.copy()
        memory = Memory(program)
        _grow(program, nodes, memory, formulas, counts)
        self._found.append((nodes, memory.copy()))
        return memory


def _grow(program: Program, nodes: list[tuple[Node, ...]], memory: Memory, formulas: Formulas, counts: _Counts) -> None:
    """Grow the possible values of memory to their fixpoint, or as far as they can go without feeding on themselves.

    A value that is not a constant comes through a chain of stores each of which depends on a read. Without values out
    of thin air no store occurs twice in a chain, so that one round more than there are such stores is enough.
    """
    logic = Possible()
    if any(isinstance(s, Asynchronous) for thread in program.threads for s in thread.body):
        _look_at_finals(program, memory)
    fed = any(_uses_values(statement) for thread in program.threads for statement in thread.body)
    rounds, done = 1, 0
    reads: dict[int, set[str]] = {}
    dependent: dict[int, int] = {}
    stale = set(range(len(program.threads)))
    while stale and done < rounds:
        done += 1
        for index in stale:
            walk = Walk(EventGraph(program, formulas, memory, nodes, **counts), index, logic)
            walk.run()
            reads[index], dependent[index] = walk.reads, walk.dependent_stores
        changed = memory.advance()
        if not fed:
            return
        rounds = max(rounds, sum(dependent.values()) + 2)
        stale = {index for index, names in reads.items() if names & changed}


def _look_at_finals(program: Program, memory: Memory) -> None:
    """The bytes that a condition names are looked at, so that copies follow them; without any, all ordinary ones."""
    asked = [program.condition.formula] if program.condition is not None else []
    exprs = [*asked, *([program.filter] if program.filter is not None else []), *program.locations]
    named = {
        (leaf.name, leaf.offset, leaf.type.size) for e in exprs for leaf in leaves(e) if isinstance(leaf, FinalMem)
    }
    if not exprs:
        plain = [o for o in program.objects if o.mbarrier is None and o.tensormap is None and o.length <= WHOLE]
        named = {(o.name, i * o.type.size, o.type.size) for o in plain for i in range(o.length)}
    for name, offset, size in named:
        memory.touch(program.physical(name).name, (offset, size))


def _uses_values(statement: Statement) -> bool:
    """Whether what an instruction does can depend on what was read before, or, for an atomic, by itself."""
    if isinstance(statement, Asynchronous):
        return True
    match statement:
        case Atomic(op="exch") | Load() | Store():
            used = [
                statement.guard,
                statement.address,
                *getattr(statement, "values", getattr(statement, "operands", ())),
            ]
        case Atomic() | Assign() | Assume() | Barrier():
            return True
        case _:
            used = [statement.guard]
    return any(registers(expr) for expr in used)


def _add_inits(graph: EventGraph) -> None:
    for name in graph.memory.ranges:
        item = graph.program.by_name[name]
        assert isinstance(item, Object)
        for cell in graph.memory.cells(name):
            event = Event(len(graph.events), "W", -1, -1, 1, object=name, virtual=name, where=cell, cells=(cell,))
            event.table = {initial(graph.program, item, cell): 1}
            event.type = item.type if item.type.size == cell[1] else Type("b", 8 * cell[1])
            graph.events.append(event)


def _add_own_dependencies(graph: EventGraph) -> None:
    """The write of an atomic operation depends on its own read, by value, or for `cas` by whether it happens."""
    for event in graph.events:
        statement = event.statement
        if event.kind == "W" and event.rmw >= 0 and isinstance(statement, Atomic) and statement.op != "exch":
            (graph.ctrl if statement.op == "cas" else graph.data).append((event.rmw, event.id, 1))
