"""The instructions of PTX that compute: the words of an operator at a type, and the version and target that have it."""

from __future__ import annotations

from ptxmm.arith import COMPARISONS, Type, wrap
from ptxmm.errors import Unsupported
from ptxmm.isa_form import LEAST, Requirement

COMPARED = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
BITWISE = {"&": "and", "|": "or", "^": "xor", "<<": "shl"}
ARITHMETIC = {"+": "add", "-": "sub", "*": "mul.lo", "/": "div", "%": "rem", ">>": "shr", "min": "min", "max": "max"}
ROUNDED = {"+": "add.rn", "-": "sub.rn", "*": "mul.rn", "min": "min", "max": "max"}
ONE = {"-": "neg", "~": "not", "abs": "abs"}
SHIFTS = ("<<", ">>")

NARROWEST = 16
"""The fewest bits that instructions compute with; what has fewer is computed with so many and cut."""

COUNTED = 32
"""The fewest bits that `popc` counts."""

NEEDED: dict[tuple[str, str], Requirement] = {
    **{("bf16", op): ((7, 8), 90) for op in ("+", "-", "*", *COMPARISONS)},
    **{("bf16", op): ((7, 0), 80) for op in ("min", "max", *ONE)},
    **{("f16", op): ((7, 0), 80) for op in ("min", "max")},
}
"""What operators need at types that not every target computes with (PTX ISA, "Half precision instructions")."""


def needed(op: str, type_: Type) -> Requirement:
    """The smallest PTX version and target that have the instruction of an operator.

    >>> needed("<", Type("bf", 16)), needed("<", Type("f", 16))
    (((7, 8), 90), ((6, 0), 70))
    """
    return NEEDED.get((str(type_), op), LEAST)


def computed(type_: Type) -> int:
    """The width at which a type is computed."""
    if type_.lanes > 1:
        raise Unsupported(f"it computes with two numbers at once (`.{type_}`), which the harness does not")
    return max(NARROWEST, type_.bits)


def signed(type_: Type) -> Type:
    """The type at which a number has its sign, as `abs` reads it."""
    return type_ if type_.floating else Type("s", type_.bits, type_.lanes)


def mnemonic(op: str, type_: Type) -> str:
    """The mnemonic of an operator with two operands.

    >>> mnemonic("!=", Type("f", 32)), mnemonic(">>", Type("s", 8)), mnemonic("|", Type("u", 64))
    ('setp.neu.f32', 'shr.s16', 'or.b64')
    """
    bits = computed(type_)
    kind = str(type_) if type_.floating else f"{'s' if type_.signed else 'u'}{bits}"
    if op in COMPARISONS:
        return f"setp.{'neu' if type_.floating and op == '!=' else COMPARED[op]}.{kind}"
    return (
        f"{(ROUNDED if type_.floating else ARITHMETIC)[op]}.{kind}" if op not in BITWISE else f"{BITWISE[op]}.b{bits}"
    )


def unary_mnemonic(op: str, type_: Type) -> str:
    """The mnemonic of an operator with one operand.

    >>> unary_mnemonic("-", Type("u", 32)), unary_mnemonic("abs", Type("f", 64)), unary_mnemonic("~", Type("s", 8))
    ('neg.s32', 'abs.f64', 'not.b16')
    """
    bits = computed(type_)
    if op not in ONE:
        raise Unsupported(f"the harness does not compute `{op}`")
    if op == "~":
        return f"not.b{bits}"
    return f"{ONE[op]}.{type_ if type_.floating else f's{bits}'}"


def immediate(value: int, bits: int) -> str:
    """A number as an operand of that width.

    >>> immediate(-1, 32), immediate(-1, 64)
    ('4294967295', '18446744073709551615U')
    """
    pattern = wrap(value, bits)
    return f"{pattern}U" if pattern >> 63 else str(pattern)


def number(value: int, type_: Type) -> str:
    """A number as an operand of an operation on integers: with its sign where the type has one.

    >>> number(255, Type("s", 8)), number(255, Type("u", 8))
    ('-1', '255')
    """
    pattern = wrap(value, type_.bits)
    if type_.signed and pattern >> (type_.bits - 1):
        return str(pattern - (1 << type_.bits))
    return immediate(pattern, computed(type_))
