"""Register arithmetic: the instructions that compute and touch no memory, as expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import InputError, near
from ptxmm.program import Binary, Expr, Select, Unary
from ptxmm.syntax.lit_reader import Reader
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node, Step
from ptxmm.syntax.lit_values import TYPES, Value, bits_of, extended, narrowed, no_integer, plain, settle

INTEGERS = frozenset(["u16", "s16", "u32", "s32", "u64", "s64"])
SIGNED = frozenset(["s16", "s32", "s64"])
BITS = frozenset(["pred", "b16", "b32", "b64"])
FLOATS = frozenset(["f16", "f32", "f64", "bf16"])
MOVES = frozenset(["pred", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"])
COMPARE = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
COMBINE = {"and": "&&", "or": "||"}
SHIFTS = ("shl", "shr")
FLUSH = "ftz"
HINTS = ("rn",)
WINDOWS = ("shared::cta", "shared::cluster")


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction: how many operands it reads, which types it has, which qualifiers may stand before the type."""

    sources: int
    types: frozenset[str]
    qualifiers: frozenset[str] = frozenset()
    required: bool = False


ROWS: dict[str, Row] = {
    "mov": Row(1, MOVES),
    "add": Row(2, INTEGERS | FLOATS, frozenset(HINTS)),
    "sub": Row(2, INTEGERS | FLOATS, frozenset(HINTS)),
    "mul": Row(2, INTEGERS | FLOATS, frozenset(("lo", "wide", *HINTS))),
    "mad": Row(3, INTEGERS, frozenset(("lo", "wide")), required=True),
    "div": Row(2, INTEGERS),
    "rem": Row(2, INTEGERS),
    "min": Row(2, INTEGERS | FLOATS),
    "max": Row(2, INTEGERS | FLOATS),
    "abs": Row(1, SIGNED | FLOATS),
    "neg": Row(1, SIGNED | FLOATS),
    "and": Row(2, BITS),
    "or": Row(2, BITS),
    "xor": Row(2, BITS),
    "not": Row(1, BITS),
    "shl": Row(2, BITS - {"pred"}),
    "shr": Row(2, INTEGERS | BITS - {"pred"}),
    "popc": Row(1, frozenset(("b32", "b64"))),
    "selp": Row(3, MOVES - {"pred"}),
    "setp": Row(2, (MOVES | FLOATS) - {"pred", "b128"}),
    "cvt": Row(1, INTEGERS | {"u8", "s8"}),
    "cvta": Row(
        1, frozenset(("u64",)), frozenset(["to", "global", "shared", "const", "shared::cta", "shared::cluster"])
    ),
}
SIGNS = {
    "mul": "*",
    "add": "+",
    "sub": "-",
    "div": "/",
    "rem": "%",
    "min": "min",
    "max": "max",
    "and": "&",
    "or": "|",
    "xor": "^",
}
UNARY = {"abs": "abs", "neg": "-", "popc": "popc"}


@dataclass(frozen=True, slots=True)
class Shape:
    """A mnemonic in parts: `type` of its operands, `result` of what it gives; `words` are its other qualifiers."""

    op: str
    type: Type
    result: Type
    words: tuple[str, ...]


def known(mnemonic: str) -> bool:
    """Whether a mnemonic is one of register arithmetic.

    >>> known("add.u32"), known("ld.u32")
    (True, False)
    """
    return mnemonic.partition(".")[0] in ROWS


def shape(source: Source, step: Step) -> Shape:
    """The parts of a mnemonic, checked."""
    op, *words = step.text.split(".")
    row = ROWS[op]
    if not words or words[-1] not in TYPES:
        better = f"{step.text}.{'pred' if row.types == {'pred'} else 'b32' if 'u32' not in row.types else 'u32'}"
        raise _error(source, step, f"`{step.text}` names no type", f"write `{better}`")
    type_ = TYPES[words.pop()]
    if FLUSH in words and type_.floating:
        better = ".".join(word for word in step.text.split(".") if word != FLUSH)
        message = "`.ftz` flushes denormal numbers to zero, and ptxmm keeps them"
        raise _error(source, step, message, f"write `{better}` where no denormal number can occur")
    if str(type_) not in row.types:
        near_types = ", ".join(f"`.{t}`" for t in sorted(row.types))
        raise _error(source, step, f"`{op}` has no type `.{type_}`", f"it takes {near_types}")
    if op == "cvt":
        target = TYPES.get(words[-1]) if len(words) == 1 else None
        if target is None or str(target) not in INTEGERS:
            raise _error(source, step, f"`{step.text}` is no conversion of integers", "write `cvt.u64.u32`")
        return Shape(op, type_, target, ())
    if op == "setp":
        _comparison(source, step, words, type_)
        return Shape(op, type_, PRED, tuple(words))
    for word in words:
        if word not in row.qualifiers or words.count(word) > 1:
            raise _error(source, step, f"`{op}` takes no `.{word}`", near(word, row.qualifiers))
    whole = op in ("mul", "mad") and not type_.floating
    if whole and ("lo" in words) == ("wide" in words):
        better = f"{op}.lo.{type_}"
        raise _error(source, step, f"`{op}` of integers needs `.lo` or `.wide`", f"write `{better}`")
    if "wide" in words:
        if type_.bits == 64:
            raise _error(source, step, "`.wide` is for 16 and 32 bits", f"write `{op}.lo.{type_}`")
        return Shape(op, type_, Type(type_.kind, 2 * type_.bits), tuple(words))
    return Shape(op, type_, U32 if op == "popc" else type_, tuple(words))


def _comparison(source: Source, step: Step, words: list[str], type_: Type) -> None:
    if not words or words[0] not in COMPARE or len(words) > 2 or (len(words) == 2 and words[1] not in COMBINE):
        hint = near(words[0], COMPARE) if words else ""
        raise _error(source, step, f"`{step.text}` names no comparison", hint or "write `setp.eq.u32 p, r0, 1`")
    if type_.kind == "b" and words[0] not in ("eq", "ne"):
        raise _error(source, step, f"`.{type_}` has no order", f"write `setp.{words[0]}.u{type_.bits}`")


def destination(source: Source, step: Step) -> Node:
    """The register that receives the result."""
    if not step.exprs or step.exprs[0].kind != "name":
        first = step.exprs[0] if step.exprs else None
        at = (first.start, first.end) if first else (step.start, step.end)
        raise source.error(f"the first operand of `{step.text}` is a register", *at)
    return step.exprs[0]


def needed(step: Step, parts: Shape) -> Iterator[tuple[Node, int]]:
    """The operands that an instruction reads, each with the width that it must have."""
    for index, node in enumerate(step.exprs[1:]):
        wide = parts.result if parts.op == "mad" and index == 2 else parts.type
        yield node, U32.bits if parts.op in SHIFTS and index == 1 else wide.bits


def compute(reader: Reader, step: Step, parts: Shape, address: Callable[[Node, int], Value | None]) -> Expr:
    """The value that an instruction computes; `address` reads a name or `name + 4` as an address of so many bits."""
    source = reader.source
    operands = step.exprs[1:]
    combined = parts.op == "setp" and len(parts.words) == 2
    wanted = ROWS[parts.op].sources + combined
    if len(operands) != wanted:
        message = f"`{step.text}` takes {wanted + 1} operands, not {len(step.exprs)}"
        raise _error(source, step, message)
    if parts.op in ("mov", "cvta"):
        found = address(operands[0], parts.type.bits) or reader.value(operands[0])
        return _operand(reader, step, found, parts.type, operands[0])
    values = [reader.value(node) for node in operands]
    return _computed(reader, step, parts, values)


def _computed(reader: Reader, step: Step, parts: Shape, values: Sequence[Value]) -> Expr:
    op, operands = parts.op, step.exprs[1:]
    type_ = plain(parts.type)
    if op == "cvt":
        return _converted(reader, step, parts, values[0])
    if op == "selp":
        then, other = (_operand(reader, step, v, type_, n) for v, n in zip(values[:2], operands, strict=False))
        return Select(_predicate(reader, values[2], operands[2]), then, other)
    if op == "setp":
        a, b = (_operand(reader, step, v, type_, n) for v, n in zip(values[:2], operands, strict=False))
        compared = _compared(COMPARE[parts.words[0]], a, b, type_)
        if len(values) < 3:
            return compared
        return Binary(COMBINE[parts.words[1]], compared, _predicate(reader, values[2], operands[2]), PRED)
    if op in SHIFTS:
        shifted = _operand(reader, step, values[0], type_, operands[0])
        amount = _operand(reader, step, values[1], U32, operands[1])
        return Binary("<<" if op == "shl" else ">>", shifted, amount, type_)
    if op == "mad" or "wide" in parts.words:
        return _product(reader, step, parts, values)
    args = [_operand(reader, step, v, type_, n) for v, n in zip(values, operands, strict=True)]
    if op == "not":
        return Unary("!" if type_ == PRED else "~", args[0], type_)
    if op in UNARY:
        return Unary(UNARY[op], args[0], type_)
    return Binary(SIGNS[op], args[0], args[1], type_)


def _compared(op: str, a: Expr, b: Expr, type_: Type) -> Expr:
    """A comparison: `.ne` of floating numbers holds of two that differ, and C's `!=` also where one is no number."""
    if op == "!=" and type_.floating:
        return Binary("||", Binary("<", a, b, type_), Binary(">", a, b, type_), PRED)
    return Binary(op, a, b, type_)


def _product(reader: Reader, step: Step, parts: Shape, values: Sequence[Value]) -> Expr:
    operands, type_, wide = step.exprs[1:], plain(parts.type), plain(parts.result)
    factors = [
        extended(_operand(reader, step, v, type_, n), type_, wide) for v, n in zip(values[:2], operands, strict=False)
    ]
    product = Binary("*", factors[0], factors[1], wide)
    if parts.op == "mul":
        return product
    return Binary("+", product, _operand(reader, step, values[2], wide, operands[2]), wide)


def _converted(reader: Reader, step: Step, parts: Shape, value: Value) -> Expr:
    """`cvt.D.S`: the low bits of the source at S, extended to D; the destination cuts."""
    if value.type is None:
        return settle(reader.source, value, parts.type, step.exprs[1])
    if value.type.bits < parts.type.bits and not reader.lenient:
        raise _width(reader, step, value.type, parts.type, step.exprs[1])
    low = narrowed(value.expr, value.type, min(parts.type.bits, value.type.bits))
    return extended(low, parts.type, parts.result)


def _operand(reader: Reader, step: Step, value: Value, type_: Type, node: Node) -> Expr:
    if value.type is not None and value.type.bits != type_.bits and not reader.lenient:
        raise _width(reader, step, value.type, type_, node)
    no_integer(reader.source, value, type_, node)
    return settle(reader.source, value, type_, node)


def _width(reader: Reader, step: Step, found: Type, wanted: Type, node: Node) -> InputError:
    message = f"width mismatch: `{step.text}` computes with {bits_of(wanted)}, this has {bits_of(found)}"
    hint = "" if PRED in (found, wanted) else f"convert it first: `cvt.u{wanted.bits}.u{found.bits}`"
    return reader.source.error(message, node.start, node.end, hint)


def _predicate(reader: Reader, value: Value, node: Node) -> Expr:
    if value.type not in (None, PRED) and not reader.lenient:
        raise reader.source.error("this is no predicate", node.start, node.end, "make one with `setp`")
    return reader.truth(value)


def _error(source: Source, step: Step, message: str, hint: str = "") -> InputError:
    return source.error(message, step.start, step.start + len(step.text), hint)
