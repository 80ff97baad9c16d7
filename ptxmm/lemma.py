"""The lemma behind chains, proved by Z3 from a model file before chains are used with it.

It speaks of three accesses: two writes and an atomic operation, in any threads. That is enough, since what the axioms
of a monotone model forbid in a part of an execution they forbid in the whole, and what a failed `cas` or a branch
leaves out is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ptxmm import chains
from ptxmm.arith import U32
from ptxmm.choices import Choices
from ptxmm.events import EventGraph
from ptxmm.formula import Formulas, Lit
from ptxmm.program import Addr, Atomic, Const, Object, Order, Place, Program, Scope, Statement, Store, Thread

THREADS = ((0, 1, 2), (0, 0, 1), (0, 0, 0))


def samples(stores: bool) -> Iterator[Program]:
    """Tests of three atomic exchanges on one word; with `stores`, of exchanges and plain stores instead.

    The threads are on one device or on one each. Exchanges without a result may be kept out of acquire patterns.
    """
    for threads in THREADS:
        for kinds in product((Atomic, Store), repeat=3):
            if stores != (Store in kinds) or Atomic not in kinds:
                continue
            for scope in (Scope.GPU, Scope.SYS):
                yield _sample(threads, kinds, scope)


def _sample(threads: tuple[int, ...], kinds: tuple[type, ...], scope: Scope) -> Program:
    bodies: dict[int, list[Statement]] = {}
    for step, (thread, kind) in enumerate(zip(threads, kinds, strict=True)):
        value, address = Const(step + 1), Addr("x")
        bodies.setdefault(thread, []).append(
            Atomic(op="exch", dst=(None,), address=address, operands=(value,), type=U32, scope=scope, reduction=True)
            if kind is Atomic
            else Store(address=address, values=(value,), type=U32, order=Order.RELAXED, scope=scope)
        )
    apart = scope is Scope.SYS
    return Program(
        "three writes",
        (Object("x"),),
        tuple(
            Thread(f"P{i}", Place(device=i * apart, cluster=i, cta=i), tuple(body), {}) for i, body in bodies.items()
        ),
    )


def could_chain(graph: EventGraph) -> tuple[bool, bool]:
    """Whether some word has enough atomic operations for a chain, and whether one that has is also stored to."""
    counts: dict[str, int] = {}
    stored: set[str] = set()
    for event in graph.events:
        if event.kind == "W" and event.guard != -1 and event.thread >= 0:
            if event.rmw >= 0:
                counts[event.object] = counts.get(event.object, 0) + 1
            else:
                stored.add(event.object)
    words = {name for name, count in counts.items() if count >= chains.SHORTEST}
    return bool(words), bool(words & stored)


def counterexample(graph: EventGraph, choices: Choices, formulas: Formulas) -> Lit:
    """The literal that the order of the writes is not total or not in program order, or a read not of the last one."""
    writes = [event for event in graph.events if event.kind == "W" and event.thread >= 0]
    before = choices.before
    wrong = []
    for later, k in enumerate(writes):
        for i in writes[:later]:
            back = -1 if i.thread == k.thread else before[k.id, i.id]
            wrong.append(-formulas.disj((before[i.id, k.id], back)))
    for (read, _), sources in choices.sources.items():
        own = graph.events[read].rmw
        for source, literal in sources:
            between = [
                formulas.both(before[source, m.id], before[m.id, own]) for m in writes if m.id not in (source, own)
            ]
            late = formulas.disj([before[own, source], *between])
            wrong.append(formulas.both(literal, late))
    return formulas.disj(wrong)
