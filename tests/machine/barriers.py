"""Barriers of a CTA, at which warps arrive, and of a cluster, at which threads do."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from machine.memory import Fault
from machine.scheduler import Gate, Scheduler
from machine.warps import ALL, Warp

if TYPE_CHECKING:
    from machine.grid import Thread

WARP = 32

Waiting = Generator[Gate, None, None]


@dataclass(slots=True, eq=False)
class Generation:
    """One use of a barrier: warps arrive, with a predicate of each lane, until there are enough threads."""

    gate: Gate
    expected: int | None
    warps: list[Warp] = field(default_factory=list)
    predicates: list[int] = field(default_factory=list)
    complete: bool = False


@dataclass(slots=True, eq=False)
class Barriers:
    """The barriers of one CTA by number, each with the generation that is not complete."""

    scheduler: Scheduler
    warps: list[Warp]
    open: dict[int, Generation] = field(default_factory=dict)

    def arrive(
        self, thread: Thread, number: int, count: int | None, predicate: int = 0, *, waits: bool = True
    ) -> Generator[Gate, None, Generation]:
        """A warp comes to a barrier with all its lanes that have not exited; with `waits` it stays for the others."""
        meeting = yield from thread.warp.together(thread.lane, ALL, ("barrier", number), predicate)
        if meeting.outcome is None:
            meeting.outcome = self._arrived(thread.warp, number, count, list(meeting.values.values()))
        generation = meeting.outcome
        assert isinstance(generation, Generation)
        if waits and not generation.complete:
            yield generation.gate
        return generation

    def _arrived(self, warp: Warp, number: int, count: int | None, predicates: list[int]) -> Generation:
        if count is not None and (count % WARP or not count):
            raise Fault(f"a barrier for {count} threads")
        generation = self.open.setdefault(number, Generation(self.scheduler.gate(), count))
        if generation.expected != count:
            raise Fault(f"barrier {number} is for {count} threads and for {generation.expected}")
        generation.warps.append(warp)
        generation.predicates += predicates
        self._end(number, generation)
        return generation

    def _end(self, number: int, generation: Generation) -> None:
        if generation.expected is None:
            complete = all(warp in generation.warps for warp in self.warps if warp.alive)
        else:
            complete = len(generation.warps) * WARP >= generation.expected
        if complete:
            del self.open[number]
            generation.complete = True
            generation.gate.open()

    def exited(self) -> None:
        """Barriers for the whole CTA do not wait for warps that have exited."""
        for number, generation in list(self.open.items()):
            if generation.expected is None:
                self._end(number, generation)


def reduced(op: str, generation: Generation) -> int:
    """What `barrier.red` gives to every thread."""
    holding = sum(generation.predicates)
    return {"popc": holding, "and": int(holding == len(generation.predicates)), "or": int(holding > 0)}[op]


@dataclass(slots=True, eq=False)
class ClusterBarrier:
    """The barrier of a cluster: `phase` ends when all threads that have not exited have arrived."""

    scheduler: Scheduler
    alive: int = 0
    phase: int = 0
    arrived: set[Thread] = field(default_factory=set)
    gate: Gate | None = None

    def arrive(self, thread: Thread) -> None:
        if thread.phase >= 0:
            raise Fault("a thread arrives twice at the barrier of its cluster")
        thread.phase = self.phase
        self.arrived.add(thread)
        self._end()

    def wait(self, thread: Thread) -> Waiting:
        if thread.phase < 0:
            raise Fault("a thread waits at the barrier of its cluster before it arrives")
        if thread.phase == self.phase:
            self.gate = self.gate or self.scheduler.gate()
            yield self.gate
        thread.phase = -1

    def exit(self, thread: Thread) -> None:
        self.alive -= 1
        self.arrived.discard(thread)
        self._end()

    def _end(self) -> None:
        if self.alive and len(self.arrived) == self.alive:
            self.phase += 1
            self.arrived.clear()
            if self.gate is not None:
                self.gate.open()
                self.gate = None
