"""Expressions and statements as `.lit` text, in the shortest form that reads back as the same value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ptxmm.arith import COMPARISONS, LOGICAL, PRED, U32, U64, Type
from ptxmm.isa_text import mnemonic
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    Atomic,
    Barrier,
    Binary,
    Branch,
    ClusterBarrier,
    Const,
    Exit,
    Expr,
    Fence,
    FinalMem,
    FinalReg,
    Label,
    Load,
    Nop,
    Object,
    Program,
    Proxy,
    ProxyFence,
    Reg,
    Select,
    Space,
    Statement,
    Store,
    Thread,
    Unary,
    WarpSync,
)
from ptxmm.syntax.lit_tree import FLAT, PRECEDENCE
from ptxmm.syntax.lit_values import ONE, TWO, plain

CALLS = {op: name for name, op in TWO.items()}
SINGLE = {op: name for name, op in ONE.items()}
VIEW_LOADS = {Proxy.TEXTURE: "tld", Proxy.SURFACE: "suld", Proxy.CONSTANT: "ldc"}
ATOM = len(PRECEDENCE)


@dataclass(frozen=True, slots=True)
class Text:
    """An expression as text: `type` as a reader would infer it (None for a number), `level` its precedence."""

    text: str
    type: Type | None
    level: int = ATOM


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints expressions; `type_of` gives the type of a register, `final` is for conditions.

    `exact` writes every operator as a function with its type, which is how any expression can be said.
    """

    program: Program
    type_of: Callable[[Expr], Type | None]
    final: bool = False
    exact: bool = False

    def expr(self, expr: Expr, hexadecimal: bool = False) -> Text:
        """An expression; numbers in hexadecimal where decimal ones would be converted to a floating type."""
        match expr:
            case Const(value):
                return Text(hex(value) if hexadecimal else str(value), None, ATOM if value >= 0 else ATOM - 1)
            case Reg(name):
                return Text(name, self.type_of(expr))
            case FinalReg(thread, register):
                return Text(f"{thread}.{register}", self.type_of(expr))
            case FinalMem():
                return Text(place(self.program, expr), expr.type)
            case Addr(name, offset):
                return _offset(f"&{name}", offset, U64)
            case Binary() | Unary() | Select() if self.exact:
                return self._typed(expr)
            case Select(cond, then, other):
                return self._select(cond, then, other, hexadecimal)
            case Unary(op, arg, type_):
                return self._unary(op, self.expr(arg, type_.floating), arg, type_)
            case Binary(op, left, right, type_):
                return self._binary(op, left, right, type_)

    def predicate(self, expr: Expr) -> str:
        """A condition, inside parentheses."""
        return self.expr(expr).text

    def _select(self, cond: Expr, then: Expr, other: Expr, hexadecimal: bool) -> Text:
        a, b = self.expr(then, hexadecimal), self.expr(other, hexadecimal)
        known = a.type or b.type
        if known is not None and known.floating:
            a, b = self.expr(then, True), self.expr(other, True)
        parts = [self._held(self.expr(cond), 0), self._held(a, 0), self._held(b, 0)]
        return Text("{} ? {} : {}".format(*parts), None if known is None else self.common(a.type, b.type), -1)

    def _unary(self, op: str, arg: Text, expr: Expr, type_: Type) -> Text:
        number = isinstance(expr, Const)
        boolean = arg.type == PRED
        seen = PRED if boolean else plain(arg.type or U32)
        if op == "!" and not number and type_ == seen:
            return Text("!" + self._held(arg, ATOM - 1), PRED, ATOM - 1)
        if op in "-~" and not number and type_ == seen and not boolean:
            return Text(op + self._held(arg, ATOM), arg.type and seen, ATOM - 1)
        return Text(f"{SINGLE[op]}.{type_}({arg.text})", type_)

    def _binary(self, op: str, left: Expr, right: Expr, type_: Type) -> Text:
        shift = op in ("<<", ">>")
        a, b = self.expr(left, type_.floating), self.expr(right, type_.floating and not shift)
        compared = op in COMPARISONS or op in LOGICAL
        if op in PRECEDENCE and self._inferred(op, left, right, a, b) == type_:
            level = PRECEDENCE[op]
            one = self._chain(op, left, a, level)
            result = PRED if compared else type_ if a.type or b.type else None
            return Text(f"{one} {op} {self._held(b, level + 1)}", result, level)
        return Text(f"{CALLS[op]}.{type_}({a.text}, {b.text})", PRED if compared else type_)

    def _chain(self, op: str, left: Expr, text: Text, level: int) -> str:
        """The left operand: without parentheses, except where a chain would become long enough to be balanced."""
        length, node = 1, left
        while op in LOGICAL and isinstance(node, Binary) and node.op == op:
            length, node = length + 1, node.left
        broken = op in LOGICAL and length % (FLAT - 1) == 0 and length > 1
        return f"({text.text})" if broken else self._held(text, level)

    def _held(self, text: Text, level: int) -> str:
        return text.text if text.level >= level else f"({text.text})"

    def _inferred(self, op: str, left: Expr, right: Expr, a: Text, b: Text) -> Type | None:
        """The type at which a reader computes `left op right`, None where it computes something else."""
        if op in LOGICAL:
            return PRED if a.type == PRED and b.type == PRED else None
        if a.type is None and b.type is None and isinstance(left, Const) and isinstance(right, Const):
            return None
        if op in "+-" and isinstance(left, Addr) and isinstance(right, Const):
            return None
        if op == "+" and isinstance(right, Addr) and isinstance(left, Const):
            return None
        if op in ("<<", ">>"):
            wide = plain(a.type or U32)
            return (U32 if wide == PRED else wide) if b.type in (None, U32) or b.type is not None else None
        one, other = a.type, b.type
        if PRED in (one, other) and one != other:
            outer = other if one == PRED else one
            const = right if one == PRED else left
            zero_one = isinstance(const, Const) and const.value in (0, 1)
            one = other = outer or (PRED if zero_one else U32)
        type_ = self.common(one, other)
        if type_ == PRED and op not in COMPARISONS and op not in "&|^":
            return U32
        return type_

    def common(self, a: Type | None, b: Type | None) -> Type | None:
        """The common type of two operands as a reader infers it."""
        one, other = plain(a or b or U32), plain(b or a or U32)
        if one.bits != other.bits:
            narrow, wide = sorted((one, other), key=lambda t: t.bits)
            return wide if self.final and not narrow.signed and not (one.floating or other.floating) else None
        if one == other:
            return one
        if one.floating or other.floating or PRED in (one, other):
            return None
        return Type("u", one.bits)

    # --- addresses ----------------------------------------------------------------------------------------------------

    def memory(self, address: Expr) -> str:
        """An address in brackets."""
        match address:
            case Binary("+", Binary() as base, Const(offset), type_) if type_ == U64 and offset >= 0:
                if not (inner := self.memory(base)[1:-1]).endswith(")"):
                    return f"[{inner}+{offset}]"
            case Addr(name, offset):
                return f"[{_plus(name, offset)}]"
            case Binary("+", Addr(name, 0), Binary("*", Reg() as index, Const(size), t), u) if t == u == U64:
                kind = self.type_of(index)
                if self.program.physical(name).type.size == size > 1 and kind is not None and not kind.signed:
                    return f"[{name}[{index.name}]]"
            case Binary("+", Reg(name), Const(offset), t) if t == U64 and self.type_of(Reg(name)) == U64 and offset > 0:
                return f"[{name}+{offset}]"
        return f"[{self._typed(address).text}]"

    def _typed(self, expr: Expr) -> Text:
        """An expression with every type written."""
        match expr:
            case Binary(op, left, right, type_):
                boolean = op in COMPARISONS or op in LOGICAL
                text = f"{CALLS[op]}.{type_}({self._typed(left).text}, {self._typed(right).text})"
                return Text(text, PRED if boolean else type_)
            case Unary(op, arg, type_):
                return Text(f"{SINGLE[op]}.{type_}({self._typed(arg).text})", type_)
            case Select(cond, then, other):
                a, b = self._typed(then), self._typed(other)
                return Text(f"selp({a.text}, {b.text}, {self._typed(cond).text})", a.type or b.type)
            case Const(value):
                return Text(hex(value), None)
        return self.expr(expr)


def _offset(name: str, offset: int, type_: Type) -> Text:
    if not offset:
        return Text(name, type_)
    return Text(f"{name} {'-' if offset < 0 else '+'} {abs(offset)}", type_, PRECEDENCE["+"])


def _plus(name: str, offset: int) -> str:
    return f"{name}{offset:+}" if offset else name


def place(program: Program, leaf: FinalMem) -> str:
    """Final memory as a condition names it: `x`, `a[1]`, or `.u16 [x + 2]`."""
    declared = program.physical(leaf.name)
    if leaf.type != declared.type or leaf.offset % declared.type.size:
        return f".{leaf.type} [{_offset(leaf.name, leaf.offset, U64).text}]"
    if leaf.offset or declared.length > 1:
        return f"{leaf.name}[{leaf.offset // declared.type.size}]"
    return leaf.name


# --- statements -------------------------------------------------------------------------------------------------------


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
            case Nop():
                body = "nanosleep.u32 0"
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
            case ProxyFence(kind=kind):
                return f"fence.proxy.{kind}"
        return mnemonic(statement, self._space(statement))

    def _space(self, statement: Statement) -> str:
        if not isinstance(statement, Load | Store | Atomic) or not isinstance(statement.address, Addr):
            return ""
        held = self.program.physical(statement.address.name)
        own = held.owner is None or (held.owner.device, held.owner.cta) == (
            self.thread.place.device,
            self.thread.place.cta,
        )
        return held.space.value if own or held.space is not Space.SHARED else "shared::cluster"

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
            case Fence() | ProxyFence() | ClusterBarrier():
                return ()
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
            return _offset(f"&{name}", offset, U64).text
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
