"""Instructions that only compute, as expressions of Python: registers hold bit patterns, predicates truth values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from machine.memory import MASKS, WINDOW
from machine.text import Unknown
from ptxmm.arith import Type, binary, unary

Values = Sequence[str]
Row = Callable[[tuple[str, ...], Values], str]

COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "neu": "!="}
SIGNS = {"neg": "-", "abs": "abs"}
FLOATING = {"add": "+", "sub": "-", "mul": "*", "min": "min", "max": "max"}


def kind_of(word: str) -> Type:
    """The type that a qualifier names.

    >>> kind_of("f16x2").bits, kind_of("s64").kind
    (32, 's')
    """
    if word == "pred":
        return Type("pred", 1)
    lanes = 2 if word.endswith("x2") else 1
    letters = word.removesuffix("x2")
    name = "bf" if letters.startswith("bf") else letters[:1]
    if name not in ("b", "u", "s", "f", "bf") or not letters[len(name) :].isdigit():
        raise Unknown(f"the type `{word}`")
    return Type(name, int(letters[len(name) :]) * lanes, lanes)


def number(value: int, bits: int) -> int:
    """A bit pattern read with its sign."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def floating(op: str, left: int, right: int, word: str) -> int:
    """An operation on floating numbers."""
    return binary(op, left, right, kind_of(word))


def negated(op: str, value: int, word: str) -> int:
    """An operation on one floating number."""
    return unary(op, value, kind_of(word))


def divided(left: int, right: int, bits: int) -> int:
    """A quotient of signed numbers, towards zero; of a division by zero all bits are set."""
    a, b = number(left, bits), number(right, bits)
    return (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) & MASKS[bits] if b else MASKS[bits]


def remainder(left: int, right: int, bits: int) -> int:
    """What such a division leaves, with the sign of the dividend."""
    a, b = number(left, bits), number(right, bits)
    return (abs(a) % abs(b) * (-1 if a < 0 else 1)) & MASKS[bits] if b else left


def _cut(expression: str, word: str) -> str:
    return f"({expression}) & {MASKS[kind_of(word).bits]}"


def _read(value: str, word: str) -> str:
    """A value as a number of a type."""
    kind = kind_of(word)
    return f"number({value}, {kind.bits})" if kind.signed else value


def _plain(symbol: str) -> Row:
    def row(words: tuple[str, ...], values: Values) -> str:
        if kind_of(words[-1]).floating:
            return f"floating({FLOATING[words[0]]!r}, {values[0]}, {values[1]}, {words[-1]!r})"
        return _cut(f"{values[0]} {symbol} {values[1]}", words[-1])

    return row


def _extreme(words: tuple[str, ...], values: Values) -> str:
    if kind_of(words[-1]).floating:
        return f"floating({words[0]!r}, {values[0]}, {values[1]}, {words[-1]!r})"
    return _cut(f"{words[0]}({_read(values[0], words[-1])}, {_read(values[1], words[-1])})", words[-1])


def _product(words: tuple[str, ...], values: Values) -> str:
    """`mul` and `mad`, `.lo` or `.wide`."""
    kind = kind_of(words[-1])
    if kind.floating:
        return _plain("*")(words, values)
    bits = kind.bits * 2 if "wide" in words else kind.bits
    factors = [_read(value, words[-1]) if "wide" in words else value for value in values[:2]]
    more = f" + {values[2]}" if words[0] == "mad" else ""
    return f"({factors[0]} * {factors[1]}{more}) & {MASKS[bits]}"


def _division(words: tuple[str, ...], values: Values) -> str:
    kind = kind_of(words[-1])
    a, b = values
    if kind.signed:
        return f"{'divided' if words[0] == 'div' else 'remainder'}({a}, {b}, {kind.bits})"
    return f"{a} // {b} if {b} else {MASKS[kind.bits]}" if words[0] == "div" else f"{a} % {b} if {b} else {a}"


def _bitwise(symbol: str) -> Row:
    def row(words: tuple[str, ...], values: Values) -> str:
        return f"{values[0]} {symbol} {values[1]}"

    return row


def _not(words: tuple[str, ...], values: Values) -> str:
    return f"not {values[0]}" if words[-1] == "pred" else f"{values[0]} ^ {MASKS[kind_of(words[-1]).bits]}"


def _shift(words: tuple[str, ...], values: Values) -> str:
    bits = kind_of(words[-1]).bits
    amount = f"min({values[1]}, {bits})"
    if words[0] == "shl":
        return _cut(f"{values[0]} << {amount}", words[-1])
    return _cut(f"{_read(values[0], words[-1])} >> {amount}", words[-1])


def _sign(words: tuple[str, ...], values: Values) -> str:
    if kind_of(words[-1]).floating:
        return f"negated({SIGNS[words[0]]!r}, {values[0]}, {words[-1]!r})"
    call = SIGNS[words[0]]
    return _cut(f"{call}({_read(values[0], words[-1])})", words[-1])


def _compare(words: tuple[str, ...], values: Values) -> str:
    word = words[-1]
    if kind_of(word).floating:
        return f"bool(floating({COMPARED[words[1]]!r}, {values[0]}, {values[1]}, {word!r}))"
    return f"{_read(values[0], word)} {COMPARED[words[1]]} {_read(values[1], word)}"


def _convert(words: tuple[str, ...], values: Values) -> str:
    into, out_of = kind_of(words[-2]), kind_of(words[-1])
    if into.floating or out_of.floating:
        raise Unknown(f"the conversion `{'.'.join(words)}`")
    return f"{_read(values[0], words[-1])} & {MASKS[min(into.bits, out_of.bits) if not out_of.signed else into.bits]}"


def _generic(words: tuple[str, ...], values: Values) -> str:
    """`cvta`: from a state space to the generic address space, and back; shared memory has other addresses there."""
    if "to" in words:
        return f"t.into_space({words[2]!r}, {values[0]})"
    return values[0] if "global" in words or "param" in words else f"{values[0]} | {WINDOW}"


ROWS: dict[str, Row] = {
    "add": _plain("+"),
    "sub": _plain("-"),
    "mul": _product,
    "mad": _product,
    "div": _division,
    "rem": _division,
    "min": _extreme,
    "max": _extreme,
    "and": _bitwise("&"),
    "or": _bitwise("|"),
    "xor": _bitwise("^"),
    "not": _not,
    "shl": _shift,
    "shr": _shift,
    "neg": _sign,
    "abs": _sign,
    "setp": _compare,
    "cvt": _convert,
    "cvta": _generic,
    "mov": lambda words, values: values[0],
    "popc": lambda words, values: f"({values[0]}).bit_count()",
    "selp": lambda words, values: f"{values[0]} if {values[2]} else {values[1]}",
    "mapa": lambda words, values: f"t.in_cta({values[0]}, {values[1]})",
}
"""What an instruction leaves in its destination, by its opcode."""

NAMES = {"number": number, "floating": floating, "negated": negated, "divided": divided, "remainder": remainder}
"""What these expressions call."""

ATOMIC: dict[str, str] = {
    "add": "{old} + {a}",
    "and": "{old} & {a}",
    "or": "{old} | {a}",
    "xor": "{old} ^ {a}",
    "exch": "{a}",
    "cas": "{b} if {old} == {a} else {old}",
    "inc": "0 if {old} >= {a} else {old} + 1",
    "dec": "{a} if {old} == 0 or {old} > {a} else {old} - 1",
    "min": "min({old}, {a})",
    "max": "max({old}, {a})",
}
"""What an atomic operation leaves in memory."""


def atomic(op: str, word: str, old: str, values: Values) -> str:
    """The new value of an atomic operation at a type."""
    kind = kind_of(word)
    if op not in ATOMIC:
        raise Unknown(f"the atomic operation `{op}`")
    if kind.floating and op in FLOATING:
        return f"floating({FLOATING[op]!r}, {old}, {values[0]}, {word!r})"
    if op in ("min", "max"):
        return _cut(f"{op}({_read(old, word)}, {_read(values[0], word)})", word)
    return _cut(ATOMIC[op].format(old=old, a=values[0], b=values[-1]), word)
