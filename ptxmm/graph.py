"""From a program to its events.

Every thread is unrolled, the possible values of memory grow to their fixpoint (`grown`), and the threads are walked
once more with formulas. Addresses in registers become one event for each possible address, so which bytes an event
touches is always known.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.aligned import divergent
from ptxmm.arith import Type
from ptxmm.attempts import Repetition, leave_out, retries
from ptxmm.deadline import NEVER, Deadline
from ptxmm.events import Again, Ending, Event, EventGraph, asked_registers
from ptxmm.formula import LARGEST, Formulas, Lit
from ptxmm.grown import Grown, counts_of
from ptxmm.memory import initial
from ptxmm.program import Atomic, Object, Program
from ptxmm.unroll import loops_of, unrolled
from ptxmm.walk import Walk

FURTHEST = 2000
LARGEST_LOOPS = LARGEST // 3
"""Parts of formulas for loops that are followed beyond the bound: more take long, and hardly ever come to an answer."""


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
    expect_ends: bool = True,
    refuted: Callable[[Formulas, Lit], bool] = unrefuted,
    grown: Grown | None = None,
) -> EventGraph:
    """The events of a test: with `waits`, waiting loops are passed once; other loops are unrolled to `bound`.

    Where `attempts` says so, loops whose failed attempts write back what they read are waiting loops too, and with
    `hands_on` others may read what they write; `refuted` is asked whether a literal cannot hold. With `expect_ends` an
    `expect_tx` can end a phase of an mbarrier.
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
        graph = _walked(program, bound, ending, deadline, effects, bounds, kept, grown, expect_ends)
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
    expect_ends: bool,
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
    formulas = Formulas(deadline, LARGEST_LOOPS if any(bounds.values()) else LARGEST)
    counts = counts_of(program, nodes)
    memory = grown.memory(program, nodes, formulas, counts)
    graph = EventGraph(program, formulas, memory, nodes, ending=ending, expect_ends=expect_ends, **counts)
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
