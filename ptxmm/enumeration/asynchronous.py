"""What asynchronous instructions do on one path: copies, mbarriers, tensor maps, elected lanes, launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxmm.arith import Type, wrap
from ptxmm.enumeration.legs import (
    MAP,
    WORD,
    operands,
    place,
)
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.path import NONE
from ptxmm.enumeration.pieces import Leg
from ptxmm.enumeration.scopes import cta
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Commit,
    CopyArrive,
    Elect,
    GridDependency,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    Order,
    Program,
    Proxy,
    Statement,
    TensormapCopy,
    TensormapReplace,
    Thread,
    WaitGroup,
)  # fmt: skip

if TYPE_CHECKING:
    from ptxmm.enumeration.threads import Runner

from ptxmm.enumeration.copies import FIELD, Base, commit, copy, copy_arrive, store, wait_group
from ptxmm.enumeration.phases import on_mbarrier, pending


def perform(runner: Runner, item: Statement, base: Base) -> None:
    """The events and register writes of one instruction."""
    action = ACTIONS.get(type(item))
    if action is None:
        raise GaveUp(f"this engine does not follow `{item.text or type(item).__name__}`")
    action(runner, item, partial(base, addr=runner.flows_of(operands(item))))


def rewrite(runner: Runner, item: TensormapReplace, base: Base) -> None:
    """A weak write of the address field, or of one that stands for all other fields."""
    modelled = item.field == "global_address"
    spot = place(runner.program, runner.thread, runner.value(item.address), MAP, WORD, writes=True)
    word = replace(spot, size=WORD, offset=spot.offset + (0 if modelled else WORD))
    value, data = (runner.value(item.value), runner.flows(item.value)) if modelled else (0, NONE)
    runner.steps.append(base(kind="W", spot=word, value=wrap(value, 8 * WORD), type=FIELD, data=data))


def publish(runner: Runner, item: TensormapCopy, base: Base) -> None:
    """128 bytes copied by the generic proxy in program order, then the release half of the tensor map's fence."""
    program, thread, value = runner.program, runner.thread, runner.value
    source = place(program, thread, value(item.source), MAP, MAP)
    target = place(program, thread, value(item.destination), MAP, MAP, writes=True)
    for first, end in runner.pieces.of(Leg(source, target, MAP, WORD)):
        here = replace(source, offset=source.offset + first, size=end - first)
        there = replace(target, offset=target.offset + first, size=end - first)
        read, kind = runner.choose(runner.values(here)), Type("b", 8 * (end - first))
        runner.steps.append(base(kind="R", spot=here, value=read, type=kind))
        data = frozenset({len(runner.steps) - 1})
        runner.steps.append(base(kind="W", spot=there, value=read, type=kind, data=data))
    runner.steps.append(base(kind="F", order=Order.RELEASE, scope=item.scope, via=Proxy.TENSORMAP, closes=True))


def elect(runner: Runner, item: Elect, base: Base) -> None:
    """One lane of those that take part is elected, the same each time; a thread without a lane is a whole warp."""
    lane, chosen = runner.thread.place.lane, 1
    if lane is not None:
        group = electorate(runner.program, runner.thread, runner.value(item.mask) if item.mask is not None else None)
        earlier = [step.value for step in runner.steps if isinstance(step.item, Elect) and step.item.mask == item.mask]
        if lane not in group or len(group) == 1:
            chosen = int(lane in group)
        else:
            chosen = earlier[0] if earlier else runner.choose((1, 0))
        if item.dst is not None:
            raise GaveUp("this engine does not follow the number of the elected lane")
    runner.steps.append(base(kind="N", value=chosen))
    if item.pred is not None:
        runner.write(item.pred, chosen, NONE, item.guard)
    if item.dst is not None:
        runner.write(item.dst, 0, NONE, item.guard)


def electorate(program: Program, thread: Thread, mask: int | None) -> tuple[int, ...]:
    """The lanes of a warp that may be elected."""
    here = thread.place
    lanes = [
        one.place.lane for one in program.threads
        if cta(one.place) == cta(here) and one.place.warp == here.warp and one.place.lane is not None
    ]  # fmt: skip
    return tuple(sorted(lane for lane in lanes if mask is None or mask >> lane & 1))


def launch(runner: Runner, item: GridDependency, base: Base) -> None:
    """A step of a dependent launch."""
    runner.steps.append(base(kind="K"))


ACTIONS: dict[type, Callable[[Runner, Any, Base], None]] = {
    AsyncCopy: copy,
    AsyncStore: store,
    Commit: commit,
    WaitGroup: wait_group,
    CopyArrive: copy_arrive,
    MbarrierInit: on_mbarrier,
    MbarrierInval: on_mbarrier,
    MbarrierTx: on_mbarrier,
    MbarrierArrive: on_mbarrier,
    MbarrierWait: on_mbarrier,
    MbarrierPending: pending,
    TensormapReplace: rewrite,
    TensormapCopy: publish,
    Elect: elect,
    GridDependency: launch,
}
