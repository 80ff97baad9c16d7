"""One path for each thread, such that what each path reads may have been written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from ptxmm.enumeration.memory import Spot, part
from ptxmm.enumeration.path import Path

WORTH_ASKING = 5
Content = tuple[str, int, int, int]
Chosen = tuple[Path, ...]


@dataclass(frozen=True, eq=False)
class Demand:
    """A path with the contents of memory that it reads, and those that it writes."""

    path: Path
    reads: frozenset[Content]
    writes: frozenset[Content]


@dataclass
class Combiner:
    """Combines the paths of threads, one thread after another.

    Only objects in `whole`, whose accesses are of the same bytes or of different ones, are looked at. `possible` may
    refuse the first few paths of a combination, given the contents that other threads may write.
    """

    each: list[list[Path]]
    initial: dict[str, bytes]
    whole: frozenset[str]
    possible: Callable[[Chosen, frozenset[Content]], bool]
    wanted: Callable[[tuple[str, ...]], bool]
    demands: list[list[Demand]] = field(init=False)

    def __post_init__(self) -> None:
        self.demands = [[self.demand(path) for path in paths] for paths in self.each]
        before = -1
        while before != (before := sum(map(len, self.demands))):
            everything = frozenset[Content]().union(*(one.writes for paths in self.demands for one in paths))
            self.demands = [[one for one in paths if one.reads <= everything] for paths in self.demands]

    def demand(self, path: Path) -> Demand:
        reads, writes = set(), set()
        for step in path.steps:
            spot = step.spot
            if spot is not None and spot.object in self.whole:
                content = (spot.object, spot.offset, spot.size, step.value)
                if step.kind == "W":
                    writes.add(content)
                elif step.value != self.start(spot):
                    reads.add(content)
        return Demand(path, frozenset(reads), frozenset(writes))

    def start(self, spot: Spot) -> int:
        """What a spot holds before the threads start."""
        initial = self.initial[spot.object]
        whole = Spot(spot.object, 0, len(initial), spot.object)
        return part(int.from_bytes(initial, "little"), whole, spot.offset, spot.size)

    def __iter__(self) -> Iterator[Chosen]:
        """Every combination, those in which all threads end first."""
        kinds: list[dict[str, list[Demand]]] = []
        for demands in self.demands:
            kinds.append({})
            for one in demands:
                kinds[-1].setdefault(one.path.end, []).append(one)
        for ends in sorted(combinations([sorted(found) for found in kinds]), key=lambda ends: ends.count("end") * -1):
            if self.wanted(ends):
                lists = [found[end] for found, end in zip(kinds, ends, strict=True)]
                yield from self.chosen(lists, (), frozenset(), frozenset())

    def chosen(
        self, lists: Sequence[list[Demand]], before: Chosen, missing: frozenset[Content], there: frozenset[Content]
    ) -> Iterator[Chosen]:
        """The combinations that begin with some paths, which write what is `there` and lack what is `missing`."""
        if not lists:
            yield before
            return
        below = prod(len(paths) for paths in lists[1:])
        later = frozenset[Content]().union(*(one.writes for paths in lists[1:] for one in paths))
        for one in lists[0]:
            now, lacking = there | one.writes, (missing | one.reads) - there - one.writes
            chosen = (*before, one.path)
            if lacking <= later and (below < WORTH_ASKING or len(chosen) < 2 or self.possible(chosen, later)):
                yield from self.chosen(lists[1:], chosen, lacking, now)


def combinations(kinds: list[list[str]]) -> list[tuple[str, ...]]:
    """Every way to take one of each list."""
    found: list[tuple[str, ...]] = [()]
    for kind in kinds:
        found = [(*before, one) for before in found for one in kind]
    return found
