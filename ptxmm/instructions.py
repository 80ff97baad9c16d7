"""The instructions of litmus tests that happen in program order: accesses, fences, barriers, arithmetic, branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum

from ptxmm.arith import Type
from ptxmm.errors import Span
from ptxmm.terms import NOWHERE, Expr, Order, Proxy, Scope, registers


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What every instruction has: its predicate, where it stands, and how it was written."""

    guard: Expr | None = None
    at: Span = field(default=NOWHERE, compare=False)
    text: str = field(default="", compare=False)


def operands(instruction: Instruction) -> Iterator[tuple[str, Expr]]:
    """The expressions of an instruction, each with the name of its field."""
    for each in fields(instruction):
        value = getattr(instruction, each.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Expr):
                yield each.name, one


def read_by(instruction: Instruction) -> frozenset[str]:
    """The registers that an instruction reads: in its predicate, its addresses and its values.

    >>> from ptxmm.arith import U32
    >>> from ptxmm.terms import Const, Reg
    >>> sorted(read_by(Store(values=(Reg("v"), Const(1)), address=Reg("a"), type=U32, guard=Reg("p"))))
    ['a', 'p', 'v']
    """
    return frozenset[str]().union(*(registers(part) for _, part in operands(instruction)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Instruction):
    """`ld`, and `tld suld ldc` through another proxy.

    One read of `type` for each of `dst` at consecutive addresses (several for vectors), results to registers, None for
    `_`. A packed type makes one read a lane. `address` evaluates to a virtual address; for a proxy other than generic
    its leaf is the `Addr` of the view.
    """

    dst: tuple[str | None, ...]
    address: Expr
    type: Type
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    readonly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Instruction):
    """`st` and `sust`: one write of `type` for each of `values` at consecutive addresses."""

    values: tuple[Expr, ...]
    address: Expr
    type: Type
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Atomic(Instruction):
    """`atom` and `red`: `op` is one of `arith.ATOMICS`, one read and, unless a `cas` fails, one write an element.

    `operands` holds the operands of one element after another (`cas` has two an element: compare, then swap); `dst`
    has one entry an element, all None for `red`. `reduction` says that it is a `red`, whose read acquires nothing.
    """

    op: str
    dst: tuple[str | None, ...]
    address: Expr
    operands: tuple[Expr, ...]
    type: Type
    order: Order = Order.RELAXED
    scope: Scope = Scope.GPU
    reduction: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence(Instruction):
    """`fence` and `membar`; `order` is ACQUIRE, RELEASE, ACQ_REL or SC.

    `window` is set for the `sync_restrict` forms, `shared::cta` or `shared::cluster`, and is `mbarrier_init` for
    `fence.mbarrier_init.release.cluster`, which covers only this thread's earlier `mbarrier.init`.
    """

    order: Order
    scope: Scope
    window: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFence(Instruction):
    """`fence.proxy.KIND`: `alias`, `texture`, `surface`, `constant`, `async` or `tensormap`.

    `space` is what `fence.proxy.async` is limited to: `global`, `shared::cta` or `shared::cluster`. The one-sided forms
    have an `order`, RELEASE or ACQUIRE, and a `scope`: of `async` with a `window` (`shared::cta`, `shared::cluster`,
    or `shared::cluster::read`), of `tensormap` with the `address` of 128 bytes where they acquire.
    """

    kind: str
    order: Order | None = None
    scope: Scope | None = None
    space: str | None = None
    window: str | None = None
    address: Expr | None = None


class Bar(Enum):
    """What a thread does at an execution barrier."""

    SYNC = "sync"
    ARRIVE = "arrive"
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier(Instruction):
    """`bar`/`barrier{.cta}`: `count` is in PTX threads (32 for a litmus thread without a lane), None for the CTA.

    For `red`, `op` is `popc`, `and` or `or`, `pred` the predicate and `dst` the result. `instance` names the dynamic
    instance in Dartagnan's dialect, and then `count` is in litmus threads.
    """

    kind: Bar
    id: Expr
    count: Expr | None = None
    op: str | None = None
    pred: Expr | None = None
    dst: str | None = None
    aligned: bool = True
    instance: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBarrier(Instruction):
    """`barrier.cluster.arrive` (`order` RELEASE or RELAXED) and `.wait` (ACQUIRE)."""

    wait: bool
    order: Order
    aligned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpSync(Instruction):
    """`bar.warp.sync mask`; without a mask, all threads of the warp in the test."""

    mask: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign(Instruction):
    """Arithmetic on registers: `dst = value`, cut to the register's width."""

    dst: str
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Assume(Instruction):
    """Executions in which `cond` is zero here do not count."""

    cond: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Label(Instruction):
    """A place to branch to."""

    name: str


def labels(body: Sequence[Instruction]) -> dict[str, int]:
    """Where the labels of a thread's code stand."""
    return {each.name: place for place, each in enumerate(body) if isinstance(each, Label)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Instruction):
    """`bra`, taken where the guard is not zero (always, without one)."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit(Instruction):
    """The thread ends here, where the guard is not zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nop(Instruction):
    """An instruction without effect on the model (`nanosleep`, `prefetch`)."""
