"""What one thread did on one way through its code."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import U32, Type
from ptxmm.enumeration.counted import Operation
from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.unroll import Node
from ptxmm.program import Bar, Barrier, ClusterBarrier, GridDependency, Order, Proxy, Scope, Statement, WarpSync

NONE: frozenset[int] = frozenset()
MEETINGS = ("B", "E")
"""The kinds of steps at which threads meet: barriers and elections."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What an execution barrier was given: its number, count, predicate or mask, and the result of a reduction."""

    id: int = 0
    count: int | None = None
    pred: bool = False
    mask: int | None = None
    result: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of a path: `kind` is `R`, `W`, `F`, `B`, or one of `S G A K E N`.

    `S` is the start of a copy, `G` a wait for groups of copies, `A` an operation on an mbarrier, `K` a step of a
    dependent launch, `E` an election at which lanes meet, `N` what only its thread notices. `data`, `addr` and
    `ctrl` hold the positions in the path of the reads that it depends on, `partner` that of the read of the same
    atomic operation. What a copy does out of program order has the position of its start as `issue`; `done` are the
    positions of what is over when this happens, `via` a proxy that the instruction does not say, `mbarrier` the
    object of an operation, `covered` the bytes of a fence. With `closes`, it comes after the other events of its
    instruction.
    """

    kind: str
    node: Node
    item: Statement
    spot: Spot | None = None
    value: int = 0
    type: Type = U32
    order: Order = Order.WEAK
    scope: Scope | None = None
    data: frozenset[int] = NONE
    addr: frozenset[int] = NONE
    ctrl: frozenset[int] = NONE
    partner: int | None = None
    barrier: Arrival | None = None
    issue: int | None = None
    done: frozenset[int] = NONE
    via: Proxy | None = None
    mbarrier: Spot | None = None
    operation: Operation | None = None
    covered: Spot | None = None
    closes: bool = False

    @property
    def late(self) -> bool:
        """Whether a copy does this out of program order."""
        return self.issue is not None

    @property
    def changes(self) -> bool:
        """Whether others, or this thread later, may notice that this happened."""
        if self.operation is not None:
            return self.operation.kind != "wait"
        return self.kind not in ("R", "F") or self.late

    @property
    def waits(self) -> bool:
        """Whether the thread goes on only after others have come."""
        item = self.item
        return (
            (isinstance(item, Barrier) and item.kind is not Bar.ARRIVE)
            or (isinstance(item, ClusterBarrier) and item.wait)
            or isinstance(item, WarpSync)
            or self.kind == "E"
            or (isinstance(item, GridDependency) and item.wait)
        )


@dataclass(frozen=True)
class Path:
    """What a thread did, and how that ends.

    `end` is `end`, `cut`, `failed`, `undefined` (and `why`), `stuck` at the barrier of its last step, `again` where it
    may repeat its steps from the one numbered `again` on for ever, `stopped` where it is not scheduled any more, or
    `waiting` for the threads of another CTA to end before it starts.
    """

    steps: tuple[Step, ...]
    end: str
    registers: tuple[tuple[str, int], ...] = ()
    why: str = ""
    again: int = 0

    @property
    def repeated(self) -> range:
        """The positions of the steps that the thread repeats for ever."""
        return range(self.again, len(self.steps)) if self.end == "again" else range(0)
