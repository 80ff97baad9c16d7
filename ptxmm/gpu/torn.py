"""An atomic operation in pieces: a load, arithmetic and a store, between which others may write."""

from __future__ import annotations

from ptxmm.arith import PRED
from ptxmm.program import Assign, Atomic, Binary, Const, Expr, Load, Order, Reg, Select, Statement, Store

OPERATORS = {"add": "+", "and": "&", "or": "|", "xor": "^", "min": "min", "max": "max"}
WIDTHS = (32, 64)


def pieces(atomic: Atomic, old: str, new: str) -> tuple[Statement, ...] | None:
    """The instructions that do what an atomic operation does, through two registers; None where it is another one.

    >>> from ptxmm.arith import U32
    >>> from ptxmm.program import Addr, Const
    >>> increment = Atomic(op="add", dst=("r0",), address=Addr("x"), operands=(Const(1),), type=U32)
    >>> [type(piece).__name__ for piece in pieces(increment, "old", "new") or ()]
    ['Load', 'Assign', 'Store', 'Assign']
    """
    value = _value(atomic, old)
    if value is None or len(atomic.dst) != 1 or atomic.type.floating or atomic.type.lanes > 1:
        return None
    if atomic.type.bits not in WIDTHS:
        return None
    writes = atomic.guard
    if atomic.op == "cas":
        met = Binary("==", Reg(old), atomic.operands[0], atomic.type)
        writes = met if writes is None else Binary("&&", writes, met, PRED)
    place = {"address": atomic.address, "type": atomic.type, "order": Order.RELAXED, "scope": atomic.scope}
    taken = (Assign(dst=atomic.dst[0], value=Reg(old), guard=atomic.guard),) if atomic.dst[0] is not None else ()
    return (
        Load(dst=(old,), guard=atomic.guard, **place),  # type: ignore[arg-type]
        Assign(dst=new, value=value, guard=atomic.guard),
        Store(values=(Reg(new),), guard=writes, **place),  # type: ignore[arg-type]
        *taken,
    )


def _value(atomic: Atomic, old: str) -> Expr | None:
    operand, type_ = atomic.operands[-1], atomic.type
    match atomic.op:
        case "exch" | "cas":
            return operand
        case "inc":
            more = Binary("+", Reg(old), Const(1), type_)
            return Select(Binary(">=", Reg(old), operand, type_), Const(0), more)
        case "dec":
            out = Binary("||", Binary("==", Reg(old), Const(0), type_), Binary(">", Reg(old), operand, type_), PRED)
            return Select(out, operand, Binary("-", Reg(old), Const(1), type_))
        case op if op in OPERATORS:
            return Binary(OPERATORS[op], Reg(old), operand, type_)
    return None
