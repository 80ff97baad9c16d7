"""Statements and first values as `.lit` text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ptxmm import isa_text_async
from ptxmm.arith import PRED, U32, U64, Type
from ptxmm.isa_text import mnemonic
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    AsyncCopy,
    Asynchronous,
    AsyncStore,
    Atomic,
    Barrier,
    Branch,
    ClusterBarrier,
    Const,
    Elect,
    Exit,
    Expr,
    Fence,
    Label,
    Load,
    Nop,
    Object,
    Program,
    Proxy,
    ProxyFence,
    Reg,
    Space,
    Statement,
    Store,
    TensormapCopy,
    Thread,
    Unary,
    WarpSync,
)
from ptxmm.syntax.lit_values import FLOAT_BITS, floating
from ptxmm.syntax.print_expr import Printer, offset_by

SLEEP = re.compile(r"nanosleep\.u32 \d{1,9}")
VIEW_LOADS = {Proxy.TEXTURE: "tld", Proxy.SURFACE: "suld", Proxy.CONSTANT: "ldc"}


@dataclass(frozen=True, slots=True)
class Lines:
    """Prints the statements of one thread."""

    program: Program
    thread: Thread
    types: Mapping[str, Type]
    exact: bool = False

    def printer(self) -> Printer:
        """A printer that knows the registers of this thread."""
        return Printer(self.program, self._type, exact=self.exact)

    def _type(self, expr: Expr) -> Type | None:
        return self.types.get(expr.name) if isinstance(expr, Reg) else None

    def line(self, statement: Statement) -> str:
        """One statement."""
        match statement:
            case Label(name=name):
                return f"{name}:"
            case Assume(cond=cond):
                return f"assume ({self.printer().predicate(cond)});"
            case Assign():
                body = self._assign(statement)
            case Branch(target=target):
                body = f"bra {target}"
            case Exit():
                body = "exit"
            case Nop(text=text):
                body = text if SLEEP.fullmatch(text) else "nanosleep.u32 0"
            case _:
                words = [self._mnemonic(statement), ", ".join(self._operands(statement))]
                body = " ".join(word for word in words if word)
        return f"{self._guard(statement.guard)}{body};"

    def _guard(self, guard: Expr | None) -> str:
        match guard:
            case None:
                return ""
            case Reg(name) if self.types.get(name) == PRED:
                return f"@{name} "
            case Unary("!", Reg(name), kind) if kind == PRED and self.types.get(name) == PRED:
                return f"@!{name} "
        return f"@({self.printer().predicate(guard)}) "

    def _assign(self, statement: Assign) -> str:
        target = self.types[statement.dst]
        value = self.printer().expr(statement.value, target.floating)
        if value.type is not None and value.type != PRED and value.type.bits != target.bits:
            return f"cvt.u{target.bits}.u{value.type.bits} {statement.dst}, {value.text}"
        return f"{statement.dst} = {value.text}"

    def _mnemonic(self, statement: Statement) -> str:
        match statement:
            case Load(proxy=proxy, type=type_) if proxy is not Proxy.GENERIC:
                return f"{VIEW_LOADS[proxy]}.weak.{type_}"
            case Store(proxy=proxy, type=type_) if proxy is not Proxy.GENERIC:
                return f"sust.weak.{type_}"
            case ProxyFence(kind="texture" | "surface" | "constant" as kind):
                return f"fence.proxy.{kind}"
            case AsyncCopy(map=None):
                return mnemonic(replace(statement, spaces=self._spaces(statement)))
            case AsyncCopy(destination=into, spaces=spaces) if into is not None:
                told = spaces or ("shared::cta", "global")
                return mnemonic(replace(statement, spaces=(self._window(into, told[0]), told[1])))
        return mnemonic(statement, self._space(statement))

    def _space(self, statement: Statement) -> str:
        if isinstance(statement, AsyncCopy | AsyncStore | TensormapCopy | ProxyFence):
            return ""
        address = getattr(statement, "address", None)
        if not isinstance(address, Addr):
            return "shared::cluster" if self._short(address) and not isinstance(statement, Asynchronous) else ""
        if isinstance(statement, Asynchronous):
            return self._window(address, "shared::cta")
        held = self.program.physical(address.name)
        return held.space.value if self._own(held) or held.space is not Space.SHARED else "shared::cluster"

    def _short(self, address: Expr | None) -> bool:
        """Whether an address has 32 bits, as shared memory alone has."""
        type_ = self.printer().expr(address).type if address is not None else None
        return type_ is not None and type_.bits == U32.bits

    def _own(self, held: Object) -> bool:
        place = self.thread.place
        return held.owner is None or (held.owner.device, held.owner.cta) == (place.device, place.cta)

    def _window(self, address: Expr | None, known: str) -> str:
        """The space to write for an address, where it names an object: the own CTA's, or the cluster's."""
        if not isinstance(address, Addr):
            return known
        held = self.program.physical(address.name)
        if held.space is not Space.SHARED:
            return held.space.value
        return "shared::cluster" if not self._own(held) else known

    def _spaces(self, copy: AsyncCopy) -> tuple[str, str]:
        """The spaces of a copy: those that are written, else those of the objects."""
        if copy.spaces is not None:
            return self._window(copy.destination, copy.spaces[0]), copy.spaces[1]
        if not isinstance(copy.destination, Addr) or not isinstance(copy.source, Addr):
            raise ValueError("a copy between addresses in registers does not say which spaces they are of")
        source = self._window(copy.source, "shared::cta")
        into = "shared::cluster" if copy.multicast is not None or source != "global" else "shared::cta"
        return self._window(copy.destination, into), source

    def _operands(self, statement: Statement) -> tuple[str, ...]:
        match statement:
            case Load(dst=dst, address=address):
                return (_results(dst), self.printer().memory(address))
            case Store(values=values, address=address, type=type_):
                return (self.printer().memory(address), self._values(values, type_))
            case Atomic(op="cas", dst=dst, address=address, operands=(compare, swap), type=type_):
                both = (self._value(compare, type_), self._value(swap, type_))
                return (_results(dst), self.printer().memory(address), *both)
            case Atomic(dst=dst, address=address, operands=operands, type=type_):
                first = () if statement.reduction else (_results(dst),)
                return (*first, self.printer().memory(address), self._values(operands, type_))
            case Barrier():
                return self._barrier(statement)
            case WarpSync(mask=mask):
                return (self._value(mask, U32),) if mask is not None else ()
            case ProxyFence(address=address) if address is not None:
                return (self.printer().memory(address), isa_text_async.MAP)
            case Fence() | ProxyFence() | ClusterBarrier():
                return ()
            case Elect(dst=dst, pred=pred, mask=None):
                return (f"{dst or '_'}|{pred or '_'}",)
        if isinstance(statement, Asynchronous):
            return tuple(isa_text_async.operands(statement, self.printer().memory, self._value, "_"))
        raise ValueError(f"{type(statement).__name__} cannot be written")

    def _barrier(self, statement: Barrier) -> tuple[str, ...]:
        named = self.program.conventions.named_instances
        instance = (statement.instance or "_",) if named else ()
        result = (statement.dst or "_",) if statement.pred is not None else ()
        unnamed = named and statement.id == Const(-1)
        number = "_" if unnamed else self._value(statement.id, U32)
        rest = (self._value(e, U32) for e in (statement.count, statement.pred) if e is not None)
        return (*instance, *result, number, *rest)

    def _value(self, value: Expr, type_: Type) -> str:
        if isinstance(value, Const) and type_.floating and type_.lanes == 1 and type_.bits in FLOAT_BITS:
            return floating(value.value, type_)
        return self.printer().expr(value, type_.floating).text

    def _values(self, values: tuple[Expr, ...], type_: Type) -> str:
        texts = [self._value(value, type_) for value in values]
        return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def _results(names: tuple[str | None, ...]) -> str:
    texts = [name or "_" for name in names]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def first_value(value: Const | Addr, type_: Type) -> str:
    """A first value in a declaration."""
    match value:
        case Addr(name, offset):
            return offset_by(f"&{name}", offset, U64).text
        case Const(number):
            return hex(number) if type_.floating else str(number)


def array(declared: Object) -> str:
    """The first values of an object, the zeros at the end left out."""
    zero = Const(0)
    if all(value == zero for value in declared.init):
        return " = 0" if declared.length == 1 else ""
    if declared.length == 1:
        return f" = {first_value(declared.init[0], declared.type)}"
    last = max(i for i, value in enumerate(declared.init) if value != zero)
    values = (first_value(value, declared.type) for value in declared.init[: last + 1])
    return f" = {{{', '.join(values)}}}"
