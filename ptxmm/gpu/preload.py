"""What a thread does before a round so that weak outcomes are likely: lines in its L1, and stores in its queue."""

from __future__ import annotations

from ptxmm.gpu.body import Body
from ptxmm.gpu.code import PREDICATE
from ptxmm.gpu.proxied import proxy_of, touch
from ptxmm.gpu.stress import FIRST, step
from ptxmm.gpu.views import Home, homes
from ptxmm.program import (
    Assign,
    AsyncCopy,
    Atomic,
    Barrier,
    ClusterBarrier,
    Expr,
    Load,
    MbarrierWait,
    Program,
    Proxy,
    Space,
    Statement,
    Store,
    WaitGroup,
    WarpSync,
    named,
)

LATE, ALL = 1, 2
"""Values of the parameter: what is read after something else, or all that is read."""

BEFORE = (Load, Store, Atomic, Barrier, ClusterBarrier, WarpSync, MbarrierWait, WaitGroup)
"""What may come between a line's way into L1 and the load that finds it there."""

PREFETCH = 16_000
"""Nanoseconds for a prefetch: one that is under way still fetches the old map when a fence has passed it."""


def preload(program: Program, body: Body) -> None:
    """Read what the thread will read later, by pointers of which the assembler does not know that they are the same."""
    late, every = _late(program, body), _reads(program, body)
    for least, names in ((LATE, late), (ALL, [name for name in every if name not in late])):
        if names:
            past, few = body.code.label("COLD"), body.code.fresh(PREDICATE)
            values = [body.code.fresh(32) for _ in names]
            reads = [_read(program, body, name, value) for name, value in zip(names, values, strict=True)]
            body.code.add(f"setp.lt.u32 {few}, preload, {least}", f"@{few} bra {past}")
            for read, value in zip(reads, values, strict=True):
                wide = body.code.fresh(64)
                body.code.add(read, f"cvt.u64.u32 {wide}, {value}", f"xor.b64 waste, waste, {wide}")
            body.code.add(f"{past}:")
    for name in _used_maps(program, body):
        pointer = body.pointer(name, "")
        past, few = body.code.label("COLD"), body.code.fresh(PREDICATE)
        body.code.add(f"fence.proxy.tensormap::generic.acquire.{body.code.scope} [{pointer}], 128")
        body.code.add(f"setp.lt.u32 {few}, preload, {LATE}", f"@{few} bra {past}")
        body.code.add(f"prefetch.tensormap [{pointer}]", f"nanosleep.u32 {PREFETCH}", f"{past}:")


def _read(program: Program, body: Body, name: str, value: str) -> str:
    """The instruction that brings an object into the cache through which a name reaches it."""
    if proxy_of(body, name) is not Proxy.GENERIC:
        return touch(body, name, value)
    size = min(4, program.physical(name).type.size)
    return f"ld.weak.global.u{8 * size} {value}, [{body.pointer(name, '')}]"


def busy(program: Program, body: Body) -> None:
    """Unrelated stores just before the test, in threads that store."""
    wished = dict(program.hardware.busy).get(body.thread.name, 0)
    stores = any(isinstance(s, Store | Atomic) for s in body.thread.body)
    if not stores and not wished:
        return
    code, count, place = body.code, body.code.fresh(32), body.code.fresh(32)
    top, end, over, at = code.label("BUSY"), code.label("BEGIN"), code.fresh(PREDICATE), code.fresh(64)
    code.add(f"max.u32 {count}, busy, {wished}", f"mad.lo.u32 {place}, cta, 0x9e3779b9, seed")
    code.add(f"mad.lo.u32 {place}, round, 0x85ebca6b, {place}", f"mad.lo.u32 {place}, lane, 0xc2b2ae35, {place}")
    code.add(f"{top}:", f"setp.eq.u32 {over}, {count}, 0", f"@{over} bra {end}")
    step(code, place, at, "scratch")
    code.add(f"st.weak.global.u32 [{at}+{FIRST}], {place}")
    code.add(f"sub.u32 {count}, {count}, 1", f"bra {top}", f"{end}:")


def _late(program: Program, body: Body) -> list[str]:
    """What is read after another access, a barrier or a wait; where one object is read again and again, that one."""
    found: dict[str, None] = {}
    for place, statement in enumerate(s for s in body.thread.body if isinstance(s, BEFORE)):
        if isinstance(statement, Load) and place:
            found |= dict.fromkeys(_names(program, statement))
    wished = dict(program.hardware.preload).get(body.thread.name, ())
    return list(dict.fromkeys([*found, *(n for n in wished if _plain(program, n))]))


def _reads(program: Program, body: Body) -> list[str]:
    return list(dict.fromkeys(n for s in body.thread.body if isinstance(s, Load) for n in _names(program, s)))


def _names(program: Program, load: Load) -> list[str]:
    found = named(load.address) or _pointed_at(program)
    return [name for name in found if _plain(program, name)]


def _pointed_at(program: Program) -> list[str]:
    """The objects whose address a thread keeps or hands on, so that a register may hold it."""
    kept = [expr for thread in program.threads for statement in thread.body for expr in _kept(statement)]
    kept += [value for item in program.objects for value in item.init]
    kept += [value for thread in program.threads for value in thread.init.values()]
    return list(dict.fromkeys(name for expr in kept for name in named(expr)))


def _kept(statement: Statement) -> tuple[Expr, ...]:
    match statement:
        case Assign(value=value):
            return (value,)
        case Store(values=values) | Atomic(operands=values):
            return values
    return ()


def _plain(program: Program, name: str) -> bool:
    item = program.physical(name)
    reached = name != item.name or homes(program).get(name) is not Home.ARRAY
    return item.space is Space.GLOBAL and item.tensormap is None and reached


def _used_maps(program: Program, body: Body) -> list[str]:
    """The tensor maps in global memory that copies of the thread may go through: any, where a register says which."""
    copies = [s.map for s in body.thread.body if isinstance(s, AsyncCopy) and s.map is not None]
    through = [named(copy) for copy in copies]
    maps = [item.name for item in program.objects if item.tensormap is not None and item.space is Space.GLOBAL]
    return [name for name in maps if not all(through) or any(name in names for names in through)]
