"""Mbarriers, asynchronous copies, tensor maps and dependent grids written back as PTX."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptxmm.arith import PRED, U32, U64, Type
from ptxmm.errors import Unsupported
from ptxmm.program import (
    AsyncCopy,
    Asynchronous,
    AsyncStore,
    Commit,
    Const,
    CopyArrive,
    Elect,
    Expr,
    Foreign,
    GridDependency,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    Order,
    Scope,
    Select,
    TensormapCopy,
    TensormapReplace,
    WaitGroup,
)

BYTES = "mbarrier::complete_tx::bytes"
HALVES = ("f16", "bf16")
IN_64_BITS = ("global_address", "global_stride")
LANES = "0xffffffff"
MAP = "128"

Mbarrier = (
    MbarrierInit | MbarrierInval | MbarrierTx | MbarrierArrive | MbarrierWait | MbarrierPending | CopyArrive
)  # fmt: skip
Words = tuple[str, ...]
Memory = Callable[[Expr], str]
Value = Callable[[Expr, Type], str]


def words(statement: Asynchronous, space: str) -> Words:
    """The opcode and the qualifiers, empty ones among them; `space` is that of a single address."""
    match statement:
        case AsyncCopy():
            return _copied(statement)
        case AsyncStore(values=values, type=type_, order=order, scope=scope, op=op):
            told = ("shared::cluster", BYTES) if statement.mbarrier is not None else ("global", "")
            vector = f"v{len(values)}" if len(values) > 1 else ""
            return ("st.async" if op is None else "red.async", order, scope or "", *told, op or "", vector, str(type_))
        case Commit(bulk=bulk):
            return ("cp.async", "bulk" if bulk else "", "commit_group")
        case WaitGroup(pending=pending, bulk=bulk, read=read):
            name = "wait_all" if pending is None else "wait_group"
            return ("cp.async", "bulk" if bulk else "", name, "read" if read else "")
        case TensormapReplace(field=field):
            return ("tensormap.replace.tile", field, space, "b1024", "b64" if field in IN_64_BITS else "b32")
        case TensormapCopy(scope=scope):
            return ("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release", scope, "sync.aligned")
        case Elect():
            return ("elect.sync",)
        case GridDependency(wait=wait):
            return ("griddepcontrol", "wait" if wait else "launch_dependents")
        case Foreign(mnemonic=mnemonic):
            return (mnemonic,)
        case _:
            return _counted(statement, space)


def _counted(statement: Mbarrier, space: str) -> Words:
    if isinstance(statement, MbarrierTx | MbarrierArrive) and statement.remote:
        space = space or "shared::cluster"
    match statement:
        case MbarrierInit() | MbarrierInval():
            return ("mbarrier", "init" if isinstance(statement, MbarrierInit) else "inval", space, "b64")
        case MbarrierTx(complete=complete, scope=scope):
            return ("mbarrier", "complete_tx" if complete else "expect_tx", "relaxed", scope, space, "b64")
        case MbarrierArrive(drop=drop, order=order, scope=scope):
            action = "expect_tx" if statement.expect is not None else "" if statement.completes else "noComplete"
            return ("mbarrier", "arrive_drop" if drop else "arrive", action, order, scope, space, "b64")
        case MbarrierWait(tries=tries, order=order, scope=scope):
            phase = "parity" if statement.parity is not None else ""
            return ("mbarrier", "try_wait" if tries else "test_wait", phase, order, scope, space, "b64")
        case MbarrierPending():
            return ("mbarrier.pending_count.b64",)
        case CopyArrive(increments=increments):
            return ("cp.async.mbarrier.arrive", "" if increments else "noinc", space, "b64")


def _copied(copy: AsyncCopy) -> Words:
    into, out_of = copy.spaces or ("shared::cta" if copy.mbarrier is not None else "global", "")
    if not copy.bulk:
        cache = "cg" if copy.size == Const(16) else "ca"
        return ("cp.async", cache, into if copy.spaces else "shared::cta", "global")
    out_of = out_of or ("global" if copy.mbarrier is not None else "shared::cta")
    told = BYTES if copy.mbarrier is not None else "bulk_group"
    multicast = "multicast::cluster" if copy.multicast is not None else ""
    into = "shared::cluster" if multicast else into
    dimensions = f"{len(copy.coordinates)}d"
    if copy.map is not None and copy.reduce is not None:
        return ("cp.reduce.async.bulk.tensor", dimensions, into, out_of, copy.reduce, "tile", told)
    if copy.map is not None:
        return ("cp.async.bulk.tensor", dimensions, into, out_of, "tile", told, multicast)
    if copy.reduce is not None:
        strength: Words = () if copy.scope in (Scope.SYS, None) else ("relaxed", copy.scope or "")
        noftz = "noftz" if copy.reduce == "add" and str(copy.type) in HALVES else ""
        return ("cp.reduce.async.bulk", *strength, into, out_of, told, copy.reduce, noftz, str(copy.type))
    weak = copy.order is Order.WEAK
    strength = () if weak else ("relaxed", copy.scope or "")
    return ("cp.async.bulk", *strength, into, out_of, told, multicast, "" if weak else "b128")


def operands(statement: Asynchronous, memory: Memory, value: Value, sink: str) -> Iterator[str]:
    """The operands in order; `memory` and `value` write them, `sink` is for results that are not wanted."""
    match statement:
        case AsyncCopy():
            yield from _copy_operands(statement, memory, value)
        case AsyncStore(values=values, address=address, type=type_, mbarrier=mbarrier):
            texts = [value(each, type_) for each in values]
            yield from (memory(address), texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}")
            yield from (memory(e) for e in (mbarrier,) if e is not None)
        case WaitGroup(pending=int(pending)):
            yield str(pending)
        case TensormapReplace(address=address, value=new, field=field, ordinal=ordinal):
            yield memory(address)
            yield from (str(n) for n in (ordinal,) if n is not None)
            yield value(new, U64 if field in IN_64_BITS else U32)
        case TensormapCopy(destination=destination, source=source):
            yield from (memory(destination), memory(source), MAP)
        case Elect(dst=dst, pred=pred, mask=mask):
            yield from (f"{dst or '_'}|{pred or sink}", LANES if mask is None else value(mask, U32))
        case Foreign(operands=text):
            yield from (text,) if text else ()
        case Commit() | WaitGroup() | GridDependency():
            pass
        case _:
            yield from _counted_operands(statement, memory, value, sink)


def _counted_operands(statement: Mbarrier, memory: Memory, value: Value, sink: str) -> Iterator[str]:
    match statement:
        case MbarrierInit(address=address, count=count):
            yield from (memory(address), value(count, U32))
        case MbarrierInval(address=address) | CopyArrive(address=address):
            yield memory(address)
        case MbarrierTx(address=address, bytes=size):
            yield from (memory(address), value(size, U32))
        case MbarrierArrive(address=address, count=count, expect=expect, dst=dst, completes=completes):
            yield from (dst or sink, memory(address))
            if expect is not None or not completes or count != Const(1):
                yield value(count if expect is None else expect, U32)
        case MbarrierWait(address=address, token=token, parity=parity, dst=dst):
            yield from (dst or sink, memory(address))
            yield from (value(e, t) for e, t in ((token, U64), (parity, U32)) if e is not None)
        case MbarrierPending(dst=dst, token=token):
            yield from (dst, value(token, U64))


def _copy_operands(copy: AsyncCopy, memory: Memory, value: Value) -> Iterator[str]:
    map_ = copy.map
    if map_ is not None:
        places = ", ".join(value(each, Type("s", 32)) for each in copy.coordinates)
        box = f"{memory(map_)[:-1]}, {{{places}}}]"
    for side in (copy.destination, copy.source):
        if side is None and map_ is None:
            raise Unsupported("a copy without a tensor map has two addresses")
        yield box if side is None else memory(side)
    if copy.size is not None:
        yield value(copy.size, U32)
    match copy.read:
        case None:
            pass
        case Select(ignored, Const(0), size) if size == copy.size:
            yield value(ignored, PRED)
        case read:
            yield value(read, U32)
    if copy.mbarrier is not None:
        yield memory(copy.mbarrier)
    if copy.multicast is not None:
        yield value(copy.multicast, Type("b", 16))
