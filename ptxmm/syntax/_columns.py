"""The instructions of Dartagnan's PTX dialect, as a table from the first word of an opcode to its reader."""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.arith import S64
from ptxmm.program import Assign, Bar, Barrier, Binary, Branch, Const, Proxy, Statement
from ptxmm.syntax._common import quoted
from ptxmm.syntax._written import LOADS, STORES, Written, atomic, fence, load, store

UNNAMED = Const(-1)
READERS = {**LOADS, "cold": Proxy.CONSTANT}
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
BRANCHES = {"beq": "==", "bne": "!=", "blt": "<", "ble": "<=", "bgt": ">", "bge": ">="}
BARRIERS = {"bar.cta.sync": Bar.SYNC, "bar.cta.arrive": Bar.ARRIVE}


def _load(written: Written) -> Statement:
    """`ld.weak r0, x`; without a memory order, `ld r0, 1` moves a register or a number."""
    head = written.opcode.split(".", 1)[0]
    if head != written.opcode:
        return load(written, READERS[head])
    written.arity(2)
    return Assign(dst=written.register(0), value=written.value(1), at=written.at, text=written.line)


def _store(written: Written) -> Statement:
    return store(written, STORES[written.opcode.split(".", 1)[0]])


def _atomic(written: Written) -> Statement:
    return atomic(written, ("order", "scope", "operation"))


def _arithmetic(written: Written) -> Statement:
    """`add r0, r1, 1`."""
    written.qualifiers()
    written.arity(3)
    value = Binary(ARITHMETIC[written.opcode], written.value(1), written.value(2), S64)
    return Assign(dst=written.register(0), value=value, at=written.at, text=written.line)


def _branch(written: Written) -> Statement:
    """`beq r0, 1, LC00`."""
    written.qualifiers()
    written.arity(3)
    guard = Binary(BRANCHES[written.opcode], written.value(0), written.value(1), S64)
    return Branch(target=written.label(2), guard=guard, at=written.at, text=written.line)


def _goto(written: Written) -> Statement:
    written.qualifiers()
    written.arity(1)
    return Branch(target=written.label(0), at=written.at, text=written.line)


def _barrier(written: Written) -> Statement:
    """`bar.cta.sync INSTANCE`, and with a number and a count `bar.cta.sync INSTANCE, ID, COUNT`."""
    kind = BARRIERS.get(written.opcode)
    if kind is None:
        raise written.error(f"there is no {quoted(written.opcode)}", "", f"one of {', '.join(BARRIERS)}")
    written.arity(1, 3)
    instance = written.value(0)
    if not isinstance(instance, Const):
        raise written.error("the instance of a barrier is a number", written.operands[0])
    return Barrier(
        kind=kind,
        id=written.value(1) if len(written.operands) > 1 else UNNAMED,
        count=written.value(2) if len(written.operands) > 2 else None,
        instance=str(instance.value),
        at=written.at,
        text=written.line,
    )


def _surface(written: Written) -> Statement:
    raise written.error("atomic operations through the surface proxy are not supported", written.opcode)


INSTRUCTIONS: dict[str, Callable[[Written], Statement]] = {
    **dict.fromkeys(READERS, _load),
    **dict.fromkeys(STORES, _store),
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys(BRANCHES, _branch),
    **dict.fromkeys(("atom", "red"), _atomic),
    **dict.fromkeys(("suatom", "sured"), _surface),
    "fence": fence,
    "bar": _barrier,
    "goto": _goto,
}
