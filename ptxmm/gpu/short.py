"""Addresses of shared memory in registers of 32 bits: those of the shared window, as `mov.u32 r, s` gives them.

Elsewhere a register holds a generic address, of 64 bits. A test has the ones or the others.
"""

from __future__ import annotations

from dataclasses import fields

from ptxmm.arith import U32, U64
from ptxmm.errors import Unsupported
from ptxmm.gpu.columns import column_type, columns
from ptxmm.program import (
    Addr,
    Assign,
    AsyncStore,
    Atomic,
    Expr,
    FinalReg,
    Load,
    Program,
    Space,
    Statement,
    Store,
    TensormapReplace,
    Thread,
    leaves,
    registers,
)

PLACES = ("address", "destination", "source", "mbarrier")


def short_addresses(program: Program) -> bool:
    """Whether a test has such addresses; Unsupported where it has the others too."""
    found = any(is_short(thread, expr) for thread in program.threads for s in thread.body for expr in _places(s))
    if found and any(_long(program, thread, s) for thread in program.threads for s in thread.body):
        raise Unsupported("it has addresses of shared memory in 32 bits and in 64")
    return found


def ensure_no_address_is_shown(program: Program) -> None:
    """Unsupported where a final value may be an address of shared memory, which the harness does not translate."""
    held = set[tuple[str, str]]()
    stored = any(_shared(program, value) for item in program.objects for value in item.init)
    assigned = [(thread, s) for thread in program.threads for s in thread.body if isinstance(s, Assign)]
    short = any(_shared(program, s.value) and thread.types[s.dst].bits <= U32.bits for thread, s in assigned)
    least = U32.bits if short or short_addresses(program) else U64.bits
    known = None
    while known != (len(held), stored):
        known = len(held), stored
        for thread in program.threads:
            for statement in thread.body:
                values = given(statement)
                is_one = any(_shared(program, v) or any((thread.name, n) in held for n in registers(v)) for v in values)
                if isinstance(statement, Assign) and is_one:
                    held.add((thread.name, statement.dst))
                elif isinstance(statement, Load | Atomic) and stored and statement.type.bits >= least:
                    held |= {(thread.name, name) for name in statement.dst if name is not None}
                stored = stored or (is_one and not isinstance(statement, Assign))
    for column in columns(program):
        shows = (column.thread, column.reg) in held if isinstance(column, FinalReg) else stored
        if shows and column_type(program, column).bits >= least:
            raise Unsupported("a final value may be an address of shared memory")


def given(statement: Statement) -> tuple[Expr, ...]:
    """The values that an instruction puts into a register or into memory."""
    match statement:
        case Assign(value=value) | TensormapReplace(value=value):
            return (value,)
        case Store(values=values) | AsyncStore(values=values) | Atomic(operands=values):
            return values
    return ()


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
