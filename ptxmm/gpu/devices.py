"""The devices of a test: which GPU plays each, which of the clusters it has, and what memory lies there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ptxmm.program import Program, Space


@dataclass(frozen=True, slots=True)
class Devices:
    """Devices by number, in the order of the GPUs that play them: those on which threads run first.

    Where threads run on several, `spread` says how many of the clusters each has, one device after the other.
    """

    numbers: tuple[int, ...] = (0,)
    spread: tuple[int, ...] = ()

    @property
    def scope(self) -> str:
        """The scope in which all threads of a copy meet."""
        return "sys" if self.spread else "gpu"


ONE = Devices()


def devices_of(program: Program) -> tuple[int, ...]:
    """The devices of a test, those on which threads run first.

    >>> from ptxmm.syntax.lit import read
    >>> (test,) = read("ptx t .global .u32 x @ d0; thread A @ d1.c0.b0 { st.u32 [x], 1; }", "t.lit")
    >>> devices_of(test)
    (1, 0)
    """
    run = {thread.place.device for thread in program.threads}
    lie = {item.device for item in program.objects if item.device is not None}
    return (*sorted(run), *sorted(lie - run))


def spread_of(program: Program, clusters: Iterable[int]) -> Devices:
    """The devices of a test whose clusters are on the given ones."""
    numbers, there = devices_of(program), tuple(clusters)
    counts = tuple(there.count(number) for number in numbers)
    return Devices(numbers, counts if sum(count > 0 for count in counts) > 1 else ())


def placed(program: Program, devices: Devices) -> tuple[int, ...]:
    """Which of the GPUs has each object in global memory; nothing where the first has them all."""
    named = [item.device for item in program.objects if item.space is Space.GLOBAL]
    found = tuple(0 if device is None else devices.numbers.index(device) for device in named)
    return found if any(found) else ()
