"""Words and expressions of litmus tests: scopes, orders, state spaces, proxies, places, and what registers hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ptxmm.arith import U32, Type
from ptxmm.errors import Span

NOWHERE = Span("", 0, 0)


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
    ASYNC = "async"
    TENSORMAP = "tensormap"


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


def named(expr: Expr) -> list[str]:
    """The objects whose addresses stand in an expression, left to right.

    >>> from ptxmm.arith import U64
    >>> named(Binary("+", Addr("x"), Reg("r"), U64))
    ['x']
    """
    return [leaf.name for leaf in leaves(expr) if isinstance(leaf, Addr)]
