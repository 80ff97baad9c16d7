"""Values that are known without their operands, as that of `r ^ r`: a dependency without them is none."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from ptxmm.program import Binary, Const, Expr, Select, Statement, Unary

PARTS = ("value", "values", "address", "operands")
"""The fields of an instruction that say what it computes and where."""


def independent(expr: Expr) -> Expr:
    """An expression without operands that do not matter.

    >>> from ptxmm.arith import U32
    >>> from ptxmm.program import Reg
    >>> independent(Binary("+", Const(1), Binary("^", Reg("r"), Reg("r"), U32), U32))
    Binary(op='+', left=Const(value=1), right=Const(value=0), type=Type(kind='u', bits=32, lanes=1))
    """
    match expr:
        case Binary(op, left, right, type_) if not type_.floating and type_.kind != "pred":
            if known(op, left, right) and not isinstance(left, Const):
                return Const(0)
            return replace(expr, left=independent(left), right=independent(right))
        case Unary(arg=arg):
            return replace(expr, arg=independent(arg))
        case Select(then=then, other=other):
            return replace(expr, then=independent(then), other=independent(other))
    return expr


def known(op: str, left: Expr, right: Expr) -> bool:
    """Whether the result is 0 whatever the operands are, as that of `r ^ r`, `r - r` and `r & 0` is."""
    return (left == right and op in ("^", "-")) or (op in ("&", "*") and Const(0) in (left, right))


def without_dependencies(statement: Statement) -> Statement:
    """An instruction whose values and addresses depend on nothing that does not matter."""
    changes: dict[str, Any] = {}
    for each in fields(statement):
        old = getattr(statement, each.name) if each.name in PARTS else None
        if isinstance(old, tuple):
            changes[each.name] = tuple(independent(one) for one in old)
        elif isinstance(old, Expr):
            changes[each.name] = independent(old)
    return replace(statement, **changes) if changes else statement
