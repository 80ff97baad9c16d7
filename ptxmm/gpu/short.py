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
    Binary,
    Const,
    Expr,
    FinalReg,
    Load,
    Program,
    Reg,
    Space,
    Statement,
    Store,
    TensormapReplace,
    Thread,
    named,
    registers,
)

SHOWN = "a final value may be an address of shared memory that was computed with or came through memory"
PLACES = ("address", "destination", "source", "mbarrier")


def short_addresses(program: Program) -> bool:
    """Whether a test has such addresses; Unsupported where it has the others too."""
    found = any(is_short(thread, expr) for thread in program.threads for s in thread.body for expr in _places(s))
    if found and any(_long(program, thread, s) for thread in program.threads for s in thread.body):
        raise Unsupported("it has addresses of shared memory in 32 bits and in 64")
    return found


Held = dict[tuple[str, str], frozenset[str] | None]
"""What registers hold the address of: some shared objects, or None where arithmetic or memory stands between."""


def shown_addresses(program: Program) -> Held:
    """The registers among the final values that may hold an address of shared memory, each with the objects.

    Unsupported where such an address was computed with, or came through memory: the harness does not translate it.
    """
    held: Held = {
        (thread.name, name): _objects(program, thread, value, {})
        for thread in program.threads
        for name, value in thread.init.items()
        if _shared(program, value)
    }
    stored = any(_shared(program, value) for item in program.objects for value in item.init)
    assigned = [(thread, s) for thread in program.threads for s in thread.body if isinstance(s, Assign)]
    short = any(_shared(program, s.value) and thread.types[s.dst].bits <= U32.bits for thread, s in assigned)
    least = U32.bits if short or short_addresses(program) else U64.bits
    known = None
    while known != (held, stored):
        known = dict(held), stored
        for thread in program.threads:
            for statement in thread.body:
                values = given(statement)
                is_one = any(_shared(program, v) or any((thread.name, n) in held for n in registers(v)) for v in values)
                if isinstance(statement, Assign) and is_one:
                    _add(held, (thread.name, statement.dst), _objects(program, thread, statement.value, held))
                elif isinstance(statement, Load | Atomic) and stored and statement.type.bits >= least:
                    held |= {(thread.name, name): None for name in statement.dst if name is not None}
                stored = stored or (is_one and not isinstance(statement, Assign))
    found: Held = {}
    for column in columns(program):
        if column_type(program, column).bits < least:
            continue
        if isinstance(column, FinalReg) and (column.thread, column.reg) in held:
            found[column.thread, column.reg] = held[column.thread, column.reg]
        elif not isinstance(column, FinalReg) and stored:
            raise Unsupported(SHOWN)
    if None in found.values() or (found and least < U64.bits):
        raise Unsupported(SHOWN)
    return found


def _add(held: Held, key: tuple[str, str], more: frozenset[str] | None) -> None:
    before = held.get(key, frozenset())
    held[key] = None if before is None or more is None else before | more


def _objects(program: Program, thread: Thread, value: Expr, held: Held) -> frozenset[str] | None:
    """The shared objects whose address, inside of them, an expression gives; None where it may give another."""
    match value:
        case Reg(name):
            return held[thread.name, name]
        case Addr(name, offset) | Binary("+", Addr(name, 0), Const(offset)):
            item = program.physical(name)
            return frozenset({item.name}) if 0 <= offset < item.size else None
    return None


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
    return bool(names) and not named(expr) and all(thread.types[name].bits == U32.bits for name in names)


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
    return any(program.physical(name).space is Space.SHARED for name in named(value))
