"""The pieces of a copy that are worth following: elements that something else looks at, and its first one.

Copies pass on what is looked at: who loads a copied element looks at the element that it was copied from, and who
stores to an element that is copied, at the copy. The first element of a copy stands for those that nobody looks at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from ptxmm.enumeration.memory import Spot

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Leg:
    """A copy from a spot to another of the same size, in multiples of a `unit`.

    Beyond the first `known` bytes, zeros are written.
    """

    source: Spot
    target: Spot
    known: int
    element: int
    unit: int = 1

    @property
    def size(self) -> int:
        return self.target.size


@dataclass
class Pieces:
    """What is looked at in each object, as spans of bytes (start and end), and the copies that pass it on."""

    looked: dict[str, set[Span]] = field(default_factory=dict)
    legs: set[Leg] = field(default_factory=set)

    def look(self, name: str, start: int, end: int) -> None:
        """Something looks at these bytes."""
        if (start, end) not in self.looked.setdefault(name, set()):
            self.looked[name].add((start, end))
            for leg in self.legs:
                self.pass_on(leg)

    def add(self, leg: Leg) -> None:
        """A copy may happen."""
        if leg not in self.legs:
            self.legs.add(leg)
            self.pass_on(leg)
            if not any(start == 0 for start, _ in self.of(leg)):
                nearest = min([leg.element, leg.size, *(start for start, _ in self.of(leg))])
                self.look(leg.source.object, leg.source.offset, leg.source.offset + nearest)
                self.look(leg.target.object, leg.target.offset, leg.target.offset + nearest)

    def pass_on(self, leg: Leg) -> None:
        """What is looked at on one side of a copy is looked at on the other."""
        if 0 < leg.known < leg.size:
            self.look(leg.target.object, leg.target.offset, leg.target.offset + leg.known)
        for one, other in ((leg.source, leg.target), (leg.target, leg.source)):
            for start, end in list(self.looked.get(one.object, ())):
                first, last = max(start, one.offset), min(end, one.offset + leg.size)
                if first < last:
                    self.look(other.object, first - one.offset + other.offset, last - one.offset + other.offset)
                    self.look(one.object, first, last)

    def of(self, leg: Leg) -> list[Span]:
        """The pieces of a copy, as spans counted from its start."""
        found = set[Span]()
        for spot in (leg.source, leg.target):
            for start, end in self.cells(spot.object):
                if spot.offset <= start and end <= spot.offset + leg.size:
                    first, last = start - spot.offset, end - spot.offset
                    found.add((first - first % leg.unit, last + -last % leg.unit))
        return sorted(found)

    def cells(self, name: str) -> list[Span]:
        """The bytes of an object that are looked at, cut wherever one of those that look begins or ends."""
        spans = self.looked.get(name, set())
        edges = sorted({edge for span in spans for edge in span})
        return [one for one in pairwise(edges) if any(s <= one[0] and one[1] <= e for s, e in spans)]
