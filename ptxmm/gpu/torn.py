"""An atomic operation in pieces: a load, arithmetic and a store, between which others may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ptxmm.arith import PRED
from ptxmm.gpu.around import loops
from ptxmm.gpu.changes import told
from ptxmm.program import (
    Assign,
    Atomic,
    Binary,
    Const,
    Expr,
    Load,
    Order,
    Program,
    Reg,
    Select,
    Statement,
    Store,
    Thread,
)

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


def may_tear(program: Program) -> bool:
    """Whether a run in pieces ends: a loop only tries a compare-and-swap, which succeeds alone, in pieces too."""
    return all(_tries(thread, loop) for thread in program.threads for loop in loops(thread))


def _tries(thread: Thread, loop: range) -> bool:
    writes = [s for s in thread.body[loop.start : loop.stop] if isinstance(s, Atomic | Store)]
    return len(writes) == 1 and isinstance(writes[0], Atomic) and writes[0].op == "cas"


def torn(thread: Thread, changes: list[str]) -> Thread:
    """Every atomic operation is a load and a store, between which others may write."""
    body, types = list[Statement](), dict(thread.types)
    for index, statement in enumerate(thread.body):
        old, new = (_fresh(f"{stem}{index}", types) for stem in ("old", "new"))
        made = pieces(statement, old, new) if isinstance(statement, Atomic) else None
        body += [statement] if made is None else [replace(one, text=told(one)) for one in made]
        if made is not None and isinstance(statement, Atomic):
            types |= {old: statement.type, new: statement.type}
            changes.append(f"{thread.name}: {told(statement)} -> a load and a store")
    return replace(thread, body=tuple(body), types=types)


def _fresh(name: str, types: Mapping[str, object]) -> str:
    while name in types:
        name += "_"
    return name
