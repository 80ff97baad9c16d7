"""Arms that take turns: each round runs all of them in a new order, and the first round counts for no time."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from ptxmm.gpu.measure.results import Role, Row, Series
from ptxmm.gpu.measure.statistics import Count, Spread, orders

LEAST, MOST = 6, 40
AGAIN = " (again)"


@dataclass(frozen=True, slots=True)
class Reading:
    """What one run of an arm gave: a time in the unit of its series, a count of what went wrong, or both."""

    time: float | None = None
    count: Count | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """Something to run again and again."""

    name: str
    role: Role
    run: Callable[[], Reading]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one series runs. The reference, if there is one, runs as two arms: how far it is from itself is the band.

    `rounds` are the most that are run, for arms that take long and repeat themselves.
    """

    name: str
    setting: str
    arms: tuple[Arm, ...]
    unit: str = ""
    wrong: str = "wrong"
    reference: str | None = None
    rounds: int = MOST


def carry_out(plan: Plan, seconds: float, seed: int, clock: Callable[[], float] = time.monotonic) -> Series:
    """The series that a plan asks for: rounds until the seconds are used, a few at least, and not too many."""
    run = {arm.name: arm.run for arm in plan.arms}
    named = {name: name for name in run}
    if plan.reference is not None:
        named[plan.reference + AGAIN] = plan.reference
    times: dict[str, list[float]] = defaultdict(list)
    counts: dict[str, Count] = {}
    end = clock() + seconds
    for round, order in enumerate(orders(list(named), plan.rounds + 1, seed)):
        if round > LEAST and clock() > end:
            break
        for name in order:
            arm = named[name]
            reading = run[arm]()
            if reading.time is not None and round:
                times[name].append(reading.time)
            if reading.count is not None:
                counts[arm] = counts[arm] + reading.count if arm in counts else reading.count
    return Series(
        plan.name,
        plan.setting,
        plan.unit,
        plan.wrong,
        plan.reference,
        _band(plan.reference, times),
        tuple(
            Row(arm.name, arm.role, Spread.of(times[arm.name]) if arm.name in times else None, counts.get(arm.name))
            for arm in plan.arms
        ),
    )


def _band(reference: str | None, times: dict[str, list[float]]) -> float | None:
    if reference is None or reference not in times:
        return None
    once, again = Spread.of(times[reference]), Spread.of(times[reference + AGAIN])
    return abs(again.median / once.median - 1)
