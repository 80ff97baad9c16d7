"""A job under one profile: the test runs all the time, its controls beside it, until one shows what is looked for."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import Any

from ptxmm.gpu.device import Gpu
from ptxmm.gpu.jobs import Job, Played
from ptxmm.gpu.launch import LAUNCH, PASSES, Launch, Side
from ptxmm.gpu.log import Profile
from ptxmm.gpu.shape import shape, units

SHOWN = 256
"""As often must a control show what is looked for that the others need not run: eight warps, if lanes are alike."""

SLOW = 8
"""So many times as long may a pass take beside a control as it takes without one."""

AT_ONCE = 2
"""The fewest launches of a turn: in each of them the two sides of a launch change places."""

TURN = 20e-3
"""Seconds of the longest turn: between turns the device waits for the next launch."""


class Turn:
    """The test with one control (0 is none): in one launch if there is room for both, else launch by launch."""

    def __init__(self, sides: Sides, control: int) -> None:
        self.sides, self.control, self.passes = sides, control, 0
        self.beside = control > 0 and sides.room
        if self.beside:
            self.launches = [sides.launch(0, control)]
        else:
            self.launches = [sides.launch(0, None), *([sides.launch(None, control)] if control else [])]

    def calibrate(self, aim: float) -> float:
        """One launch of one pass, which takes so many seconds; then as many a launch as take as long as is aimed at."""
        gpu = self.sides.gpu
        with gpu.undisturbed():
            first = gpu.event()
            self.launch(1)
            last = gpu.event()
            gpu.wait(last)
        seconds = max(1e-6, gpu.between(first, last) / len(self.launches))
        self.passes = int(min(PASSES, max(1, aim / seconds)))
        return seconds

    def launch(self, passes: int) -> None:
        for each in self.launches:
            each(passes, self.sides.job.seed)

    def shows(self) -> bool:
        """Whether the control has shown often enough what is looked for."""
        return self.control > 0 and self.sides.seen(self.control) >= SHOWN


class Sides:
    """The kernels of a job under one profile, each with its memory as soon as it takes part."""

    def __init__(self, gpu: Gpu, job: Job, function: Any, profile: Profile) -> None:
        self.gpu, self.job, self.function, self.profile = gpu, job, function, profile
        self.found: dict[tuple[int, int], Side] = {}
        self.layout = job.kernels[0].layout
        gpu.give_back()
        occupancy = gpu.occupancy(function, self.layout.threads, self.layout.slot)
        sizes = (shape(one, profile, gpu.chip, occupancy, sides) for one in job.kernels for sides in (1, 2))
        self.occupancy = gpu.occupancy(function, self.layout.threads, max(size.dynamic for size in sizes))
        self.room = units(self.layout, profile, gpu.chip, self.occupancy, 2) > 0

    def side(self, control: int, sides: int) -> Side:
        """A kernel on one of so many sides."""
        if (control, sides) not in self.found:
            kernel = self.job.kernels[control]
            size = shape(kernel, self.profile, self.gpu.chip, self.occupancy, sides)
            place = control * 2 + sides - 1
            self.found[control, sides] = Side(self.gpu, kernel, self.profile, size, control, place)
        return self.found[control, sides]

    def launch(self, test: int | None, control: int | None) -> Launch:
        """A launch of the test, of a control, or of both."""
        played = (test, control)
        number = sum(one is not None for one in played)
        first, second = (self.side(one, number) if one is not None else None for one in played)
        return Launch(self.gpu, self.function, len(self.job.kernels), (first, second), control or 0)

    def seen(self, control: int) -> int:
        """How often a kernel has shown what is looked for."""
        mine = [side for (one, _), side in self.found.items() if one == control]
        return sum(side.seen(failing=self.job.failing) for side in mine)

    def played(self, turns: list[Turn], seconds: float) -> Played:
        """What all of it came to."""
        tallies, beside = [], {turn.control: turn.beside for turn in turns}
        for control in range(len(self.job.kernels)):
            mine = [side.tally() for (one, _), side in sorted(self.found.items(), key=lambda i: i[0]) if one == control]
            whole = mine[0] if mine else None
            for other in mine[1:]:
                whole = whole.plus(other) if whole is not None else other
            tallies.append(whole)
        return Played(tuple(tallies), tuple(beside.get(c, False) for c in range(len(tallies))), seconds)


def alone(gpu: Gpu, job: Job, function: Any, profile: Profile) -> float:
    """One pass of the test without its controls, in seconds: what fails here is its own fault."""
    return Turn(Sides(gpu, job, function, profile), 0).calibrate(0)


def play(gpu: Gpu, job: Job, function: Any, profile: Profile, order: deque[int], usual: float = math.inf) -> Played:
    """Launch until the time of one profile is over; `order` has the controls, those first that have shown most.

    A control beside which a pass takes far longer than the `usual` seconds, because its waits are stuck, is given up.
    """
    begun, share = time.perf_counter(), job.seconds / len(job.profiles)
    aim = max(1e-6, min(LAUNCH, share / 8))
    at_once = max(AT_ONCE, 2 * int(min(TURN, share / 8) / aim / 2))
    sides = Sides(gpu, job, function, profile)
    turns: dict[int, Turn] = {}
    while True:
        control = order[0] if order else 0
        if control not in turns:
            turns[control] = Turn(sides, control)
            if turns[control].calibrate(aim) > max(share / 2, SLOW * usual) and control:
                order.remove(control)
                continue
        turn, started = turns[control], time.perf_counter()
        with gpu.undisturbed():
            for _ in range(at_once):
                turn.launch(turn.passes)
            gpu.wait()
        if len(order) > 1 and not turn.shows():
            order.rotate(-1)
        now = time.perf_counter()
        if now + (now - started) / 2 - begun >= share:
            break
    return sides.played(list(turns.values()), time.perf_counter() - begun)
