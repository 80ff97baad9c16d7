"""Every path of every thread whose reads return what stores can have written, each store used once at most.

A value comes from stores, which depend on reads of other values, and so on down to initial values. Where the model
forbids cycles of reads-from and dependencies, no store takes part in its own value. So each content of memory is known
with the stores that it takes, for each way to make it that takes no more than another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

from ptxmm.enumeration.limits import Budget, GaveUp
from ptxmm.enumeration.memory import Spot, part
from ptxmm.enumeration.path import Path
from ptxmm.enumeration.paths import paths
from ptxmm.enumeration.table import Table
from ptxmm.enumeration.unroll import Graph, Node
from ptxmm.program import Program

Writer = tuple[int, Node, str, int]
Ways = frozenset[frozenset[Writer]]
AT_THE_START: Ways = frozenset({frozenset()})
MOST_WAYS = 100
MOST_ROUNDS = 200


@dataclass
class Reach:
    """What memory may hold, beyond what it holds at the start, and the ways for that to come about.

    `whole` objects are those that no two accesses divide differently; others hold anything that `table` says, and so do
    all where the model does not count control among the dependencies (`controlled`): a value may then decide that it is
    written.
    """

    program: Program
    graphs: list[Graph]
    table: Table
    whole: frozenset[str]
    controlled: bool
    waits: bool
    budget: Budget
    contents: dict[tuple[str, int, int], dict[int, Ways]] = field(default_factory=dict)
    followed: dict[int, tuple[dict[Spot, tuple[int, ...]], list[Path]]] = field(default_factory=dict)

    def paths(self) -> list[list[Path]]:
        """The paths of each thread."""
        for _ in range(MOST_ROUNDS):
            before = {spot: dict(values) for spot, values in self.contents.items()}
            found = [self.possible(thread) for thread in range(len(self.graphs))]
            if before == self.contents:
                return found
        raise GaveUp("values take too many steps to enumerate")

    def possible(self, thread: int) -> list[Path]:
        """The paths of a thread, given what is known; what they write is known then."""
        asked, found = self.followed.get(thread, ({}, []))
        if not found or any(self.values(spot) != values for spot, values in asked.items()):
            asked = {}

            def values(spot: Spot) -> tuple[int, ...]:
                return asked.setdefault(spot, self.values(spot))

            code = self.program.threads[thread]
            found = paths(
                self.program, code, self.graphs[thread], self.table, values, waits=self.waits, budget=self.budget
            )
            self.followed[thread] = asked, found
        return [path for path in found if self.note(thread, path) and path.end != "failed"]

    def values(self, spot: Spot) -> tuple[int, ...]:
        """What a read may return."""
        if spot.object not in self.whole or not self.controlled:
            return self.table(spot)
        return tuple(sorted({self.start(spot), *self.contents.get(key(spot), ())}))

    def start(self, spot: Spot) -> int:
        initial = self.table.initial[spot.object]
        whole = Spot(spot.object, 0, len(initial), spot.object)
        return part(int.from_bytes(initial, "little"), whole, spot.offset, spot.size)

    def note(self, thread: int, path: Path) -> bool:
        """Note what a path writes, up to what would have to come from itself; False where there is such a store.

        Other paths may begin like this one, with reads of contents that are not known yet.
        """
        for step in path.steps:
            self.budget.look()
            if not self.controlled or step.kind != "W" or step.spot is None or step.spot.object not in self.whole:
                continue
            own: Writer = (thread, step.node, step.spot.object, step.spot.offset)
            needed = step.data | step.addr | step.ctrl
            each = [self.ways(path.steps[read].spot, path.steps[read].value) for read in needed]
            ways = self.joined([[way for way in one if own not in way] for one in each], own)
            if not ways:
                return False
            there = self.contents.setdefault(key(step.spot), {})
            there[step.value] = least(ways | there.get(step.value, frozenset()))
        return True

    def ways(self, spot: Spot | None, value: int) -> Ways:
        """The ways for a read to return a value."""
        if spot is None or spot.object not in self.whole or value == self.start(spot):
            return AT_THE_START
        return self.contents[key(spot)][value]

    def joined(self, each: list[list[frozenset[Writer]]], own: Writer) -> Ways:
        """The ways for a store to write what depends on some reads; where they are many, nothing is said of them."""
        size = 1
        for one in each:
            size *= len(one)
        if size > MOST_WAYS:
            return frozenset({frozenset({own})})
        return least(frozenset({own}).union(*chosen) for chosen in product(*each))


def key(spot: Spot) -> tuple[str, int, int]:
    """The bytes of a spot, whatever virtual address it is reached by."""
    return spot.object, spot.offset, spot.size


def least(ways: Iterable[frozenset[Writer]]) -> Ways:
    """The ways that take no more than another."""
    kept: list[frozenset[Writer]] = []
    for way in sorted(set(ways), key=len):
        if not any(other <= way for other in kept):
            kept.append(way)
    return frozenset(kept) if len(kept) <= MOST_WAYS else AT_THE_START
