"""Instructions on mbarriers on one path of a thread: the operation that each does, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ptxmm.enumeration.counted import TOKEN, Operation
from ptxmm.enumeration.legs import (
    Undefined,
    mbarrier_at,
)
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.path import Step
from ptxmm.program import (
    CopyArrive,
    Expr,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    Program,
)  # fmt: skip

if TYPE_CHECKING:
    from ptxmm.enumeration.threads import Runner

Base = Callable[..., Step]
OnMbarrier = MbarrierInit | MbarrierInval | MbarrierTx | MbarrierArrive | MbarrierWait


def on_mbarrier(runner: Runner, item: OnMbarrier, base: Base) -> None:
    """One operation on an mbarrier, and what it returns."""
    mark = mbarrier_at(runner.program, runner.thread, runner.value(item.address))
    base, value, result = partial(base, kind="A", mbarrier=mark), runner.value, None
    match item:
        case MbarrierInit():
            step = base(operation=Operation("init", value(item.count)))
        case MbarrierInval():
            step = base(operation=Operation("inval"))
        case MbarrierTx():
            kind, size = ("complete", -value(item.bytes)) if item.complete else ("expect", value(item.bytes))
            step = base(operation=Operation(kind, bytes=size), scope=item.scope)
        case MbarrierArrive():
            expected = value(item.expect) if item.expect is not None else 0
            kind, detailed = "drop" if item.drop else "arrive", runner.tokens.detailed and not item.completes
            if item.dst is not None:
                result = runner.choose(runner.tokens.values if item.completes else runner.tokens.counted)
            operation = Operation(kind, value(item.count), expected, item.completes, tells=item.dst is not None,
                                  detailed=detailed)  # fmt: skip
            step = base(operation=operation, value=result or 0, order=item.order, scope=item.scope)
        case MbarrierWait():
            wanted = item.token if item.token is not None else item.parity
            assert wanted is not None
            asked = value(wanted)
            if item.token is None and asked > 1:
                raise Undefined("waits for a parity that is neither 0 nor 1")
            result = runner.choose((1, 0))
            operation = Operation("wait", parity=item.token is None, asked=asked, tries=item.tries)
            step = base(operation=operation, value=result, order=item.order, scope=item.scope)
    runner.steps.append(step)
    dst: str | None = getattr(item, "dst", None)
    if dst is not None and result is not None:
        runner.write(dst, result, frozenset({len(runner.steps) - 1}), item.guard)


def pending(runner: Runner, item: MbarrierPending, base: Base) -> None:
    """The pending count in a token, which only those of arrivals with `.noComplete` hold."""
    if runner.value(item.token) < TOKEN:
        raise Undefined("takes no state of an arrival with .noComplete")
    runner.write(item.dst, runner.value(item.token) // TOKEN, runner.flows(item.token), item.guard)


@dataclass(frozen=True)
class Tokens:
    """What an arrive may return in a test, and with `.noComplete`: `detailed` says that the pending count matters."""

    values: tuple[int, ...] = (0,)
    counted: tuple[int, ...] = (0,)
    detailed: bool = False


NO_TOKENS = Tokens()


def tokens(program: Program, arrivals: int) -> Tokens:
    """What an arrive may return, where so many operations can end a phase."""
    phases = tuple(range(arrivals + 1))
    items = [item for thread in program.threads for item in thread.body]
    if not any(isinstance(item, MbarrierPending) for item in items):
        return Tokens(phases, phases)
    counts = [one.mbarrier for one in program.objects if one.mbarrier is not None]
    for item in items:
        if isinstance(item, MbarrierInit):
            counts.append(constant(item.count))
    most = max(counts, default=1) + sum(isinstance(item, CopyArrive) for item in items) * (arrivals + 1)
    return Tokens(phases, tuple(p + TOKEN * n for p in phases for n in range(1, most + 1)), detailed=True)


def constant(expr: Expr) -> int:
    """An operand that is written as a number."""
    value = getattr(expr, "value", None)
    if not isinstance(value, int):
        raise GaveUp("this engine follows pending counts only where counts are written as numbers")
    return value
