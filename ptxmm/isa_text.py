"""A statement written back as one line of PTX with register operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxmm import isa_text_async
from ptxmm.errors import Unsupported
from ptxmm.program import (
    Addr,
    Asynchronous,
    Atomic,
    Bar,
    Barrier,
    Binary,
    ClusterBarrier,
    Const,
    Expr,
    Fence,
    Load,
    Nop,
    Order,
    Proxy,
    ProxyFence,
    Reg,
    Scope,
    Statement,
    Store,
    Unary,
    WarpSync,
)

ALL_LANES = "0xffffffff"
HALVES = ("f16", "bf16", "f16x2", "bf16x2")

Naming = Callable[[str], str]


def ptx(statement: Statement, *, space: str = "", sink: str = "_", register: Naming = str, symbol: Naming = str) -> str:
    """The instruction as an assembler reads it, without the semicolon; nothing for a hint.

    `space` is the state space to name (`shared::cluster`), none for a generic address. `sink` is the register for
    results that are not wanted, where PTX has no `_`. `register` and `symbol` rename registers and declared objects.

    >>> from ptxmm.arith import U32
    >>> from ptxmm.program import Addr, Load, Order, Scope
    >>> ptx(Load(dst=("r0",), address=Addr("x", 4), type=U32, order=Order.ACQUIRE, scope=Scope.GPU))
    'ld.acquire.gpu.u32 r0, [x+4]'
    """
    if isinstance(statement, Nop):
        return ""
    writer = _Writer(register, symbol)
    operands = ", ".join(_operands(statement, writer, sink))
    return writer.guard(statement.guard) + mnemonic(statement, space) + (f" {operands}" if operands else "")


def mnemonic(statement: Statement, space: str = "") -> str:
    """The opcode and qualifiers of an instruction.

    >>> from ptxmm.program import Fence, Order, Scope
    >>> mnemonic(Fence(order=Order.SC, scope=Scope.SYS))
    'fence.sc.sys'
    """
    return ".".join(word for word in _words(statement, space) if word)


def _words(statement: Statement, space: str) -> tuple[str, ...]:
    if isinstance(statement, Asynchronous):
        return isa_text_async.words(statement, space)
    if isinstance(statement, Fence | ProxyFence):
        return _fence_words(statement)
    match statement:
        case Load(proxy=Proxy.GENERIC, readonly=True, type=type_):
            return ("ld.global.nc", _vector(statement.dst), str(type_))
        case Load(proxy=Proxy.GENERIC, type=type_):
            return ("ld", *_strength(statement), space, _vector(statement.dst), str(type_))
        case Store(proxy=Proxy.GENERIC, type=type_):
            return ("st", *_strength(statement), space, _vector(statement.values), str(type_))
        case Atomic(op=op, type=type_, reduction=reduction, order=order, scope=scope, dst=dst):
            noftz = "noftz" if str(type_) in HALVES else ""
            return ("red" if reduction else "atom", order, scope, space, op, noftz, _vector(dst), str(type_))
        case Barrier(kind=kind, op=op, aligned=aligned):
            result = "" if kind is not Bar.RED else "u32" if op == "popc" else "pred"
            return ("barrier.cta", kind.value, op or "", "aligned" if aligned else "", result)
        case ClusterBarrier(wait=wait, order=order, aligned=aligned):
            return ("barrier.cluster", "wait" if wait else "arrive", order, "aligned" if aligned else "")
        case WarpSync():
            return ("bar.warp.sync",)
        case Load(proxy=proxy) | Store(proxy=proxy):
            raise Unsupported(f"PTX has no instruction for an access through the {proxy} proxy as the model has it")
    raise Unsupported(f"`{type(statement).__name__}` is no memory or synchronisation instruction")


def _fence_words(statement: Fence | ProxyFence) -> tuple[str, ...]:
    match statement:
        case Fence(order=order, scope=scope, window="mbarrier_init"):
            return ("fence.mbarrier_init", order, scope)
        case Fence(order=order, scope=scope, window=window):
            return ("fence", order, f"sync_restrict::{window}" if window else "", scope)
        case ProxyFence(kind="alias" | "async" as kind, order=None, space=limit):
            return ("fence.proxy", kind, limit or "")
        case ProxyFence(kind="alias", order=Order() as order, scope=Scope() as scope):
            return ("fence.proxy.alias", order, scope)
        case ProxyFence(kind="async" | "tensormap" as kind, order=Order() as order, window=window):
            covered = f"sync_restrict::{window}" if window else ""
            return ("fence.proxy", f"{kind}::generic", order, covered, statement.scope or "")
    raise Unsupported(f"PTX has no `fence.proxy.{statement.kind}`")


def _strength(access: Load | Store) -> tuple[str, str]:
    return (access.order if access.order is not Order.WEAK else "weak", access.scope or "")


def _vector(elements: tuple[object, ...]) -> str:
    return f"v{len(elements)}" if len(elements) > 1 else ""


def _operands(statement: Statement, writer: _Writer, sink: str) -> tuple[str, ...]:
    match statement:
        case Load(dst=dst, address=address):
            return (writer.results(dst, sink), writer.memory(address))
        case Store(values=values, address=address):
            return (writer.memory(address), writer.values(values))
        case Atomic(op="cas", dst=dst, address=address, operands=(compare, swap)):
            return (writer.results(dst, sink), writer.memory(address), writer.value(compare), writer.value(swap))
        case Atomic(reduction=True, address=address, operands=operands):
            return (writer.memory(address), writer.values(operands))
        case Atomic(dst=dst, address=address, operands=operands):
            return (writer.results(dst, sink), writer.memory(address), writer.values(operands))
        case Barrier(id=identity, count=count, pred=pred, dst=dst):
            first = () if pred is None else (writer.results((dst,), sink),)
            return (*first, writer.value(identity), *(writer.value(e) for e in (count, pred) if e is not None))
        case WarpSync(mask=mask):
            return (writer.value(mask) if mask is not None else ALL_LANES,)
        case ProxyFence(address=address) if address is not None:
            return (writer.memory(address), isa_text_async.MAP)
    if isinstance(statement, Asynchronous):
        return tuple(isa_text_async.operands(statement, writer.memory, lambda e, _: writer.value(e), sink))
    return ()


@dataclass(frozen=True, slots=True)
class _Writer:
    """Operands as text, with registers and objects renamed."""

    register: Naming
    symbol: Naming

    def guard(self, guard: Expr | None) -> str:
        """`@p` or `@!p`."""
        return f"@{self.value(guard)} " if guard is not None else ""

    def memory(self, address: Expr) -> str:
        """An address in brackets: a register or a name, and a constant offset."""
        match address:
            case Addr(name, offset):
                return f"[{self.symbol(name)}+{offset}]" if offset else f"[{self.symbol(name)}]"
            case Binary("+", Reg() | Addr() as base, Const(offset)):
                return self.memory(base)[:-1] + f"+{offset}]"
        return f"[{self.value(address)}]"

    def value(self, value: Expr) -> str:
        """A register, a number or a negated predicate."""
        match value:
            case Reg(name):
                return self.register(name)
            case Const(number):
                return str(number)
            case Addr(name, 0):
                return self.symbol(name)
            case Unary("!", Reg(name)):
                return "!" + self.register(name)
        raise Unsupported("an operand of a PTX instruction is a register or a number: compute it before")

    def values(self, values: tuple[Expr, ...]) -> str:
        """One value, or several in braces."""
        return _braced([self.value(value) for value in values])

    def results(self, names: tuple[str | None, ...], sink: str) -> str:
        """One destination, or several in braces."""
        return _braced([self.register(name) if name is not None else sink for name in names])


def _braced(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else "{" + ", ".join(parts) + "}"
