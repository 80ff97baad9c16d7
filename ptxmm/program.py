"""A litmus test as frozen values: memory, threads in places, instructions, the question and the stated verdicts.

Everything that the readers of `ptxmm.syntax` produce and that both engines consume is defined here. Control flow is
flat: structured statements are lowered to labels and branches by the readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property

from ptxmm.arith import U32, Type
from ptxmm.errors import Span

NOWHERE = Span("", 0, 0)
PAGE = 1 << 16


class Scope(StrEnum):
    """The set of threads that a strong operation names (PTX ISA, "Scope"), narrowest first."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class Order(StrEnum):
    """The memory order that an instruction names."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"


class Space(StrEnum):
    """The state space in which an object is declared."""

    GLOBAL = "global"
    SHARED = "shared"
    CONST = "const"
    PARAM = "param"


class Proxy(StrEnum):
    """The path by which memory is accessed (PTX ISA, "Proxies")."""

    GENERIC = "generic"
    TEXTURE = "texture"
    SURFACE = "surface"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thread runs. CTA numbers are unique on a device; a thread without a lane stands for a whole warp."""

    device: int = 0
    cluster: int = 0
    cta: int = 0
    warp: int | None = None
    lane: int | None = None
    kernel: int = 0

    def __str__(self) -> str:
        kernel = f"k{self.kernel}." if self.kernel else ""
        warp = f".w{self.warp}" if self.warp is not None else ""
        lane = f".l{self.lane}" if self.lane is not None else ""
        return f"{kernel}d{self.device}.c{self.cluster}.b{self.cta}{warp}{lane}"


# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A number; where it is used decides its width, so it may be negative."""

    value: int


@dataclass(frozen=True, slots=True)
class Reg:
    """A register of the thread in whose code it stands."""

    name: str


@dataclass(frozen=True, slots=True)
class Addr:
    """The address of a declared object or view (its virtual address, see `Program.address`)."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Unary:
    """`op` is one of `arith.UNARY`; `type` is that of the operand."""

    op: str
    arg: Expr
    type: Type = U32


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is one of `arith.BINARY`; both operands and the result have `type` (0 or 1 for comparisons)."""

    op: str
    left: Expr
    right: Expr
    type: Type = U32


@dataclass(frozen=True, slots=True)
class Select:
    """`then` where `cond` is not zero, else `other` (PTX `selp`)."""

    cond: Expr
    then: Expr
    other: Expr


@dataclass(frozen=True, slots=True)
class FinalReg:
    """The value of a thread's register when the thread has ended. Conditions only."""

    thread: str
    reg: str


@dataclass(frozen=True, slots=True)
class FinalMem:
    """The final value of memory at a byte offset in a declared object, read at a type. Conditions only."""

    name: str
    offset: int
    type: Type


Expr = Const | Reg | Addr | Unary | Binary | Select | FinalReg | FinalMem


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct operands of an expression."""
    match expr:
        case Unary(_, arg, _):
            return (arg,)
        case Binary(_, left, right, _):
            return (left, right)
        case Select(cond, then, other):
            return (cond, then, other)
    return ()


def leaves(expr: Expr) -> Iterator[Expr]:
    """Every leaf of an expression, left to right."""
    below = children(expr)
    if not below:
        yield expr
    for child in below:
        yield from leaves(child)


def registers(expr: Expr | None) -> frozenset[str]:
    """The registers that an expression reads."""
    return frozenset(leaf.name for leaf in leaves(expr) if isinstance(leaf, Reg)) if expr is not None else frozenset()


# --- instructions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What every instruction has: its predicate, where it stands, and how it was written."""

    guard: Expr | None = None
    at: Span = field(default=NOWHERE, compare=False)
    text: str = field(default="", compare=False)


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

    `window` is set for the `sync_restrict` forms: `shared::cta` or `shared::cluster`.
    """

    order: Order
    scope: Scope
    window: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFence(Instruction):
    """`fence.proxy.KIND`: `alias`, `texture`, `surface` or `constant`."""

    kind: str


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


Statement = (
    Load | Store | Atomic | Fence | ProxyFence | Barrier | ClusterBarrier | WarpSync
    | Assign | Assume | Label | Branch | Exit | Nop
)  # fmt: skip


# --- memory and threads ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Object:
    """A declared object: `length` elements of `type`; `init` one value an element (an `Addr` for a pointer).

    `owner` is the CTA (a place without warp and lane) of shared memory.
    """

    name: str
    type: Type = U32
    length: int = 1
    init: tuple[Const | Addr, ...] = (Const(0),)
    space: Space = Space.GLOBAL
    owner: Place | None = None
    device: int | None = None
    at: Span = field(default=NOWHERE, compare=False)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.type.size * self.length


@dataclass(frozen=True, slots=True)
class View:
    """A second way to `target` (an object or a generic view).

    With the generic proxy it is a second virtual address (`.alias`); with another proxy, the target's own virtual
    address accessed by that proxy (`.texref`, `.surfref`, `.constref`).
    """

    name: str
    target: str
    proxy: Proxy = Proxy.GENERIC
    at: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread's name, place and code. `types` has each register's type, `init` the values not zero at the start."""

    name: str
    place: Place
    body: tuple[Statement, ...]
    types: dict[str, Type] = field(default_factory=dict, hash=False)
    init: dict[str, Const | Addr] = field(default_factory=dict, hash=False)
    after: str | None = None
    at: Span = field(default=NOWHERE, compare=False)


# --- the question ----------------------------------------------------------------------------------------------------


class Quantifier(StrEnum):
    """What is asked of the condition."""

    EXISTS = "exists"
    NOT_EXISTS = "~exists"
    FORALL = "forall"


@dataclass(frozen=True, slots=True)
class Condition:
    """A quantifier and a formula over final states."""

    quantifier: Quantifier
    formula: Expr


@dataclass(frozen=True, slots=True)
class Word:
    """One stated verdict: `allowed`, `race` with the objects it is on, `hang` with the progress model."""

    word: str
    on: tuple[str, ...] | None = None
    progress: str | None = None

    def __str__(self) -> str:
        on = f" on {', '.join(self.on)}" if self.on else ""
        return self.word + (f"[{self.progress}]" if self.progress else "") + on


@dataclass(frozen=True, slots=True)
class Expect:
    """Stated verdicts, under the default model where `models` is None."""

    words: tuple[Word, ...]
    models: tuple[str, ...] | None = None
    at: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Conventions:
    """Where a dialect means something else than our language does (see `docs/language.md`)."""

    failed_cas_writes: bool = False
    reductions_read: bool = False
    named_instances: bool = False
    branches_control_the_rest: bool = False


@dataclass(frozen=True, slots=True)
class Hardware:
    """Notes for a run on a GPU."""

    require: str | None = None
    preload: tuple[tuple[str, tuple[str, ...]], ...] = ()
    busy: tuple[tuple[str, int], ...] = ()
    skip: str | None = None


@dataclass(frozen=True)
class Program:
    """One litmus test: what memory there is, what each thread runs and where, what is asked and what is expected."""

    name: str
    objects: tuple[Object, ...]
    threads: tuple[Thread, ...]
    views: tuple[View, ...] = ()
    condition: Condition | None = None
    filter: Expr | None = None
    locations: tuple[FinalReg | FinalMem, ...] = ()
    expects: tuple[Expect, ...] = ()
    variant: str | None = None
    purpose: str = ""
    path: str = ""
    conventions: Conventions = Conventions()
    hardware: Hardware = Hardware()
    launches: tuple[tuple[int, str, int], ...] = ()

    @property
    def full_name(self) -> str:
        """`NAME[VARIANT]` for a row of `variants`."""
        return f"{self.name}[{self.variant}]" if self.variant is not None else self.name

    @cached_property
    def by_name(self) -> dict[str, Object | View]:
        """Objects and views by their declared names."""
        items: tuple[Object | View, ...] = (*self.objects, *self.views)
        return {item.name: item for item in items}

    def physical(self, name: str) -> Object:
        """The object behind a declared name: itself, or what a chain of views ends in."""
        item = self.by_name[name]
        return item if isinstance(item, Object) else self.physical(item.target)

    def virtual(self, name: str) -> str:
        """The object or generic alias whose virtual address a declared name has."""
        item = self.by_name[name]
        if isinstance(item, Object) or item.proxy is Proxy.GENERIC:
            return name
        return self.virtual(item.target)

    @cached_property
    def addresses(self) -> dict[str, int]:
        """A virtual address for each object and generic alias: disjoint, 64 KiB aligned, small."""
        names = [n for n in self.by_name if self.virtual(n) == n]
        found, base = {}, PAGE
        for name in names:
            found[name] = base
            base += -(-(self.physical(name).size + 1) // PAGE) * PAGE
        return found

    def address(self, leaf: Addr) -> int:
        """The number that `&name + offset` denotes."""
        return self.addresses[self.virtual(leaf.name)] + leaf.offset

    def thread(self, name: str) -> Thread:
        """The thread of that name; KeyError where there is none."""
        for thread in self.threads:
            if thread.name == name:
                return thread
        raise KeyError(name)
