"""Launches: one kernel under one profile with its memory and what it counted, and kernels that run in one launch."""

from __future__ import annotations

from typing import Any

from ptxmm.gpu import dependents
from ptxmm.gpu.counting import Tally
from ptxmm.gpu.device import Gpu
from ptxmm.gpu.harness import COPIES, COUNTED, COUNTERS, KEYS, STATES, VALUES
from ptxmm.gpu.kernel import Kernel
from ptxmm.gpu.log import Profile
from ptxmm.gpu.maps import MAP_BYTES, Described, encoded
from ptxmm.gpu.parameters import ROOM
from ptxmm.gpu.peers import Start
from ptxmm.gpu.shape import Shape
from ptxmm.gpu.stages import Stage
from ptxmm.gpu.stress import FIRST, WORDS
from ptxmm.gpu.textures import Viewed

LAUNCH = 1.5e-3
"""Seconds that one launch is aimed at."""

PASSES = 4096
PATIENCE = 2_000_000
"""Cycles after which a wait is stuck."""

SCRATCH = FIRST + 4 * WORDS
PRELOADS = {"none": 0, "late": 1, "all": 2}


class Side:
    """One kernel under one profile: the size of its part of a launch, its memory, and what it counted.

    `place` tells what it counts from what others count; the test and its controls have memory of their own, which is
    that of one control after the other.
    """

    def __init__(self, gpu: Gpu, kernel: Kernel, profile: Profile, size: Shape, control: int, place: int) -> None:
        self.gpu, self.kernel, self.profile, self.shape = gpu, kernel, profile, size
        side, self.alias = min(control, 1), 0
        if kernel.aliased:
            self.memory, self.alias = gpu.twice(f"twice{side}", size.memory + 256)
        elif kernel.placed:
            piece, count = size.memory // len(kernel.placed), len(kernel.layout.devices.numbers)
            self.memory = gpu.pieces(f"pieces{side}", piece, kernel.placed, count)
        else:
            self.memory = gpu.buffer(f"memory{side}", size.memory + 256)
        self.results = gpu.buffer(f"results{side}", size.results + 256)
        self.sync = gpu.buffer(f"sync{place}", size.sync)
        self.table = gpu.buffer(f"table{place}", size.table)
        self.scratch = gpu.buffer("scratch", SCRATCH)
        cleared = ((self.sync, size.sync), (self.table, size.table))
        for buffer, length in cleared if kernel.placed else ((self.memory, size.memory), *cleared):
            buffer[:length].fill(0)
        self.templates = gpu.buffer(f"templates{place}", MAP_BYTES * max(1, len(kernel.maps)))
        for number, described in enumerate(kernel.maps):
            content = gpu.numpy.frombuffer(encoded(described, self.start), gpu.numpy.uint8)
            self.templates[number * MAP_BYTES : (number + 1) * MAP_BYTES] = gpu.cupy.asarray(content)
        self.viewed = Viewed(gpu, kernel.views, side, self.start, self.alias, size.memory)
        self.parameters = [self._parameter(*each) for each in kernel.parameters]
        self.met = [0] * len(kernel.layout.stages)
        self.expected, self.launches = 0, 0

    def _parameter(self, map_: Described, array: int) -> Any:
        """A tensor map for each copy of the test, as one value."""
        size = self.shape
        first, copies = self.start + array * size.stride, size.instances
        content = b"".join(encoded(map_, first + copy * size.slot) for copy in range(copies))
        return self.gpu.numpy.frombuffer(content.ljust(ROOM * MAP_BYTES, b"\0"), f"V{ROOM * MAP_BYTES}")

    def arguments(self, passes: int, seed: int, stage: int) -> tuple[Any, ...]:
        """The parameters of the kernel for the next launch; where a pass has several, of one stage."""
        met = self.met[stage - 1] if 0 < stage <= len(self.met) else self.met[0]
        u32, u64, s = self.gpu.numpy.uint32, self.gpu.numpy.uint64, self.shape
        pointers = [b.data.ptr for b in (self.results, self.sync, self.table, self.scratch, self.templates)]
        return (
            u64(self.start), u64(s.stride), u32(s.slot), *(u64(p) for p in pointers), u64(self.alias % (1 << 64)),
            u32(self.gpu.epoch), u32(met % (1 << 32)), u32(s.units), u32(s.rounds), u32(passes), u32(s.turn),
            u32(PRELOADS[self.profile.preload]), u32(self.profile.busy), u64(PATIENCE), u32(seed % (1 << 32)),
            u32(stage), *self.viewed.arguments(), *self.parameters,
        )  # fmt: skip

    @property
    def start(self) -> int:
        """Where the arrays of the objects begin."""
        return int(-(-self.memory.data.ptr // 256) * 256)

    def launched(self, passes: int) -> None:
        """Count a launch, or all launches of a pass."""
        for number, (stage, meetings) in enumerate(zip(self.kernel.layout.stages, self.kernel.meetings, strict=True)):
            self.met[number] += len(stage.threads) * passes * (self.shape.rounds + meetings)
        self.expected += self.shape.instances * passes
        self.launches += 1

    @property
    def ends(self) -> int:
        """How many threads of the harness say in a launch that they have ended."""
        return len(self.kernel.layout.seats) * self.shape.teams

    def seen(self, *, failing: bool) -> int:
        """How often the formula held so far, or with `failing` did not: a look at the counters alone."""
        counters = _counters(self.table[COUNTED:KEYS].get().view(self.gpu.numpy.uint64))
        finished = counters["instances"] - counters["stuck"] - counters["filtered"]
        return finished - counters["holding"] if failing else counters["holding"]

    def tally(self) -> Tally:
        """What was counted so far."""
        numpy, words = self.gpu.numpy, sum(self.kernel.words)
        raw = self.table[: self.shape.table].get()
        counts = raw[:COUNTED].view(numpy.uint64).reshape(COPIES, STATES).sum(axis=0)
        keys = raw[KEYS:VALUES].view(numpy.uint64)
        values = raw[VALUES:].view(numpy.uint64).reshape(STATES, max(1, words))
        states = tuple(
            (tuple(int(word) for word in values[place][:words]), int(counts[place]))
            for place in numpy.flatnonzero(keys)
        )
        counters = _counters(raw[COUNTED:KEYS].view(numpy.uint64))
        failed = int(self.sync[:4].get().view(numpy.uint32)[0])
        return Tally(states, counters, self.expected, failed, self.launches)


def _counters(words: Any) -> dict[str, int]:
    """What each counter counted in all of its copies."""
    return dict(zip(COUNTERS, map(int, words.reshape(COPIES, 8).sum(axis=0)), strict=False))


Sides = tuple[Side | None, Side | None]


class Launch:
    """One or two of the `kernels` of an entry in one launch: the test's, and that of the `chosen` control."""

    def __init__(self, gpu: Gpu, function: Any, kernels: int, sides: Sides, chosen: int) -> None:
        self.gpu, self.function, self.kernels, self.sides, self.chosen = gpu, function, kernels, sides, chosen
        self.present = [side for side in sides if side is not None]
        for side in self.present:
            side.viewed.open(function)
        self.flipped = False

    def __call__(self, passes: int, seed: int) -> None:
        """Launch; where there are two sides, they change places from launch to launch."""
        self.gpu.ensure_epochs(passes)
        layout = self.present[0].kernel.layout
        if layout.staged:
            for _ in range(passes):
                self._pass(seed, layout.stages)
        else:
            self._launch(passes, seed)
            self._launched(passes)
        self.flipped = len(self.present) > 1 and not self.flipped

    def _pass(self, seed: int, stages: tuple[Stage, ...]) -> None:
        """The launches of a pass: initial values, the stages of the test, and counting."""
        self._launch(1, seed, 0)
        for number, stage in enumerate(stages, 1):
            self._launch(1, seed, number, dependent=stage.dependent)
        self._launch(1, seed, len(stages) + 1)
        self._launched(1)

    def _launched(self, passes: int) -> None:
        for side in self.present:
            side.launched(passes)
        self.gpu.epoch += passes

    def _launch(self, passes: int, seed: int, stage: int = 0, *, dependent: bool = False) -> None:
        first = self.present[0]
        arguments: list[Any] = []
        for side in self.sides if self.kernels > 1 else self.present:
            arguments += (side or first).arguments(passes, seed, stage)
        self.gpu.ended += sum(side.ends for side in self.present) if first.profile.stress else 0
        starts = [self._start(arguments, place) for place in range(len(first.kernel.layout.spread))]
        (grid, given), *others = starts
        dynamic = max(side.shape.dynamic for side in self.present)
        block = (first.shape.threads, 1, 1)
        if dependent:
            dependents.launch(self.function, self.gpu.stream(), grid, block, given, dynamic)
        elif others:
            self.function(starts, block, dynamic)
        else:
            self.function(grid, block, given, dynamic)

    def _start(self, arguments: list[Any], place: int) -> Start:
        """The part of a launch that a GPU has: its CTAs, and what they are given."""
        first = self.present[0]
        layout, every = first.kernel.layout, first.profile.stress
        before, here = sum(layout.spread[:place]), layout.spread[place]
        played = first.shape.units * here * len(self.present)
        half = played // len(self.present) if self.sides[0] is not None else 0
        clusters = played + (played // (every - 1) if every else 0)
        division = (every, self.gpu.ended % (1 << 32), half, self.flipped, self.chosen)
        given = (*division, before, here) if layout.devices.spread else division
        return (clusters * layout.cluster_size, 1, 1), (*arguments, *map(self.gpu.numpy.uint32, given))
