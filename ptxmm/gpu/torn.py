"""An atomic operation in pieces: a load, arithmetic and a store, between which others may write."""

from __future__ import annotations

from ptxmm.program import Assign, Atomic, Binary, Expr, Load, Order, Reg, Statement, Store

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
    place = {"address": atomic.address, "type": atomic.type, "order": Order.RELAXED, "scope": atomic.scope}
    taken = (Assign(dst=atomic.dst[0], value=Reg(old), guard=atomic.guard),) if atomic.dst[0] is not None else ()
    return (
        Load(dst=(old,), guard=atomic.guard, **place),  # type: ignore[arg-type]
        Assign(dst=new, value=value, guard=atomic.guard),
        Store(values=(Reg(new),), guard=atomic.guard, **place),  # type: ignore[arg-type]
        *taken,
    )


def _value(atomic: Atomic, old: str) -> Expr | None:
    if atomic.op == "exch":
        return atomic.operands[0]
    if atomic.op in OPERATORS:
        return Binary(OPERATORS[atomic.op], Reg(old), atomic.operands[0], atomic.type)
    return None
