"""PTX arithmetic on bit patterns: every value is an unsigned integer of its type's width."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

FLOAT_FORMATS = {16: "e", 32: "f", 64: "d"}


@dataclass(frozen=True, slots=True)
class Type:
    """A PTX type: `kind` is `b`, `u`, `s`, `f`, `bf` or `pred`, `bits` the whole width, `lanes` 2 for packed types.

    >>> str(Type("u", 32)), str(Type("f", 32, 2)), Type("s", 8).size
    ('u32', 'f16x2', 1)
    """

    kind: str
    bits: int
    lanes: int = 1

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    @property
    def signed(self) -> bool:
        return self.kind == "s"

    @property
    def floating(self) -> bool:
        return self.kind in ("f", "bf")

    @property
    def lane(self) -> Type:
        """The type of one element of a packed type, else the type itself."""
        return Type(self.kind, self.bits // self.lanes) if self.lanes > 1 else self

    def __str__(self) -> str:
        if self.kind == "pred":
            return "pred"
        lane = self.bits // self.lanes
        return f"{self.kind}{lane}" + (f"x{self.lanes}" if self.lanes > 1 else "")


PRED = Type("pred", 1)
U32, U64, S64 = Type("u", 32), Type("u", 64), Type("s", 64)

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
LOGICAL = frozenset({"&&", "||", "!"})
BINARY = frozenset({"+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "min", "max", "&&", "||"}) | COMPARISONS
UNARY = frozenset({"-", "~", "!", "popc", "abs", "lane"})
SIGNS = ("-", "abs")
ATOMICS = frozenset({"add", "sub", "and", "or", "xor", "exch", "cas", "inc", "dec", "min", "max"})


def wrap(value: int, bits: int) -> int:
    """The bit pattern of `value` at `bits` bits.

    >>> wrap(-1, 8)
    255
    """
    return value & ((1 << bits) - 1)


def signed(value: int, bits: int) -> int:
    """The two's complement reading of a bit pattern.

    >>> signed(255, 8)
    -1
    """
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def to_float(value: int, kind: Type) -> float:
    """The number that a bit pattern of a floating type denotes."""
    if kind.kind == "bf":
        return float(struct.unpack("<f", struct.pack("<I", value << 16))[0])
    return float(struct.unpack("<" + FLOAT_FORMATS[kind.bits], value.to_bytes(kind.bits // 8, "little"))[0])


def from_float(number: float, kind: Type) -> int:
    """The bit pattern nearest to `number`, ties to even, overflow to infinity (IEEE 754 rounding).

    >>> hex(from_float(1.5, Type("f", 32)))
    '0x3fc00000'
    """
    if math.isnan(number):
        return {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FF8000000000000}[kind.bits]
    if kind.kind == "bf":
        single = from_float(number, Type("f", 32))
        rounded = single + 0x7FFF + (single >> 16 & 1)
        return rounded >> 16
    try:
        packed = struct.pack("<" + FLOAT_FORMATS[kind.bits], number)
    except OverflowError:
        packed = struct.pack("<" + FLOAT_FORMATS[kind.bits], math.copysign(math.inf, number))
    return int.from_bytes(packed, "little")


def number(value: int, kind: Type) -> float | int:
    """What a bit pattern denotes at a type: a float, a signed or an unsigned integer."""
    if kind.floating:
        return to_float(value, kind)
    return signed(value, kind.bits) if kind.signed else value


def shown(value: int, kind: Type) -> str:
    """A value as a person reads it at its type.

    >>> shown(0xFFFFFFFF, Type("s", 32)), shown(0x3FC00000, Type("f", 32))
    ('-1', '1.5')
    """
    if kind.lanes > 1:
        step = kind.lane.bits
        return "{" + ", ".join(shown(wrap(value >> i * step, step), kind.lane) for i in range(kind.lanes)) + "}"
    return repr(number(value, kind)) if kind.floating else str(number(value, kind))


def unary(op: str, value: int, kind: Type) -> int:
    """One of `UNARY` at a type; `!` gives 0 or 1, and the sign of a floating number is a bit.

    >>> hex(unary("abs", 0xC0100000, Type("f", 32))), hex(unary("-", 0x3C003C00, Type("f", 32, 2)))
    ('0x40100000', '0xbc00bc00')
    """
    if kind.lanes > 1 and op in SIGNS:
        return _joined([unary(op, one, kind.lane) for one in _parts(value, kind)], kind)
    match op:
        case "-":
            return from_float(-to_float(value, kind), kind) if kind.floating else wrap(-value, kind.bits)
        case "~":
            return wrap(~value, kind.bits)
        case "!":
            return int(not wrap(value, kind.bits))
        case "popc":
            return wrap(value, kind.bits).bit_count()
        case "abs" if kind.floating:
            return wrap(value, kind.bits - 1)
        case "abs":
            return wrap(abs(signed(wrap(value, kind.bits), kind.bits)), kind.bits)
    raise ValueError(f"no unary operator {op}")


def binary(op: str, left: int, right: int, kind: Type) -> int:
    """One of `BINARY`, both operands read at `kind`; comparisons give 0 or 1, division by zero all ones.

    Packed values are equal where all their elements are, and one is less where all its elements are less.

    >>> binary("-", 0, 1, U32) == 0xFFFFFFFF, binary("<", 0xFFFFFFFF, 0, Type("s", 32))
    (True, 1)
    >>> [binary(op, 0x3C003C00, 0x3C000000, Type("f", 32, 2)) for op in ("==", "!=", ">", ">=")]
    [0, 1, 0, 1]
    """
    if kind.lanes > 1:
        pairs = zip(_parts(left, kind), _parts(right, kind), strict=True)
        found = [binary(op, a, b, kind.lane) for a, b in pairs]
        if op in COMPARISONS:
            return int(any(found) if op == "!=" else all(found))
        return _joined(found, kind)
    if op in LOGICAL:
        return int(bool(left) and bool(right)) if op == "&&" else int(bool(left) or bool(right))
    bits = kind.bits
    if op in ("<<", ">>"):
        amount = wrap(right, 32)
        shifted = wrap(left, bits) if not kind.signed or op == "<<" else signed(wrap(left, bits), bits)
        if amount >= bits:
            return wrap(-1, bits) if shifted < 0 else 0
        return wrap(shifted << amount if op == "<<" else shifted >> amount, bits)
    a, b = number(wrap(left, bits), kind), number(wrap(right, bits), kind)
    if op in COMPARISONS:
        return int(_compare(op, a, b))
    if kind.floating:
        return from_float(_float(op, float(a), float(b)), kind)
    return wrap(_integer(op, int(a), int(b)), bits)


def _parts(value: int, kind: Type) -> list[int]:
    """The elements of a packed value, the lowest first."""
    step = kind.lane.bits
    return [wrap(value >> place * step, step) for place in range(kind.lanes)]


def _joined(parts: list[int], kind: Type) -> int:
    return sum(part << place * kind.lane.bits for place, part in enumerate(parts))


def _compare(op: str, a: float, b: float) -> bool:
    table = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return table[op]


def _float(op: str, a: float, b: float) -> float:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "min":
            return b if math.isnan(a) else a if math.isnan(b) else min(a, b, key=_placed)
        case "max":
            return b if math.isnan(a) else a if math.isnan(b) else max(a, b, key=_placed)
    raise ValueError(f"no floating operator {op}")


def _placed(number: float) -> tuple[float, float]:
    """Where `min` and `max` have a number: -0.0 below +0.0 (PTX ISA, "min", "max")."""
    return number, math.copysign(1, number)


def _integer(op: str, a: int, b: int) -> int:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "/":
            return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case "%":
            return a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)
    raise ValueError(f"no integer operator {op}")


def atomic(op: str, old: int, operands: tuple[int, ...], kind: Type) -> int | None:
    """The value that an atomic operation stores over `old`, or None where it stores nothing (a failed `cas`).

    PTX ISA, "Parallel Synchronization and Communication Instructions: atom".

    >>> atomic("cas", 5, (4, 9), U32), atomic("inc", 3, (3,), U32)
    (None, 0)
    """
    first = operands[0]
    match op:
        case "exch":
            return wrap(first, kind.bits)
        case "cas":
            return wrap(operands[1], kind.bits) if wrap(first, kind.bits) == old else None
        case "inc":
            return 0 if old >= wrap(first, kind.bits) else old + 1
        case "dec":
            bound = wrap(first, kind.bits)
            return bound if old == 0 or old > bound else old - 1
    signs = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
    return binary(signs.get(op, op), old, first, kind)
