"""Tests on the machine in this process, through the same launches as on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from machine import standin
from machine.device import Settings
from ptxmm.gpu import layout
from ptxmm.gpu.counting import counted
from ptxmm.gpu.device import Gpu
from ptxmm.gpu.jobs import Job
from ptxmm.gpu.kernel import entry
from ptxmm.gpu.log import Counted, Profile
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.source import kernel
from ptxmm.gpu.turns import Sides, Turn
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.states import enumerate_states

PASSES = 2

STUCK = "a thread was stuck while others waited for it at a barrier"
"""What a run is told that cannot go on because of a wait that nothing ends."""


def states(counted: Counted) -> set[tuple[int, ...]]:
    """The final states that were seen."""
    return {outcome.values for outcome in counted.outcomes}


def allowed(program: Program, model: Model) -> set[tuple[int, ...]]:
    """The final states of a model, all of them."""
    found = enumerate_states(program, model, Options())
    assert found.complete, found.why
    return {state.values for state in found.states}


@contextmanager
def device(**settings: Any) -> Iterator[Gpu]:
    """The machine as the GPU of this process."""
    standin.restart(Settings(**settings))
    with patch.dict(sys.modules, {"cupy": standin}):
        yield Gpu(0)


def seen(
    program: Program, *controls: Program, profile: Profile = PROFILES["few"], passes: int = PASSES, launches: int = 1,
    warps: int = layout.WARPS, first: int = 1, **settings: Any,
) -> tuple[Counted, ...]:  # fmt: skip
    """What was counted of a test, and of its controls, which run beside it; checked as it always is.

    A CTA has at most so many `warps` where the test leaves that open; `first` is the epoch of the first pass. There are
    as many devices as the test has, if nothing else is said.
    """
    with patch.object(layout, "WARPS", warps):
        own = kernel(program)
        kernels = (own, *(kernel(control, own.layout) for control in controls))
    with device(**{"devices": len(own.layout.devices.numbers), **settings}) as gpu:
        gpu.epoch, whole = first, entry(*kernels)
        job = Job(0, whole, (profile,), 1.0, settings.get("seed", 0))
        function, devices = gpu.load(whole.text.encode()), own.layout.devices
        if devices.spread:
            function = gpu.peers(len(devices.numbers)).load(function, whole.text.encode(), gpu.module)
        sides = Sides(gpu, job, function, profile)
        turns = [Turn(sides, control) for control in (range(1, len(kernels)) if controls else (0,))]
        for turn in turns:
            for _ in range(launches):
                turn.launch(passes)
        gpu.wait()
        tallies = sides.played(turns, 0.0).tallies
    made = zip((program, *controls), kernels, tallies, strict=True)
    return tuple(counted(test, its, tally) for test, its, tally in made if tally is not None)
