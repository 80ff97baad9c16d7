"""Addresses of shared memory in registers of 32 bits: those of the shared window, as `mov.u32 r, s` gives them.

Elsewhere a register holds a generic address, of 64 bits. A test has the ones or the others.
"""

from __future__ import annotations

from dataclasses import fields

from ptxmm.arith import U32
from ptxmm.errors import Unsupported
from ptxmm.program import Addr, Assign, Expr, Program, Space, Statement, Store, Thread, leaves, registers

PLACES = ("address", "destination", "source", "mbarrier")


def short_addresses(program: Program) -> bool:
    """Whether a test has such addresses; Unsupported where it has the others too."""
    found = any(is_short(thread, expr) for thread in program.threads for s in thread.body for expr in _places(s))
    if found and any(_long(program, thread, s) for thread in program.threads for s in thread.body):
        raise Unsupported("it has addresses of shared memory in 32 bits and in 64")
    return found


def is_short(thread: Thread, expr: Expr) -> bool:
    """Whether an address comes from registers of 32 bits alone."""
    names = registers(expr)
    named = any(isinstance(leaf, Addr) for leaf in leaves(expr))
    return bool(names) and not named and all(thread.types[name].bits == U32.bits for name in names)


def _places(statement: Statement) -> list[Expr]:
    found = (getattr(statement, name, None) for name in PLACES)
    return [expr for expr in found if expr is not None]


def _long(program: Program, thread: Thread, statement: Statement) -> bool:
    """Whether an instruction puts an address of shared memory into 64 bits."""
    match statement:
        case Assign(dst=dst, value=value):
            return thread.types[dst].bits != U32.bits and _shared(program, value)
        case Store(type=type_, values=values):
            return type_.bits != U32.bits and any(_shared(program, value) for value in values)
    others = (getattr(statement, each.name) for each in fields(statement) if each.name not in PLACES)
    return any(_shared(program, value) for value in others if isinstance(value, Expr))


def _shared(program: Program, value: Expr) -> bool:
    named = [leaf.name for leaf in leaves(value) if isinstance(leaf, Addr)]
    return any(program.physical(name).space is Space.SHARED for name in named)
