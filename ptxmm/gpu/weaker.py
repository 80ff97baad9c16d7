"""Whether a test has at most the synchronisation of another: event by event, and by structure alone.

The instructions of the weaker test must be found in those of the other, in order, each the same up to a weaker order, a
narrower scope or a wait for less; the rest of the other's must be instructions that only order. Of these, a wait for
copies may come at the end of the thread instead. An atomic operation may be in pieces, through registers of their own.
A wait may look once instead of again and again, and be gone if nobody uses what it found. A value that is known without
its operands may be written without them. Pauses do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from ptxmm.gpu.independent import PARTS, without_dependencies
from ptxmm.gpu.torn import pieces
from ptxmm.gpu.waits import Wait, waits
from ptxmm.program import (
    Assign,
    Atomic,
    Bar,
    Barrier,
    ClusterBarrier,
    Fence,
    GridDependency,
    Load,
    Nop,
    Order,
    Program,
    ProxyFence,
    Scope,
    Statement,
    Thread,
    WaitGroup,
    WarpSync,
)

BELOW: dict[Order, frozenset[Order]] = {
    Order.WEAK: frozenset(),
    Order.RELAXED: frozenset({Order.WEAK}),
    Order.ACQUIRE: frozenset({Order.WEAK, Order.RELAXED}),
    Order.RELEASE: frozenset({Order.WEAK, Order.RELAXED}),
    Order.ACQ_REL: frozenset({Order.RELAXED, Order.ACQUIRE, Order.RELEASE}),
    Order.SC: frozenset({Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL}),
}
SCOPES = tuple(Scope)
FREE = ("order", "scope", "read")


def shortfalls(control: Program, test: Program) -> list[str]:
    """What keeps a control from being weaker than its test, a sentence each; none where it is weaker or equal."""
    same = replace(control, threads=test.threads, expects=test.expects)
    found = [] if same == test else ["the memory, the launches or the question differ"]
    pairs = list(zip(control.threads, test.threads, strict=False))
    if len(control.threads) != len(test.threads) or any(shape(mine, its) != shape(its, its) for mine, its in pairs):
        return [*found, "the threads differ"]
    for mine, its in pairs:
        found += _thread(mine, its, waits(test, its))
    return found


def shape(thread: Thread, its: Thread) -> Thread:
    """A thread without its code, and without registers that another does not have."""
    return replace(thread, body=(), types={name: kind for name, kind in thread.types.items() if name in its.types})


def _thread(mine: Thread, its: Thread, may_go: list[Wait]) -> Iterator[str]:
    rest = list[Statement](statement for statement in mine.body if not isinstance(statement, Nop))
    late, gone = list[Statement](), list[Statement]()
    droppable, dropped = {index for wait in may_go for index in wait.droppable}, set[int]()
    while rest and isinstance(rest[-1], WaitGroup):
        late.append(rest.pop())
    for index in (n for n, s in enumerate(its.body) if not isinstance(s, Nop)):
        statement = its.body[index]
        if rest and at_most(rest[0], statement):
            rest.pop(0)
        elif only_orders(statement):
            gone.append(statement)
        elif index in droppable:
            dropped.add(index)
        elif number := _in_pieces(rest, statement, its):
            del rest[:number]
        else:
            yield f"{its.name}: `{statement.text or type(statement).__name__}` has no weaker instruction in its place"
            return
    for wait in may_go:
        if dropped & set(wait.droppable) not in ({wait.branch}, set(wait.droppable), set()):
            yield f"{its.name}: a part of a wait is gone"
    for statement in (*rest, *late):
        if isinstance(statement, WaitGroup) and statement in gone:
            gone.remove(statement)
        else:
            yield f"{its.name}: `{statement.text or type(statement).__name__}` is not one of the test's instructions"


def _in_pieces(rest: list[Statement], statement: Statement, its: Thread) -> int:
    """How many of the next instructions are the pieces of an atomic operation, through registers of their own."""
    match [statement, *rest[:2]]:
        case [Atomic() as atomic, Load(dst=(str(old),)), Assign(dst=new)]:
            if old == new or {old, new} & set(its.types):
                return 0
            expected = pieces(atomic, old, new)
            return len(expected) if expected is not None and tuple(rest[: len(expected)]) == expected else 0
    return 0


def at_most(mine: Statement, its: Statement) -> bool:
    """Whether an instruction is another one, or the same with a weaker order, a narrower scope or a wait for less.

    >>> from ptxmm.program import Const
    >>> at_most(Fence(order=Order.ACQ_REL, scope=Scope.CTA), Fence(order=Order.SC, scope=Scope.GPU))
    True
    >>> at_most(Fence(order=Order.ACQ_REL, scope=Scope.SYS), Fence(order=Order.SC, scope=Scope.GPU))
    False
    """
    if type(mine) is not type(its):
        return False
    differ = {f.name for f in fields(mine) if f.compare and getattr(mine, f.name) != getattr(its, f.name)}
    if not differ <= {*FREE, *PARTS} or (differ & set(PARTS) and mine != without_dependencies(its)):
        return False
    return _order(mine, its) and _scope(mine, its) and getattr(mine, "read", None) in (getattr(its, "read", None), True)


def _order(mine: Statement, its: Statement) -> bool:
    low, high = getattr(mine, "order", None), getattr(its, "order", None)
    return low == high or (low is not None and high is not None and low in BELOW[high])


def _scope(mine: Statement, its: Statement) -> bool:
    low, high = getattr(mine, "scope", None), getattr(its, "scope", None)
    if low is None or high is None:
        return low is high or (low is None and getattr(mine, "order", None) is Order.WEAK)
    return SCOPES.index(low) <= SCOPES.index(high)


def only_orders(statement: Statement) -> bool:
    """Whether an instruction does nothing but order others: without it, a thread computes the same."""
    match statement:
        case Fence() | ProxyFence() | WarpSync() | WaitGroup() | ClusterBarrier():
            return True
        case Barrier(kind=kind):
            return kind is not Bar.RED
        case GridDependency(wait=waits_for_it):
            return waits_for_it
        case Load(dst=dst):
            return all(name is None for name in dst)
    return False
