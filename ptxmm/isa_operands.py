"""The operands of an instruction as a reader hands them over, one by one."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import Type
from ptxmm.errors import InputError, Span
from ptxmm.isa_form import Form
from ptxmm.program import Const, Expr, Reg

KINDS = {
    "reg": "a register",
    "expr": "a value",
    "mem": "an address in brackets",
    "vector": "a vector in braces",
    "sink": "`_`",
}


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand as a reader hands it over.

    `kind` is `reg` (`expr` is a `Reg`), `expr` (any value, predicates like `!p` too), `mem` (`expr` is the address, its
    leaves `Addr` for declared names, `items` the coordinates behind it), `vector` (`items`) or `sink` (`_`). `type` is
    that of the value, where it is known.
    """

    kind: str
    expr: Expr | None
    items: tuple[Operand, ...]
    at: Span
    type: Type | None = None


def destination(form: Form, operand: Operand) -> str | None:
    """The register that an operand names, None for `_`."""
    if operand.kind == "sink":
        return None
    if operand.kind != "reg" or not isinstance(operand.expr, Reg):
        raise InputError(
            f"the result of `{form.row.name}` goes to a register, not {KINDS[operand.kind]}",
            operand.at,
            "write a register, or `_` for none",
        )
    return operand.expr.name


def value(form: Form, operand: Operand, type_: Type) -> Expr:
    """The value of an operand; a number must be one of the type."""
    if operand.kind not in ("reg", "expr") or operand.expr is None:
        hint = "load it into a register first" if operand.kind == "mem" else ""
        raise InputError(f"`{form.row.name}` needs a value here, not {KINDS[operand.kind]}", operand.at, hint)
    if isinstance(operand.expr, Const) and not fits(operand.expr.value, type_):
        raise InputError(f"{operand.expr.value} is no `.{type_}`", operand.at, f"a `.{type_}` is {span_of(type_)}")
    return operand.expr


def fits(number: int, type_: Type) -> bool:
    """Whether a number can be written for a type: as its value or, for signed types too, as its bits.

    >>> fits(-1, Type("u", 8)), fits(255, Type("s", 8)), fits(256, Type("u", 8))
    (True, True, False)
    """
    lowest = -(1 << type_.bits - 1) if type_.bits > 1 else 0
    return lowest <= number < 1 << type_.bits


def span_of(type_: Type) -> str:
    """The numbers that `fits` accepts, in words."""
    return f"between -2^{type_.bits - 1} and 2^{type_.bits}-1" if type_.bits > 1 else "0 or 1"
