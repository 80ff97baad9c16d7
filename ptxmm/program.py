"""A litmus test as frozen values: memory, threads in places, instructions, the question and the stated verdicts.

Everything that the readers of `ptxmm.syntax` produce and that both engines consume is defined here, in `ptxmm.terms`,
`ptxmm.instructions`, `ptxmm.asynchronous` and `ptxmm.declarations`. Control flow is flat: structured statements are
lowered to labels and branches by the readers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ptxmm.arith import Type
from ptxmm.asynchronous import (
    AsyncCopy,
    AsyncStore,
    Commit,
    CopyArrive,
    Elect,
    Foreign,
    GridDependency,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    TensormapCopy,
    TensormapReplace,
    WaitGroup,
)
from ptxmm.declarations import (
    OWN_CONVENTIONS,
    UNRESTRICTED,
    Condition,
    Conventions,
    Expect,
    Hardware,
    Object,
    Quantifier,
    TensorMap,
    View,
    Word,
)
from ptxmm.errors import Span
from ptxmm.instructions import (
    Assign,
    Assume,
    Atomic,
    Bar,
    Barrier,
    Branch,
    ClusterBarrier,
    Exit,
    Fence,
    Instruction,
    Label,
    Load,
    Nop,
    ProxyFence,
    Store,
    WarpSync,
    read_by,
)
from ptxmm.terms import (
    NOWHERE,
    Addr,
    Binary,
    Const,
    Expr,
    FinalMem,
    FinalReg,
    Order,
    Place,
    Proxy,
    Reg,
    Scope,
    Select,
    Space,
    Unary,
    children,
    leaves,
    named,
    registers,
)

__all__ = [
    "NOWHERE", "PAGE", "Addr", "Assign", "Assume", "AsyncCopy", "AsyncStore", "Asynchronous", "Atomic", "Bar",
    "Barrier", "Binary", "Branch", "ClusterBarrier", "Commit", "Condition", "Const", "Conventions", "CopyArrive",
    "Elect", "Exit", "Expect", "Expr", "Fence", "FinalMem", "FinalReg", "Foreign", "GridDependency", "Hardware",
    "Instruction", "Label", "Load", "MbarrierArrive", "MbarrierInit", "MbarrierInval", "MbarrierPending", "MbarrierTx",
    "MbarrierWait", "Nop", "Object", "Order", "Place", "Program", "Proxy", "ProxyFence", "Quantifier", "Reg", "Scope",
    "Select", "Space", "Statement", "Store", "TensorMap", "TensormapCopy", "TensormapReplace", "Thread", "Unary",
    "View", "WaitGroup", "WarpSync", "Word", "children", "leaves", "named", "read_by", "registers",
]  # fmt: skip

PAGE = 1 << 16

Asynchronous = (
    MbarrierInit | MbarrierInval | MbarrierTx | MbarrierArrive | MbarrierWait | MbarrierPending | CopyArrive
    | AsyncCopy | AsyncStore | Commit | WaitGroup | TensormapReplace | TensormapCopy | Elect | GridDependency | Foreign
)  # fmt: skip
Statement = (
    Load | Store | Atomic | Fence | ProxyFence | Barrier | ClusterBarrier | WarpSync
    | Assign | Assume | Label | Branch | Exit | Nop | Asynchronous
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread's name, place and code. `types` has each register's type, `init` the values not zero at the start.

    `hidden` are registers that the reader made (the predicate of an `await`): they are shown to nobody.
    """

    name: str
    place: Place
    body: tuple[Statement, ...]
    types: dict[str, Type] = field(default_factory=dict, hash=False)
    init: dict[str, Const | Addr] = field(default_factory=dict, hash=False)
    after: str | None = None
    at: Span = field(default=NOWHERE, compare=False)
    hidden: frozenset[str] = field(default=frozenset(), compare=False)


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
    conventions: Conventions = OWN_CONVENTIONS
    hardware: Hardware = UNRESTRICTED
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

    @cached_property
    def everything(self) -> tuple[FinalReg | FinalMem, ...]:
        """What a final state consists of where the test names nothing of it: all registers and all memory.

        Left out are bits that PTX leaves opaque (mbarriers, the states that arrivals return, tensor maps), and
        registers that the test does not write of itself.
        """
        opaque = {item.name for item in self.objects if item.mbarrier is not None or item.tensormap is not None}
        found: list[FinalReg | FinalMem] = []
        for thread in self.threads:
            unseen = set(thread.hidden)
            for statement in thread.body:
                if isinstance(statement, MbarrierArrive) and statement.dst is not None:
                    unseen.add(statement.dst)
                if isinstance(statement, MbarrierInit):
                    opaque |= {self.physical(name).name for name in named(statement.address)}
            found += [FinalReg(thread.name, name) for name in thread.types if name not in unseen]
        for item in self.objects:
            if item.name not in opaque:
                found += [FinalMem(item.name, n * item.type.size, item.type) for n in range(item.length)]
        return tuple(found)
