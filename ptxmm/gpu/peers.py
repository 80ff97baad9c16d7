"""Several GPUs that play one test: a kernel is launched on all of them at once, and they reach each other's memory.

Whatever is launched on the others stands between two moments in the stream of the first, as if it were in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxmm.gpu.device import Gpu

ENABLED = "PeerAccessAlreadyEnabled"

Grid = tuple[int, int, int]
Start = tuple[Grid, tuple[Any, ...]]
"""The CTAs of a launch, and what the kernel is given."""


@dataclass(slots=True, eq=False)
class Spread:
    """A kernel loaded on several GPUs, the first of which is that of the current thread."""

    peers: Peers
    functions: tuple[Any, ...]

    @property
    def ptr(self) -> int:
        """The kernel on the first of them, as the driver knows it."""
        return int(self.functions[0].ptr)

    def occupancy(self, threads: int, dynamic: int, of: Callable[[Any, int, int], int]) -> int:
        """How many CTAs fit on a multiprocessor of each; a kernel that has been asked about is loaded for good."""
        found = []
        for number, function in zip(self.peers.numbers, self.functions, strict=True):
            with self.peers.on(number):
                found.append(of(function, threads, dynamic))
        return min(found)

    def __call__(self, starts: list[Start], block: Grid, dynamic: int) -> None:
        """Launch on each of the GPUs that has a part, so close together that those that meet find each other."""
        peers = self.peers
        begun = peers.gpu.event()
        with peers.gpu.loading:
            for stream in peers.streams.values():
                stream.wait_event(begun)
            for number, function, (grid, arguments) in zip(peers.numbers, self.functions, starts, strict=True):
                if grid[0]:
                    with peers.on(number):
                        function(grid, block, arguments, dynamic, stream=peers.streams.get(number))
        for ended in peers.moments():
            peers.gpu.current().wait_event(ended)


class Peers:
    """The first `count` GPUs from that of a process on, each of the others with a stream of its own."""

    def __init__(self, gpu: Gpu, count: int) -> None:
        self.gpu, self.cuda = gpu, gpu.cupy.cuda
        self.numbers = tuple(range(gpu.number, gpu.number + count))
        for one, other in permutations(self.numbers, 2):
            self._enable(one, other)
        self.streams: dict[int, Any] = {}
        for number in self.numbers[1:]:
            with self.on(number):
                self.streams[number] = self.cuda.Stream(non_blocking=True)
        self.loaded: dict[bytes, Spread] = {}

    @contextmanager
    def on(self, number: int) -> Iterator[None]:
        """Make another GPU that of this thread for a while."""
        with self.cuda.Device(number):
            yield

    def _enable(self, one: int, other: int) -> None:
        """Let a GPU reach the memory of another."""
        with self.on(one):
            try:
                self.cuda.runtime.deviceEnablePeerAccess(other)
            except RuntimeError as refused:
                if ENABLED not in str(refused):
                    raise

    def load(self, function: Any, code: bytes, load: Callable[[bytes], Any]) -> Spread:
        """A kernel that is loaded on the first of the GPUs, loaded on the others too; each code once, for good."""
        if code not in self.loaded:
            others = []
            for number in self.numbers[1:]:
                with self.gpu.loading, self.on(number):
                    others.append(load(code))
            self.loaded[code] = Spread(self, (function, *others))
        return self.loaded[code]

    def moments(self) -> list[Any]:
        """A moment in the stream of each of the others; the error of CuPy where something failed there."""
        found = []
        for number, stream in self.streams.items():
            with self.on(number):
                made = self.cuda.Event(disable_timing=True)
                made.record(stream)
                found.append(made)
        return found

    def fill(self, array: Any, size: int, numbers: tuple[int, ...]) -> None:
        """Fill memory with zeros whose pieces of so many bytes lie on the given GPUs: each fills its own."""
        for place, number in enumerate(numbers):
            with self.on(number):
                array[place * size : (place + 1) * size].fill(0)
                self.cuda.Device(number).synchronize()
