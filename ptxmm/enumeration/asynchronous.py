"""What asynchronous instructions do on one path: copies, mbarriers, tensor maps, elected lanes, launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxmm.arith import Type, wrap
from ptxmm.enumeration.legs import MAP, WORD, Undefined, operands, place
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.path import NONE, Arrival
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
from ptxmm.tensor_maps import OTHERS, word_of

WARP = 32
LANES, OTHER = (1 << WARP) - 1, -1
UNFOLLOWED = ("rank", "element_stride", "elemtype", "interleave_layout")


def perform(runner: Runner, item: Statement, base: Base) -> None:
    """The events and register writes of one instruction."""
    action = ACTIONS.get(type(item))
    if action is None:
        raise GaveUp(f"this engine does not follow `{item.text or type(item).__name__}`")
    action(runner, item, partial(base, addr=runner.flows_of(operands(item))))


def rewrite(runner: Runner, item: TensormapReplace, base: Base) -> None:
    """A weak operation on the entire object: a field gets a value, and the rest is written as it was found.

    One word stands for all fields that are not followed.
    """
    if item.field in UNFOLLOWED:
        raise GaveUp(f"this engine does not follow `.{item.field}` of a tensor map")
    number = word_of(item)
    spot = place(runner.program, runner.thread, runner.value(item.address), MAP, WORD, writes=True)
    for first, end in runner.pieces.of(Leg(spot, spot, MAP, WORD)):
        if first // WORD != number:
            pass_on(runner, spot, spot, (first, end), partial(base, closes=True))
    word = replace(spot, size=WORD, offset=spot.offset + number * WORD)
    value, data = (runner.value(item.value), runner.flows(item.value)) if number != OTHERS else (0, NONE)
    runner.steps.append(base(kind="W", spot=word, value=wrap(value, 8 * WORD), type=FIELD, data=data))


def publish(runner: Runner, item: TensormapCopy, base: Base) -> None:
    """128 bytes copied by the generic proxy in program order, then the release half of the tensor map's fence."""
    program, thread, value = runner.program, runner.thread, runner.value
    source = place(program, thread, value(item.source), MAP, MAP)
    target = place(program, thread, value(item.destination), MAP, MAP, writes=True)
    for first, end in runner.pieces.of(Leg(source, target, MAP, WORD)):
        pass_on(runner, source, target, (first, end), base)
    runner.steps.append(base(kind="F", order=Order.RELEASE, scope=item.scope, via=Proxy.TENSORMAP, closes=True))


def pass_on(runner: Runner, source: Spot, target: Spot, piece: tuple[int, int], base: Base) -> None:
    """Some bytes of a map are loaded and stored by the generic proxy, in program order."""
    first, end = piece
    here = replace(source, offset=source.offset + first, size=end - first)
    there = replace(target, offset=target.offset + first, size=end - first)
    read, kind = runner.choose(runner.values(here)), Type("b", 8 * (end - first))
    runner.steps.append(base(kind="R", spot=here, value=read, type=kind))
    data = frozenset({len(runner.steps) - 1})
    runner.steps.append(base(kind="W", spot=there, value=read, type=kind, data=data))


def elect(runner: Runner, item: Elect, base: Base) -> None:
    """One lane of those that take part is elected, the same each time; a thread without a lane is a whole warp.

    The step holds the number of the lane, or `OTHER` where it is another one and nobody asks which.
    """
    mine = runner.thread.place.lane
    mask = runner.value(item.mask) & LANES if item.mask is not None else LANES
    group = electorate(runner.program, runner.thread, mask)
    if not group or (mine is not None and mine not in group):
        raise Undefined(f"has the mask {mask:#x}, which lacks the lane that executes it")
    asked = group if item.dst is not None else (OTHER,) if mine is None else (mine, OTHER) if len(group) > 1 else group
    known = [step.value for step in runner.steps
             if isinstance(step.item, Elect) and step.barrier is not None and step.barrier.mask == mask]  # fmt: skip
    named = [one for one in known if one != OTHER]
    options = named[:1] or [one for one in asked if not (known and one == mine)]
    leader = runner.choose(tuple(options)) if len(options) > 1 else options[0]
    kind = "N" if mine is None or len(group) == 1 else "E"
    runner.steps.append(base(kind=kind, value=leader, barrier=Arrival(mask=mask)))
    if item.pred is not None:
        runner.write(item.pred, int(mine is None or leader == mine), NONE, item.guard)
    if item.dst is not None:
        runner.write(item.dst, leader, NONE, item.guard)


def electorate(program: Program, thread: Thread, mask: int) -> tuple[int, ...]:
    """The lanes of a warp that may be elected: those of the mask that the test has, or all where it has no lanes."""
    here = thread.place
    if here.lane is None:
        return tuple(lane for lane in range(WARP) if mask >> lane & 1)
    lanes = [
        one.place.lane for one in program.threads
        if cta(one.place) == cta(here) and one.place.warp == here.warp and one.place.lane is not None
    ]  # fmt: skip
    return tuple(sorted(lane for lane in lanes if mask >> lane & 1))


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
