"""The events of one candidate execution, before it is chosen who reads from whom."""

from __future__ import annotations

from collections.abc import Iterable
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


def cells_of(spots: Iterable[Spot]) -> tuple[Cell, ...]:
    """The accessed bytes of each object, cut wherever an access begins or ends."""
    spots = set(spots)
    edges: dict[str, set[int]] = {}
    for spot in spots:
        edges.setdefault(spot.object, set()).update((spot.offset, spot.offset + spot.size))
    return tuple(
        (name, start, end)
        for name in sorted(edges)
        for start, end in pairwise(sorted(edges[name]))
        if any(s.object == name and s.offset <= start and end <= s.offset + s.size for s in spots)
    )


def initial_events(program: Program, cells: tuple[Cell, ...]) -> tuple[Event, ...]:
    """The initial write of each cell."""
    initial = initial_bytes(program)
    found: list[Event] = []
    for name, start, end in cells:
        value = int.from_bytes(initial[name][start:end], "little")
        found.append(Event(len(found), None, 0, "W", Spot(name, start, end - start, name), value))
    return tuple(found)


def path_events(thread: int, path: Path, first: int = 0) -> tuple[Event, ...]:
    """The events of a thread on a path, numbered from `first`."""
    return tuple(
        Event(first + position, thread, position, step.kind, step.spot, step.value, step)
        for position, step in enumerate(path.steps)
    )


def assemble(program: Program, paths: tuple[Path, ...], cells: tuple[Cell, ...]) -> Skeleton:
    """The events of one path a thread, initial writes first."""
    events = list(initial_events(program, cells))
    at: dict[tuple[int, int], int] = {}
    for thread, path in enumerate(paths):
        at.update(((thread, position), len(events) + position) for position in range(len(path.steps)))
        events += path_events(thread, path, len(events))
    return Skeleton(program, paths, tuple(events), cells, at)
