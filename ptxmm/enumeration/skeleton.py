"""The events of one candidate execution, before it is chosen who reads from whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ptxmm.enumeration.memory import Spot, initial_bytes, part
from ptxmm.enumeration.path import Path, Step
from ptxmm.program import Place, Program

Cell = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Event:
    """An event: an initial write where `thread` is None, else the step at `position` of that thread's path."""

    id: int
    thread: int | None
    position: int
    kind: str
    spot: Spot | None
    value: int
    step: Step | None = None


@dataclass(frozen=True)
class Skeleton:
    """One path a thread, their events, and the cells into which the accesses cut the objects."""

    program: Program
    paths: tuple[Path, ...]
    events: tuple[Event, ...]
    cells: tuple[Cell, ...]
    at: dict[tuple[int, int], int]

    @property
    def finished(self) -> bool:
        """Whether every thread has ended."""
        return all(path.end == "end" for path in self.paths)

    def place(self, event: Event) -> Place | None:
        return self.program.threads[event.thread].place if event.thread is not None else None

    def steps(self) -> list[tuple[Event, Step]]:
        """The events of threads with what they are steps of."""
        return [(event, event.step) for event in self.events if event.step is not None]

    @cached_property
    def writers(self) -> dict[Cell, list[Event]]:
        """The writes of each cell, the initial write first."""
        return {cell: self.over(cell, "W") for cell in self.cells}

    def over(self, cell: Cell, kind: str) -> list[Event]:
        """The reads or writes of a cell."""
        name, start, end = cell
        return [
            event
            for event in self.events
            if event.kind == kind and event.spot is not None and event.spot.object == name
            and event.spot.offset <= start and end <= event.spot.offset + event.spot.size
        ]  # fmt: skip


def within(event: Event, cell: Cell) -> int:
    """What an access reads or writes in a cell that it covers."""
    assert event.spot is not None
    return part(event.value, event.spot, cell[1], cell[2] - cell[1])


def assemble(program: Program, paths: tuple[Path, ...]) -> Skeleton:
    """The events of one path a thread, initial writes first."""
    spots = [step.spot for path in paths for step in path.steps if step.spot is not None]
    edges: dict[str, set[int]] = {}
    for spot in spots:
        edges.setdefault(spot.object, set()).update((spot.offset, spot.offset + spot.size))
    cells = []
    for name in sorted(edges):
        for start, end in pairwise(sorted(edges[name])):
            if any(s.object == name and s.offset <= start and end <= s.offset + s.size for s in spots):
                cells.append((name, start, end))
    initial = initial_bytes(program)
    events: list[Event] = []
    for name, start, end in cells:
        value = int.from_bytes(initial[name][start:end], "little")
        events.append(Event(len(events), None, 0, "W", Spot(name, start, end - start, name), value))
    at = {}
    for thread, path in enumerate(paths):
        for position, step in enumerate(path.steps):
            at[thread, position] = len(events)
            events.append(Event(len(events), thread, position, step.kind, step.spot, step.value, step))
    return Skeleton(program, paths, tuple(events), tuple(cells), at)
