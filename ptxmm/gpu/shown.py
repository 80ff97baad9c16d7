"""Addresses of global memory among final values: shown as the numbers by which a test knows them.

Each copy of a test has memory of its own, so a final value that is an address becomes its object and the distance from
there. What is computed from addresses in any other way would show where the harness put the objects.
"""

from __future__ import annotations

from ptxmm.arith import COMPARISONS
from ptxmm.errors import Unsupported
from ptxmm.gpu.code import PREDICATE, Code
from ptxmm.gpu.columns import columns
from ptxmm.gpu.initial import global_objects
from ptxmm.gpu.short import given
from ptxmm.gpu.views import address_lines
from ptxmm.program import (
    Addr,
    Assign,
    AsyncStore,
    Atomic,
    Binary,
    Expr,
    FinalMem,
    Load,
    Program,
    Proxy,
    Reg,
    Select,
    Space,
    Statement,
    Store,
    Thread,
    leaves,
)

WIDE = 64
NUMBER, ADDRESS, COMPUTED = 0, 1, 2
"""What a value is: a number, an address of global memory as it is or plus a number, or computed from one."""

Kinds = dict[tuple[str, str] | int, int]
"""What registers hold, and what was stored in so many bits."""


def has_addresses(program: Program) -> bool:
    """Whether the test has addresses as values."""
    return any(isinstance(leaf, Addr) for value in _values(program) for leaf in leaves(value))


def _values(program: Program) -> list[Expr]:
    values = [value for item in program.objects for value in item.init]
    values += [value for thread in program.threads for value in thread.init.values()]
    return values + [value for thread in program.threads for statement in thread.body for value in given(statement)]


def ensure_shown(program: Program) -> None:
    """Unsupported where a final value may be computed from addresses of global memory."""
    if not has_addresses(program):
        return
    kinds: Kinds = {
        (thread.name, name): _kind(program, thread.name, value, {})
        for thread in program.threads
        for name, value in thread.init.items()
    }
    for item in program.objects:
        for value in item.init:
            _add(kinds, item.type.bits, _kind(program, "", value, {}))
    before: Kinds = {}
    while before != kinds:
        before = dict(kinds)
        for thread in program.threads:
            for statement in thread.body:
                _follow(program, thread, statement, kinds)
    for column in columns(program):
        here = column.type.bits if isinstance(column, FinalMem) else (column.thread, column.reg)
        if kinds.get(here) == COMPUTED:
            raise Unsupported("a final value may be computed from addresses, which differ from copy to copy")


def _follow(program: Program, thread: Thread, statement: Statement, kinds: Kinds) -> None:
    """Add what an instruction puts into registers and memory."""
    found = max((_kind(program, thread.name, value, kinds) for value in given(statement)), default=NUMBER)
    if isinstance(statement, Assign):
        _add(kinds, (thread.name, statement.dst), _cut(found, thread.types[statement.dst].bits))
    elif isinstance(statement, Store | AsyncStore | Atomic):
        _add(kinds, statement.type.bits, _cut(found, statement.type.bits))
    if isinstance(statement, Load | Atomic):
        for name in statement.dst:
            if name is not None:
                _add(kinds, (thread.name, name), kinds.get(statement.type.bits, NUMBER))


def _add(kinds: Kinds, key: tuple[str, str] | int, kind: int) -> None:
    kinds[key] = max(kinds.get(key, NUMBER), kind)


def _cut(kind: int, bits: int) -> int:
    """What is left of a value in so many bits."""
    return kind if bits == WIDE or kind == NUMBER else NUMBER if bits == 1 else COMPUTED


def _kind(program: Program, thread: str, value: Expr, kinds: Kinds) -> int:
    match value:
        case Addr(name):
            return ADDRESS if program.physical(name).space is Space.GLOBAL else NUMBER
        case Reg(name):
            return kinds.get((thread, name), NUMBER)
        case Select(then=then, other=other):
            return max(_kind(program, thread, each, kinds) for each in (then, other))
        case Binary(op=op, left=left, right=right):
            both = _kind(program, thread, left, kinds), _kind(program, thread, right, kinds)
            if op in COMPARISONS or both == (NUMBER, NUMBER):
                return NUMBER
            plus, minus = max(both) == ADDRESS and min(both) == NUMBER, both == (ADDRESS, NUMBER)
            return ADDRESS if (op == "+" and plus) or (op == "-" and minus) else COMPUTED
    inside = [leaf for leaf in leaves(value) if leaf is not value]
    return COMPUTED if any(_kind(program, thread, leaf, kinds) for leaf in inside) else NUMBER


def shown(code: Code, program: Program, value: str) -> str:
    """An address of this copy as the number that the test knows it by; also that just behind an object."""
    result = code.fresh(WIDE)
    code.add(f"mov.u64 {result}, {value}")
    plain = [item.name for item in global_objects(program)]
    aliases = [view.name for view in program.views if view.proxy is Proxy.GENERIC]
    for name in (*plain, *aliases):
        item = program.physical(name)
        start, distance, inside = code.fresh(WIDE), code.fresh(WIDE), code.fresh(PREDICATE)
        code.add(*address_lines(program, item.name, start))
        if name != item.name:
            code.add(f"add.s64 {start}, {start}, alias")
        code.add(f"sub.s64 {distance}, {value}, {start}", f"setp.le.u64 {inside}, {distance}, {item.size}")
        code.add(f"@{inside} add.s64 {result}, {distance}, {program.address(Addr(name))}")
    return result
