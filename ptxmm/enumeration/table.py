"""What may be written where in a test, which bytes are accessed together, and how values flow between accesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, product

from ptxmm.enumeration.flows import Source
from ptxmm.enumeration.limits import Budget, GaveUp
from ptxmm.enumeration.memory import Spot, initial_bytes, part
from ptxmm.enumeration.phases import NO_TOKENS, Tokens
from ptxmm.enumeration.pieces import Pieces
from ptxmm.program import Program

MOST_VALUES = 2_000
NOTHING: frozenset[Source] = frozenset()


@dataclass(frozen=True, slots=True)
class Some:
    """The values that a register may hold, and the reads that they may come from."""

    values: frozenset[int] = frozenset({0})
    sources: frozenset[Source] = NOTHING

    def __or__(self, other: Some) -> Some:
        return Some(self.values | other.values, self.sources | other.sources)


State = Mapping[str, Some]


@dataclass
class Table:
    """What may be written where, which bytes are accessed together, and how values flow between accesses."""

    program: Program
    budget: Budget
    written: dict[tuple[str, int, int], set[int]] = field(default_factory=dict)
    ranges: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    flows: dict[Source, set[Source]] = field(default_factory=dict)
    places: dict[Source, tuple[frozenset[Spot], bool]] = field(default_factory=dict)
    initial: dict[str, bytes] = field(default_factory=dict)
    pieces: Pieces = field(default_factory=Pieces)
    tokens: Tokens = NO_TOKENS
    numbers: dict[Spot, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.initial = initial_bytes(self.program)

    def touch(self, spot: Spot) -> None:
        """Note that something accesses these bytes together."""
        span = spot.offset, spot.offset + spot.size
        self.ranges.setdefault(spot.object, set()).add(span)
        self.pieces.look(spot.object, *span)

    def put(self, spot: Spot, values: Iterable[int]) -> None:
        """Note values that may be written."""
        there = self.written.setdefault((spot.object, spot.offset, spot.size), set())
        there.update(values)
        if len(there) > MOST_VALUES:
            raise GaveUp(f"`{spot.object}` may hold too many values to enumerate")

    def __call__(self, spot: Spot) -> tuple[int, ...]:
        """The candidate values of a read: any combination of what its cells may hold."""
        cells = [(at, end) for at, end in cut(spot, self.ranges.get(spot.object, ())) if at >= spot.offset]
        options = [sorted(self.cell(spot.object, at, end - at)) for at, end in cells]
        found = set()
        for chosen in product(*options):
            self.budget.look()
            found.add(sum(value << 8 * (at - spot.offset) for value, (at, _) in zip(chosen, cells, strict=True)))
            if len(found) > MOST_VALUES:
                raise GaveUp(f"`{spot.object}` may hold too many values to enumerate")
        return tuple(sorted(found))

    def cell(self, name: str, offset: int, size: int) -> set[int]:
        """What a range that no access cuts may hold."""
        whole = Spot(name, 0, len(self.initial[name]), name)
        found = {part(int.from_bytes(self.initial[name], "little"), whole, offset, size)}
        for (other, start, length), values in self.written.items():
            if other == name and start <= offset and offset + size <= start + length:
                found |= {part(value, Spot(name, start, length, name), offset, size) for value in values}
        return found

    def cyclic(self) -> bool:
        """Whether a value may flow from a read, through stores and other reads, back to that read."""
        sorter: TopologicalSorter[Source] = TopologicalSorter()
        for target, sources in self.flows.items():
            sorter.add(target, *sources)
        stores = [one for one in self.places if one[3] == "W"]
        for read in (one for one in self.places if one[3] == "R"):
            sorter.add(read, *(store for store in stores if self.may_meet(read, store)))
        try:
            sorter.prepare()
        except CycleError:
            return True
        return False

    def may_meet(self, one: Source, other: Source) -> bool:
        (spots, open_one), (others, open_other) = self.places[one], self.places[other]
        return open_one or open_other or any(spot.meets(its) for spot in spots for its in others)


def cut(spot: Spot, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The cells of a spot: its bytes, cut wherever another access begins or ends."""
    edges = {edge for span in ranges for edge in span if spot.offset < edge < spot.offset + spot.size}
    bounds = [spot.offset, *sorted(edges), spot.offset + spot.size]
    return list(pairwise(bounds))
