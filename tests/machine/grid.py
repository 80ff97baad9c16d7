"""A launch: threads in warps, warps in CTAs, CTAs in clusters; barriers, and the window of shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from machine.barriers import Barriers, ClusterBarrier
from machine.copies import Copies
from machine.memory import OFFSETS, RANK, WINDOW, Fault, Memory
from machine.scheduler import Gate, Scheduler, Steps
from machine.shown import CONSTANTS
from machine.warps import Warp

DYNAMIC = 1 << 10
"""Where dynamic shared memory begins: what is below belongs to the system."""


@dataclass(slots=True, eq=False)
class Cluster:
    """CTAs that can reach each other's shared memory."""

    ctas: list[Cta]
    barrier: ClusterBarrier


@dataclass(slots=True, eq=False)
class Cta:
    """One CTA, with the piece of memory that is its shared memory."""

    number: int
    rank: int
    shared: int
    size: int
    warps: list[Warp]
    barriers: Barriers
    cluster: Cluster
    read: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Thread:
    """What a thread knows of where it is, and how it reaches what is not its own."""

    grid: Grid
    cta: Cta
    tid: int
    warp: Warp
    phase: int = -1
    copies: Copies = field(init=False)

    def __post_init__(self) -> None:
        self.copies = Copies(self)

    @property
    def lane(self) -> int:
        return self.tid % 32

    @property
    def memory(self) -> Memory:
        return self.grid.memory

    @property
    def scheduler(self) -> Scheduler:
        return self.grid.scheduler

    def clock(self) -> int:
        self.scheduler.clock += 1
        return int(self.scheduler.clock)

    def shared(self, address: int, *, own: bool = False) -> int:
        """Where an address in the window of shared memory is in memory; `own` says that it must be one's own."""
        if address & WINDOW:
            raise Fault(f"the generic address {address:#x} in .shared")
        rank, offset = address >> RANK, address & OFFSETS
        cta = self.cta if not rank else self._neighbour(rank - 1)
        if own and cta is not self.cta:
            raise Fault("an address of another CTA's shared memory in .shared::cta")
        if not DYNAMIC <= offset < DYNAMIC + cta.size:
            raise Fault(f"the address {address:#x} outside shared memory")
        return cta.shared + offset - DYNAMIC

    def generic(self, address: int) -> int:
        """Where a generic address is in memory."""
        return self.shared(address ^ WINDOW) if address & WINDOW else address

    def constant(self, address: int) -> int:
        """Where an address in the constant bank is in memory."""
        start, size = self.grid.constants
        if not 0 <= address - CONSTANTS < size:
            raise Fault(f"the address {address:#x} outside the constant bank")
        return start + address - CONSTANTS

    def cached(self, place: int) -> int:
        """A word as textures and constants show it: with caches that never look again, as the CTA first read it."""
        found = self.memory.load(place, 32)
        return self.cta.read.setdefault(place, found) if self.grid.stale else found

    def into_space(self, space: str, address: int) -> int:
        """A generic address in a state space."""
        if space == "global":
            return address
        if not address & WINDOW:
            raise Fault(f"{address:#x} is no address of shared memory")
        return address ^ WINDOW

    def in_cta(self, address: int, rank: int) -> int:
        """The address of the same place in another CTA of the cluster (`mapa`)."""
        self._neighbour(rank)
        return address & (WINDOW | OFFSETS) | rank + 1 << RANK

    def _neighbour(self, rank: int) -> Cta:
        if not rank < len(self.cta.cluster.ctas):
            raise Fault(f"the cluster has no CTA of rank {rank}")
        return self.cta.cluster.ctas[rank]


@dataclass(slots=True, eq=False)
class Grid:
    """A launch while it runs: what is left of it, and whom to tell when nothing is."""

    memory: Memory
    scheduler: Scheduler
    shape: tuple[int, int]
    cluster: int
    dynamic: int
    body: Callable[[Thread], Steps]
    released: Callable[[], None]
    ended: Callable[[], None]
    before: Grid | None = None
    constants: tuple[int, int] = (0, 0)
    stale: bool = False
    left: int = 0
    clusters: int = 0
    pieces: list[int] = field(default_factory=list)
    holding: set[Cta] = field(default_factory=set)
    over: Gate | None = None

    def start(self, random: Random) -> None:
        """Start every CTA: what shared memory holds before is arbitrary."""
        ctas, threads = self.shape
        self.left, self.clusters, self.over = ctas * threads, ctas // self.cluster, self.scheduler.gate()
        for first in range(0, ctas, self.cluster):
            cluster = Cluster([], ClusterBarrier(self.scheduler))
            for rank in range(self.cluster):
                cluster.ctas.append(self._cta(cluster, first + rank, rank, threads, random))
            cluster.barrier.alive = threads * self.cluster
            for cta in cluster.ctas:
                for tid in range(threads):
                    self._thread(cta, tid)

    def _cta(self, cluster: Cluster, number: int, rank: int, threads: int, random: Random) -> Cta:
        warps = [Warp(self.scheduler, (1 << min(32, threads - first)) - 1) for first in range(0, threads, 32)]
        shared = self.memory.allocate(self.dynamic) if self.dynamic else 0
        if self.dynamic:
            self.pieces.append(shared)
            self.memory.piece(shared, self.dynamic)[:] = random.randbytes(self.dynamic)
        cta = Cta(number, rank, shared, self.dynamic, warps, Barriers(self.scheduler, warps), cluster)
        self.holding.add(cta)
        return cta

    def _thread(self, cta: Cta, tid: int) -> None:
        thread = Thread(self, cta, tid, cta.warps[tid // 32])
        self.scheduler.start(self.body(thread), lambda: self._exit(thread))

    def _exit(self, thread: Thread) -> None:
        thread.warp.exit(thread.lane)
        thread.cta.barriers.exited()
        thread.cta.cluster.barrier.exit(thread)
        if not any(warp.alive for warp in thread.cta.warps):
            self.release(thread.cta)
        self._leave()

    def release(self, cta: Cta) -> None:
        """A CTA lets dependent launches start (`griddepcontrol.launch_dependents`); when all do, one may."""
        if cta in self.holding:
            self.holding.remove(cta)
            if not self.holding:
                self.released()

    def wait(self) -> Steps:
        """Until the launch that this one depends on is over (`griddepcontrol.wait`)."""
        if self.before is not None and self.before.left:
            assert self.before.over is not None
            yield self.before.over

    def fly(self, steps: Steps, then: Callable[[], None]) -> None:
        """Start a copy, without which the launch is not over."""
        self.left += 1

        def ended() -> None:
            then()
            self._leave()

        self.scheduler.start(steps, ended)

    def _leave(self) -> None:
        self.left -= 1
        if not self.left:
            for piece in self.pieces:
                self.memory.release(piece, self.dynamic)
            assert self.over is not None
            self.over.open()
            self.ended()
