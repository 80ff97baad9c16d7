"""Loads, stores and atomic operations on one path of a thread: what they read and write there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ptxmm.arith import atomic, signed, wrap
from ptxmm.enumeration.memory import Spot, locate
from ptxmm.enumeration.path import NONE, Step
from ptxmm.program import Atomic, Load, Object, Order, Space, Store, Thread

if TYPE_CHECKING:
    from ptxmm.enumeration.threads import Runner

OUTSIDE = "accesses memory outside every object or misaligned"


def _spots(runner: Runner, item: Load | Store | Atomic, elements: int) -> list[Spot]:
    """The bytes of each lane of each element, or none with `trouble` where the access is undefined."""
    start, lane = runner.value(item.address), item.type.lane
    whole = item.type.size * elements
    first = locate(runner.program, start, whole, whole)
    reason = _wrong(runner.program.physical(first.object), runner.thread, item) if first else OUTSIDE
    if first is None or reason:
        runner.trouble = runner.told(item, reason)
        return []
    return [replace(first, offset=first.offset + at, size=lane.size) for at in range(0, whole, lane.size)]


def load(runner: Runner, item: Load, base: partial[Step]) -> None:
    """The reads of a load, and the registers that it writes."""
    spots = _spots(runner, item, len(item.dst))
    base = partial(base, addr=runner.flows(item.address), type=item.type.lane)
    first = len(runner.steps)
    for spot in spots:
        runner.steps.append(base(spot=spot, value=runner.choose(runner.values(spot))))
    if spots:
        _collect(runner, item, first)


def _collect(runner: Runner, item: Load | Atomic, first: int) -> None:
    """Put the values read by the steps from `first` on into the destination registers."""
    lanes, lane = item.type.lanes, item.type.lane
    reads = [at for at in range(first, len(runner.steps)) if runner.steps[at].kind == "R"]
    for index, dst in enumerate(item.dst):
        if dst is None:
            continue
        own = reads[index * lanes : (index + 1) * lanes]
        value = sum(runner.steps[at].value << lane.bits * i for i, at in enumerate(own))
        wide = signed(value, item.type.bits) if item.type.signed else value
        runner.write(dst, wide, frozenset(own), item.guard)


def store(runner: Runner, item: Store, base: partial[Step]) -> None:
    """The writes of a store."""
    lanes, lane = item.type.lanes, item.type.lane
    base = partial(base, addr=runner.flows(item.address), type=lane)
    for at, spot in enumerate(_spots(runner, item, len(item.values))):
        source = item.values[at // lanes]
        value = wrap(runner.value(source) >> lane.bits * (at % lanes), lane.bits)
        runner.steps.append(base(spot=spot, value=value, data=runner.flows(source)))


def atomic_operation(runner: Runner, item: Atomic, base: partial[Step]) -> None:
    """The reads and writes of an atomic operation, and the registers that it writes."""
    lanes, lane, first = item.type.lanes, item.type.lane, len(runner.steps)
    acquires = item.order in (Order.ACQUIRE, Order.ACQ_REL)
    releases = item.order in (Order.RELEASE, Order.ACQ_REL)
    each = len(item.operands) // len(item.dst)
    base = partial(base, addr=runner.flows(item.address), type=lane)
    for at, spot in enumerate(_spots(runner, item, len(item.dst))):
        operands = item.operands[at // lanes * each : (at // lanes + 1) * each]
        given = tuple(wrap(runner.value(one) >> lane.bits * (at % lanes), lane.bits) for one in operands)
        old = runner.choose(runner.values(spot))
        order = Order.ACQUIRE if acquires else Order.RELAXED
        runner.steps.append(base(kind="R", spot=spot, value=old, order=order))
        new = atomic(item.op, old, given, lane)
        if new is None and runner.program.conventions.failed_cas_writes:
            new = old
        if new is not None:
            order = Order.RELEASE if releases else Order.RELAXED
            partner = len(runner.steps) - 1
            data, ctrl = NONE.union(*(runner.flows(one) for one in operands)), base.keywords["ctrl"]
            if item.op == "cas":
                ctrl = ctrl | {partner}
            elif item.op != "exch":
                data = data | {partner}
            write = base(kind="W", spot=spot, value=new, order=order, data=data, ctrl=ctrl, partner=partner)
            runner.steps.append(write)
    if not runner.trouble:
        _collect(runner, item, first)


def _wrong(thing: Object, thread: Thread, item: Load | Store | Atomic) -> str:
    """Why an access of an object is undefined, or nothing."""
    if thing.space in (Space.CONST, Space.PARAM) and not isinstance(item, Load):
        return "writes to constant memory"
    here, owner = thread.place, thing.owner
    if owner is not None and (here.kernel, here.device, here.cluster) != (owner.kernel, owner.device, owner.cluster):
        return "accesses the shared memory of another cluster"
    return ""
