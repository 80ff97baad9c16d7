"""Expressions as `.lit` text, in the shortest form that reads back as the same value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxmm.arith import COMPARISONS, LOGICAL, PRED, U32, U64, Type
from ptxmm.program import (
    Addr,
    Binary,
    Const,
    Expr,
    FinalMem,
    FinalReg,
    Program,
    Reg,
    Select,
    Unary,
)
from ptxmm.syntax.lit_tree import FLAT, PRECEDENCE
from ptxmm.syntax.lit_values import ONE, TWO, plain

CALLS = {op: name for name, op in TWO.items()}
SINGLE = {op: name for name, op in ONE.items()}
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
                return offset_by(f"&{name}", offset, U64)
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


def offset_by(name: str, offset: int, type_: Type) -> Text:
    """A name and a number of bytes after or before it."""
    if not offset:
        return Text(name, type_)
    return Text(f"{name} {'-' if offset < 0 else '+'} {abs(offset)}", type_, PRECEDENCE["+"])


def _plus(name: str, offset: int) -> str:
    return f"{name}{offset:+}" if offset else name


def place(program: Program, leaf: FinalMem) -> str:
    """Final memory as a condition names it: `x`, `a[1]`, or `.u16 [x + 2]`."""
    declared = program.physical(leaf.name)
    if leaf.type != declared.type or leaf.offset % declared.type.size:
        return f".{leaf.type} [{offset_by(leaf.name, leaf.offset, U64).text}]"
    if leaf.offset or declared.length > 1:
        return f"{leaf.name}[{leaf.offset // declared.type.size}]"
    return leaf.name
