"""The machine as a device: memory, streams with launches in order, and what it says about itself."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from threading import Event
from typing import Any

from machine import VARIABLE, mbarriers
from machine.barriers import reduced
from machine.grid import DYNAMIC, Grid
from machine.memory import Fault, Memory
from machine.rows import ROWS
from machine.scheduler import Hang, Scheduler
from machine.shown import CONSTANTS, texel
from machine.started import CALLED
from machine.streams import Stream
from machine.text import Entry
from machine.translate import PLAIN, Body, translated
from machine.warps import ballot, same


@dataclass(frozen=True, slots=True)
class Settings:
    """What kind of device it is; `seed` decides every interleaving, `most` is how many steps a launch may have.

    A launch that would not end fails; with `hangs` it does not end, and whoever waits for it does so for ever. With
    `stale` a CTA sees a word through textures and constants as it first did, however long the launch goes on. There
    are so many `devices`, which share all memory; with `apart` they do not reach each other's, with `copied` they do,
    and have no atomic operations there.
    """

    seed: int = 0
    multiprocessors: int = 1
    occupancy: int = 1
    l2: int = 1024
    capability: Sequence[int] = (9, 0)
    most: int = 20_000_000
    hangs: bool = False
    stale: bool = False
    devices: int = 1
    apart: bool = False
    copied: bool = False

    @classmethod
    def chosen(cls) -> Settings:
        """Those of the environment variable `PTXMM_MACHINE`, an object of JSON."""
        given: dict[str, Any] = json.loads(os.environ.get(VARIABLE, "{}"))
        return cls(**given)


MOST_THREADS, MOST_CTAS, MOST_SHARED = 1024, 8, 227 << 10
"""What a device takes in a CTA and in a cluster (CUDA programming guide, "compute capabilities")."""

Arguments = tuple[tuple[int, int], ...]
"""What a kernel is given: each value as a number, with its width in bits."""


@lru_cache(maxsize=64)
def compiled(text: str) -> tuple[Entry, Body]:
    """A kernel as Python, made once."""
    return translated(text, ROWS, NAMES)


NAMES: dict[str, Any] = {
    **CALLED, "mbarriers": mbarriers, "ballot": ballot, "same": same, "reduced": reduced, "DYNAMIC": DYNAMIC,
    "texel": texel, "CONSTANTS": CONSTANTS,
}  # fmt: skip


@dataclass(slots=True, eq=False)
class Machine:
    """A device: what is in a stream runs in order, streams run beside each other."""

    settings: Settings = field(default_factory=Settings.chosen)
    memory: Memory = field(default_factory=Memory)
    random: Random = field(init=False)
    scheduler: Scheduler = field(init=False)
    streams: dict[int, Stream] = field(default_factory=dict)
    hung: bool = False
    banks: dict[str, int] = field(default_factory=dict)
    reaching: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = Random(self.settings.seed)
        self.scheduler = Scheduler(self.random, self.settings.most)

    def stream(self, number: int) -> Stream:
        """A stream; nothing in it starts before somebody waits."""
        return self.streams.setdefault(number, Stream())

    def launch(
        self, stream: int, text: str, shape: tuple[int, int], arguments: Arguments, dynamic: int,
        *, dependent: bool = False,
    ) -> None:  # fmt: skip
        """Put a launch of `shape` CTAs and threads into a stream; each argument with its width in bits."""
        entry, body = compiled(text)
        widths, expected = [bits for _, bits in arguments], [bits for _, bits in entry.parameters]
        if widths != expected:
            raise Fault(f"arguments of {widths} bits for parameters of {expected}")
        ctas, threads = shape
        if threads > MOST_THREADS or entry.cluster > MOST_CTAS or dynamic > MOST_SHARED:
            raise Fault(
                f"{threads} threads of a CTA, {entry.cluster} CTAs of a cluster, {dynamic} bytes of shared memory"
            )
        if threads > entry.threads or ctas % entry.cluster:
            raise Fault(f"{ctas} CTAs of {threads} threads, in clusters of {entry.cluster}, at most {entry.threads}")

        def work(before: Grid | None, released: Callable[[], None], over: Callable[[], None]) -> Grid:
            values, pieces = self._placed(arguments)

            def ended() -> None:
                for piece, size in pieces:
                    self.memory.release(piece, size)
                over()

            grid = Grid(
                self.memory, self.scheduler, shape, entry.cluster, dynamic, lambda thread: body(thread, values),
                released, ended, before, self.constants(text),
                self.settings.stale,
            )  # fmt: skip
            grid.start(self.random)
            return grid

        self.stream(stream).put(work, dependent=dependent)

    def constants(self, text: str) -> tuple[int, int]:
        """Where the constant bank of a module is in memory, and its size."""
        arrays = compiled(text)[0].constants.values()
        size = max((start + len(content) for start, content in arrays), default=0)
        if size and text not in self.banks:
            self.banks[text] = self.memory.allocate(size)
            for start, content in arrays:
                self.memory.piece(self.banks[text] + start, len(content))[:] = content
        return self.banks.get(text, 0), size

    def _placed(self, arguments: Arguments) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """Arguments as a kernel finds them, and the memory of those that are no numbers."""
        values, pieces = [], []
        for value, bits in arguments:
            if bits > PLAIN:
                pieces.append((self.memory.allocate(bits // 8), bits // 8))
                self.memory.piece(*pieces[-1])[:] = value.to_bytes(bits // 8, "little")
            values.append(pieces[-1][0] if bits > PLAIN else value)
        return tuple(values), pieces

    def synchronize(self) -> None:
        """Run until every stream is empty."""
        if not self.done():
            Event().wait()

    def done(self) -> bool:
        """Run until every stream is empty, or whatever goes on would never end."""
        for stream in list(self.streams.values()):
            stream.advance()
        try:
            if not self.hung:
                self.scheduler.run()
        except Hang:
            if not self.settings.hangs:
                raise
            self.hung = True
        finally:
            self.scheduler = Scheduler(self.random, self.settings.most, steps=self.scheduler.steps)
            self.streams.clear()
        return not self.hung
