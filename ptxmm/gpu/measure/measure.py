"""One measurement as its parts: what it asks, the settings that it goes through, and what each of them runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ptxmm import __version__
from ptxmm.errors import PtxmmError
from ptxmm.gpu.measure.arms import Plan, carry_out
from ptxmm.gpu.measure.claims import Stated, judged
from ptxmm.gpu.measure.machine import Machine
from ptxmm.gpu.measure.results import Measurement, Series

Lab = Callable[[Any], Plan]
"""From a setting to the plan of its series; made once, with the module and the memory that all settings share."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measurement: `prepare` compiles its kernels and answers with the plan of each of its `settings`.

    `needs` is the least compute capability.
    """

    name: str
    asks: str
    settings: tuple[Any, ...]
    prepare: Callable[[Machine], Lab]
    claims: tuple[Stated, ...]
    needs: tuple[int, int] = (7, 0)


def series_of(measure: Measure, machine: Machine, seconds: float, seed: int) -> Iterator[Series]:
    """The series of a measurement, one setting after another, each with its share of the seconds."""
    if machine.capability < measure.needs:
        needed, there = "{}.{}".format(*measure.needs), "{}.{}".format(*machine.capability)
        raise PtxmmError(f"{measure.name} needs compute capability {needed}, and {machine.device.name} has {there}")
    machine.code = ()
    try:
        lab = measure.prepare(machine)
        for number, setting in enumerate(measure.settings):
            yield carry_out(lab(setting), seconds / len(measure.settings), seed + number)
    finally:
        machine.release()


def finished(measure: Measure, machine: Machine, series: tuple[Series, ...], started: float) -> Measurement:
    """The measurement that the series make, judged."""
    return Measurement(
        measure.name,
        machine.device,
        datetime.now(UTC).date().isoformat(),
        round(time.perf_counter() - started, 3),
        series,
        judged(measure.claims, series),
        __version__,
        code=machine.code,
    )
