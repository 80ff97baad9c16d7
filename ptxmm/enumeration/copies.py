"""Copies on one path of a thread: what each reads and writes out of program order, and what it completes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from ptxmm.arith import Type, atomic, wrap
from ptxmm.enumeration.counted import Operation
from ptxmm.enumeration.legs import (
    WORD,
    Undefined,
    ctas,
    mbarrier_at,
    operands,
    own,
    place,
    spread,
    straight,
    tensor_map,
)
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.path import NONE, Step
from ptxmm.enumeration.pieces import Leg
from ptxmm.enumeration.scopes import cta
from ptxmm.enumeration.tiles import boxed, looked_at
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Commit,
    CopyArrive,
    Order,
    Proxy,
    Scope,
    WaitGroup,
)  # fmt: skip

if TYPE_CHECKING:
    from ptxmm.enumeration.threads import Runner

FIELD = Type("b", 8 * WORD)
Base = Callable[..., Step]


@dataclass
class Copy:
    """A copy that belongs to groups: what it reads and does in all, and how often groups were closed since."""

    bulk: bool
    reads: frozenset[int]
    everything: frozenset[int]
    closed: int = 0


@dataclass
class Flight:
    """The copies that a thread has started."""

    copies: list[Copy] = field(default_factory=list)


def copy(runner: Runner, item: AsyncCopy, base: Base) -> None:
    """A copy: its start, what it reads and writes later, and its completion."""
    program, thread, value = runner.program, runner.thread, runner.value
    start = begin(runner, base(kind="S", scope=item.scope))
    late, described = partial(base, issue=start), NONE
    if item.map is None:
        ways = [straight(program, thread, item, value)]
        size = ways[0].size
    else:
        at, declared = tensor_map(program, thread, value(item.map))
        spots, words = looked_at(program, at), dict[int, int]()
        described = frozenset(range(len(runner.steps), len(runner.steps) + len(spots)))
        for word, spot in spots.items():
            words[word] = runner.choose(runner.values(spot))
            runner.steps.append(late(kind="R", spot=spot, value=words[word], type=FIELD, via=Proxy.TENSORMAP))
        box = boxed(program, thread, item, value, declared, words)
        written = [rest.leg(program, thread, item) for rest in box.rests if runner.choose((0, 1))]
        ways, size = [*box.ways, *written], box.bytes
        late = partial(late, addr=described | runner.flows_of(operands(item)))
    mask = value(item.multicast) if item.multicast is not None else None
    for way in ways:
        for target in spread(program, thread, mask, way.target):
            move(runner, item, late, replace(way, target=target), described)
    if item.mbarrier is not None:
        mark = mbarrier_at(program, thread, value(item.mbarrier))
        for one in spread(program, thread, mask, mark):
            complete(runner, late, one, size, start)
    else:
        mine = since(runner, start)
        reads = frozenset(at for at in mine if runner.steps[at].kind == "R")
        runner.flight.copies.append(Copy(item.bulk, reads, mine))


def begin(runner: Runner, start: Step) -> int:
    """Note the start of a copy."""
    runner.steps.append(start)
    return len(runner.steps) - 1


def since(runner: Runner, start: int) -> frozenset[int]:
    """What a copy has done since its start, completions apart."""
    return frozenset(at for at in range(start + 1, len(runner.steps)) if runner.steps[at].kind in "RW")


def move(runner: Runner, item: AsyncCopy, late: Base, way: Leg, described: frozenset[int]) -> None:
    """The reads and writes of the pieces of a copy."""
    via = Proxy.ASYNC if item.bulk else Proxy.GENERIC
    named = {} if item.reduce is not None else {"order": item.order, "scope": item.scope}
    for first, end in runner.pieces.of(way):
        size, data, read = end - first, described, 0
        kind = Type("b", 8 * size)
        source = replace(way.source, offset=way.source.offset + first, size=size)
        target = replace(way.target, offset=way.target.offset + first, size=size)
        if first < way.known:
            read = runner.choose(runner.values(source))
            data = data | {len(runner.steps)}
            runner.steps.append(late(kind="R", spot=source, value=read, type=kind, via=via, **named))
        if item.reduce is None:
            runner.steps.append(late(kind="W", spot=target, value=read, type=kind, via=via, data=data, **named))
        else:
            element = item.type or runner.program.physical(target.object).type
            combine(runner, partial(late, via=via, scope=item.scope or Scope.SYS), item.reduce, element, target, read,
                    data)  # fmt: skip


def combine(runner: Runner, late: Base, op: str, kind: Type, target: Spot, given: int, data: frozenset[int],
            order: Order = Order.RELAXED) -> None:  # fmt: skip
    """The atomic operations of a copy on each element of some bytes."""
    if target.size % kind.size:
        raise GaveUp("this engine does not follow accesses to parts of the elements of a reduction")
    for at in range(0, target.size, kind.size):
        spot = replace(target, offset=target.offset + at, size=kind.size)
        old, read = runner.choose(runner.values(spot)), len(runner.steps)
        runner.steps.append(late(kind="R", spot=spot, value=old, type=kind, order=Order.RELAXED))
        operand = wrap(given >> 8 * at, kind.bits)
        new = atomic(op, old, (operand, operand), kind)
        assert new is not None
        write = late(kind="W", spot=spot, value=new, type=kind, order=order, data=data | {read}, partner=read)
        runner.steps.append(write)


def complete(runner: Runner, late: Base, mark: Spot, size: int, start: int) -> None:
    """The completion of a copy on an mbarrier: it releases what the copy read, and wrote in the CTA of that object."""
    owner = runner.program.physical(mark.object).owner
    done, here, anywhere = set(), False, False
    for at in since(runner, start):
        step = runner.steps[at]
        where = runner.program.physical(step.spot.object).owner if step.spot is not None else None
        mine = step.kind == "R" or (where is not None and owner is not None and cta(where) == cta(owner))
        anywhere |= step.kind == "W"
        here |= mine and step.kind == "W"
        done |= {at} if mine else set()
    if anywhere and not here:
        raise Undefined(f"completes on `{mark.object}`, which is in another CTA than its destination")
    runner.steps.append(
        late(
            kind="A", mbarrier=mark, operation=Operation("complete", bytes=-size), done=frozenset(done),
            order=Order.RELEASE, scope=Scope.CLUSTER,
        )
    )  # fmt: skip


def store(runner: Runner, item: AsyncStore, base: Base) -> None:
    """`st.async` and `red.async`."""
    start = begin(runner, base(kind="S", scope=item.scope))
    late, size = partial(base, issue=start, scope=item.scope), item.type.size
    whole = size * len(item.values)
    spot = place(runner.program, runner.thread, runner.value(item.address), whole, whole, writes=True)
    if item.mbarrier is not None and len(ctas(runner.program, runner.thread)) == 1:
        raise Undefined("is executed in a cluster of one CTA")
    if item.op is not None and item.mbarrier is not None and own(runner.program, runner.thread, spot):
        raise Undefined("reduces in the shared memory of its own CTA")
    for at, expr in enumerate(item.values):
        element = replace(spot, offset=spot.offset + at * size, size=size)
        value, data = wrap(runner.value(expr), item.type.bits), runner.flows(expr)
        if item.op is None:
            step = late(kind="W", spot=element, value=value, type=item.type, order=item.order, data=data)
            runner.steps.append(step)
        else:
            order = Order.RELEASE if item.order is Order.RELEASE else Order.RELAXED
            combine(runner, partial(late, scope=item.scope or Scope.SYS), item.op, item.type, element, value, data,
                    order)  # fmt: skip
    if item.mbarrier is not None:
        complete(runner, late, mbarrier_at(runner.program, runner.thread, runner.value(item.mbarrier)), whole, start)


def commit(runner: Runner, item: Commit, base: Base) -> None:
    """The end of a group: it holds the copies since the last one."""
    runner.steps.append(base(kind="N"))
    for one in runner.flight.copies:
        one.closed += one.bulk == item.bulk


def wait_group(runner: Runner, item: WaitGroup, base: Base) -> None:
    """A wait until all groups but the last few are over."""
    closed = [one for one in runner.flight.copies if one.bulk == item.bulk
              and (item.pending is None or one.closed > item.pending)]  # fmt: skip
    done = NONE.union(*(one.reads if item.read else one.everything for one in closed))
    runner.steps.append(base(kind="G", done=done))


def copy_arrive(runner: Runner, item: CopyArrive, base: Base) -> None:
    """An arrival after the copies that the thread has started; before it, one more may become pending."""
    mark = mbarrier_at(runner.program, runner.thread, runner.value(item.address))
    if item.increments:
        runner.steps.append(base(kind="A", mbarrier=mark, operation=Operation("more")))
    start = begin(runner, base(kind="S"))
    done = NONE.union(*(one.everything for one in runner.flight.copies if not one.bulk))
    runner.steps.append(
        base(
            kind="A", mbarrier=mark, operation=Operation("arrive", 1), issue=start, done=done, order=Order.RELEASE,
            scope=Scope.CTA,
        )
    )  # fmt: skip
