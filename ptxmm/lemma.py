"""The lemma behind chains, proved by Z3 from a model file before chains are used with it."""

from __future__ import annotations

from ptxmm.chains import SHORTEST
from ptxmm.choices import Choices
from ptxmm.events import EventGraph
from ptxmm.formula import Formulas, Lit
from ptxmm.program import Addr, Atomic, Const, Object, Place, Program, Thread

EACH_ALONE = ((0,), (1,), (2,))
TWO_TOGETHER = ((0, 1), (2,))


def samples() -> list[Program]:
    """Tests of three atomic exchanges on one word, in three threads and in two."""
    return [
        Program(name, (Object("x"),), tuple(_thread(i, steps) for i, steps in enumerate(threads)))
        for name, threads in (("three threads", EACH_ALONE), ("two threads", TWO_TOGETHER))
    ]


def _thread(index: int, steps: tuple[int, ...]) -> Thread:
    body = tuple(
        Atomic(op="exch", dst=(f"r{step}",), address=Addr("x"), operands=(Const(step + 1),), type=Object("x").type)
        for step in steps
    )
    types = {f"r{step}": Object("x").type for step in steps}
    return Thread(f"P{index}", Place(cta=index, cluster=index), body, types)


def could_chain(graph: EventGraph) -> bool:
    """Whether some word has enough atomic operations for a chain."""
    counts: dict[str, int] = {}
    for event in graph.events:
        if event.kind == "W" and event.rmw >= 0 and event.guard == 1:
            counts[event.object] = counts.get(event.object, 0) + 1
    return any(count >= SHORTEST for count in counts.values())


def counterexample(graph: EventGraph, choices: Choices, formulas: Formulas) -> Lit:
    """The literal that two writes are unordered, or that an atomic operation does not read the write just before it."""
    writes = [event.id for event in graph.events if event.kind == "W" and event.thread >= 0]
    before = choices.before
    unordered = [-formulas.disj((before[i, k], before[k, i])) for i in writes for k in writes if i < k]
    astray = []
    for (read, _), sources in choices.sources.items():
        own = graph.events[read].rmw
        for write, literal in sources:
            between = [formulas.both(before[write, m], before[m, own]) for m in writes if m not in (write, own)]
            late = formulas.disj([before[own, write], *between])
            astray.append(formulas.both(literal, late))
    return formulas.disj([*unordered, *astray])
