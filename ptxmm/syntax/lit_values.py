"""Values while a `.lit` test is read: numbers without a type yet, types of registers, and how one becomes another."""

from __future__ import annotations

from typing import NamedTuple

from ptxmm.arith import PRED, Type, from_float
from ptxmm.isa_form import type_of
from ptxmm.isa_operands import fits, span_of
from ptxmm.program import Binary, Const, Expr
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node

WIDEST = 128
WORDS = "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64 f16x2 bf16x2"
TYPES = {word: type_of(word) for word in WORDS.split()}
TWO = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr": ">>", "min": "min", "max": "max", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "land": "&&", "lor": "||",
}  # fmt: skip
ONE = {"neg": "-", "not": "~", "lnot": "!", "popc": "popc", "abs": "abs", "lane": "lane"}
FLOAT_BITS = {32: "0f", 64: "0d"}
EXACT = {"+", "-", "*", "&", "|", "^", "<<", ">>"}
WHOLE = {"/", "%", "&", "|", "^", "<<", ">>", "~", "popc"}
"""Operators of integers alone; PTX divides floating numbers too, and ptxmm does not."""


class Value(NamedTuple):
    """A value: `type` None for a number, which takes the type of what it meets; `decimal` for one in decimal digits.

    `fraction` is set for a number with a decimal point, whose bits only its type decides. Comparisons have type PRED.
    """

    expr: Expr
    type: Type | None
    decimal: bool = False
    fraction: float | None = None


def number(source: Source, node: Node) -> Value:
    """A number as it is written.

    `0x10`, `0b1`, `7u`, and `0f3F800000`, `0d…` for the bits of a floating number.
    """
    text = node.text.lower().rstrip("ul") if node.text[:2].lower() not in ("0f", "0d") else node.text.lower()
    if text[:2] in ("0f", "0d") and len(text) in (10, 18):
        return Value(Const(int(text[2:], 16)), Type("f", 32 if text[1] == "f" else 64))
    if len(text) > 64:
        raise source.error(f"this number has more than {WIDEST} bits", node.start, node.end)
    if text[:2] in ("0x", "0b"):
        return Value(_wide(source, node, int(text, 0)), None)
    if not text.isdigit():
        return Value(Const(0), None, True, float(text))
    if len(text) > 1 and text[0] == "0":
        bare = text.lstrip("0") or "0"
        raise source.error(
            f"`{node.text}` could be octal", node.start, node.end, f"write `{bare}`, or `0x` and hex digits"
        )
    return Value(_wide(source, node, int(text)), None, True)


def _wide(source: Source, node: Node, value: int) -> Const:
    if value.bit_length() > WIDEST:
        raise source.error(f"this number has more than {WIDEST} bits", node.start, node.end)
    return Const(value)


def settle(source: Source, value: Value, type_: Type, node: Node) -> Expr:
    """The value at a type: a number must be one of the type."""
    if value.type is not None:
        return value.expr
    if value.fraction is not None:
        if not type_.floating or type_.lanes > 1:
            raise source.error(
                f"{node.text} is no `.{type_}`", node.start, node.end, "a fraction needs a floating type"
            )
        return Const(from_float(value.fraction, type_))
    if isinstance(value.expr, Const):
        if type_.floating and type_.lanes == 1 and value.decimal:
            return Const(from_float(float(value.expr.value), type_))
        if not fits(value.expr.value, type_):
            message = f"{value.expr.value} is no `.{type_}`"
            raise source.error(message, node.start, node.end, f"a `.{type_}` is {span_of(type_)}")
    return value.expr


def no_integer(source: Source, value: Value, type_: Type, node: Node) -> None:
    """Insist that a number in an instruction of a floating type has a point, or is written by its bits, as in PTX."""
    integer = value.type is None and value.fraction is None and isinstance(value.expr, Const)
    if not (integer and type_.floating and type_.lanes == 1 and type_.bits in FLOAT_BITS):
        return
    number = value.expr.value if isinstance(value.expr, Const) else 0
    bits = floating(from_float(float(number), type_) if value.decimal else number, type_)
    shown = f"`{number}.0` or `{bits}`" if value.decimal else f"`{bits}`"
    message = f"`{source.text[node.start : node.end]}` is an integer, and this instruction is of type `.{type_}`"
    raise source.error(message, node.start, node.end, f"write {shown}")


def whole(source: Source, node: Node, op: str, type_: Type) -> None:
    """Insist that what an operator of integers is applied to is one."""
    if op in WHOLE and type_.floating:
        hint = f"of `.{type_}` there are `+`, `-`, `*`, `min`, `max`, `abs` and comparisons"
        raise source.error(f"`{op}` is of integers, and this is `.{type_}`", node.start, node.end, hint)


def floating(bits: int, type_: Type) -> str:
    """A floating number by its bits, as PTX writes it.

    >>> floating(0x3F800000, Type("f", 32))
    '0f3F800000'
    """
    return f"{FLOAT_BITS[type_.bits]}{bits & (1 << type_.bits) - 1:0{type_.bits // 4}X}"


def plain(type_: Type) -> Type:
    """The type at which a register of `type_` is computed with: bits count as unsigned."""
    return Type("u", type_.bits) if type_.kind == "b" else type_


def extended(expr: Expr, source: Type, target: Type) -> Expr:
    """A value of a narrow type at a wider one: copies of the sign in front where it is signed, else zeros."""
    if not source.signed or source.bits >= target.bits:
        return expr
    sign = Const(1 << source.bits - 1)
    return Binary("-", Binary("^", expr, sign, target), sign, target)


def narrowed(expr: Expr, type_: Type, bits: int) -> Expr:
    """The low `bits` of a value of `type_`."""
    return expr if bits >= type_.bits else Binary("&", expr, Const((1 << bits) - 1), plain(type_))


def bits_of(type_: Type) -> str:
    """`32 bits`."""
    return f"{type_.bits} bit{'s' * (type_.bits > 1)}" if type_ != PRED else "1 bit (a predicate)"
