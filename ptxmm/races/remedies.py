"""What would keep two accesses from racing in one execution: the smallest set of changes, found by trying them.

Two accesses are ordered along a path: program order inside threads, and links between threads, such as a read that
reads what another thread wrote. Along each path every instruction is made as strong as PTX has it; where the model then
orders the pair, changes are taken back until each one that is left is needed, and each is weakened as far as it goes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations

from ptxmm.encode import Encoding
from ptxmm.program import Order
from ptxmm.races.candidates import Changes
from ptxmm.races.changes import Aligned, Change, Exchanged, Fenced, Joined, Stronger
from ptxmm.races.paths import MET, Link, Paths
from ptxmm.races.strengths import levels, narrower, price_of
from ptxmm.races.whatif import Draft

WORK, LEAST_TRIALS = 40_000, 60


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes that order `first` before `second`, along a path; where `strong`, that make the two morally strong."""

    first: int
    second: int
    path: tuple[Link, ...]
    changes: tuple[Change, ...]
    cost: float
    strong: bool = False


@dataclass
class Search:
    """The search on one execution.

    `connected` says whether a path of reads and barriers joins the two at all, `cut` that not every path was tried, and
    `strong` what would make the two morally strong.
    """

    encoding: Encoding
    draft: Draft
    pair: tuple[int, int]
    trials: int = 0
    connected: bool = False
    cut: bool = False
    strong: Remedy | None = None
    paths: Paths = field(init=False)
    changes: Changes = field(init=False)

    def __post_init__(self) -> None:
        self.paths = Paths(self.encoding.program, self.draft, self.pair)
        self.by_id = self.paths.by_id
        self.changes = Changes(self.encoding, self.draft, self.paths)

    def best(self) -> Remedy | None:
        """The remedy of the least cost, or None."""
        found: list[Remedy] = []
        one, other = self.pair
        self.strong = self._direct()
        weak = [id for id in self.pair if self.by_id[id].order is Order.WEAK]
        if self.strong is not None and len(weak) < 2:
            found.append(self.strong)
        for first, second in (self.pair, self.pair[::-1]):
            remedy = self._along(first, second, (), 0.0) if self.by_id[first].thread < 0 else None
            found += [remedy] if remedy is not None else []
        most = max(LEAST_TRIALS, WORK // len(self.draft.events))
        for cost, first, second, path in heapq.merge(self.paths.between(one, other), self.paths.between(other, one)):
            self.connected |= bool(path) and all(link.kind in MET for link in path)
            if cost >= min((remedy.cost for remedy in found), default=99.0):
                break
            if self.trials >= most:
                self.cut = True
                break
            remedy = self._along(first, second, path, cost)
            if remedy is not None:
                found.append(remedy)
        self.cut |= self.paths.cut
        return min(found, key=lambda r: r.cost, default=None)

    def _direct(self) -> Remedy | None:
        """To make the two morally strong."""
        one, other = (self.by_id[id] for id in self.pair)
        changes: list[Change] = [
            change for event in (one, other) for change in self.changes.strongest(event, strong=True)
        ]
        if one.where != other.where:
            changes.append(Aligned(self.pair[0], self.pair[1]))
        return self._least(*self.pair, (), [], changes, 0.0, strong=True)

    def _along(self, first: int, second: int, path: tuple[Link, ...], cost: float) -> Remedy | None:
        needed, optional = self.changes.needed(path), self.changes.optional(first, second, path)
        remedy = self._least(first, second, path, needed, optional, cost)
        return self._pruned(remedy) if remedy is not None and needed else remedy

    # --- the smallest set ---------------------------------------------------------------------------------------------

    def _least(self, first: int, second: int, path: tuple[Link, ...], needed: list[Change], optional: list[Change],
               cost: float, *, strong: bool = False) -> Remedy | None:  # fmt: skip
        def enough(changes: list[Change]) -> bool:
            return self._enough(first, second, [*needed, *changes], strong=strong)

        if not enough(optional):
            return None
        best: tuple[float, list[Change]] | None = None
        for size in range(min(len(optional), 2) + 1):
            if len(optional) > (99, 99, 14)[size]:
                break
            for chosen in combinations(optional, size):
                if enough(list(chosen)):
                    weaker = self._weakened(list(chosen), enough)
                    price = sum(map(price_of, weaker))
                    if best is None or price < best[0]:
                        best = price, weaker
            if best is not None:
                return Remedy(first, second, path, (*needed, *best[1]), cost + best[0], strong)
        left = list(optional)
        for change in sorted(optional, key=price_of, reverse=True):
            if enough([c for c in left if c is not change]):
                left = [c for c in left if c is not change]
        left = self._weakened(left, enough)
        return Remedy(first, second, path, (*needed, *left), cost + sum(map(price_of, left)), strong)

    def _pruned(self, remedy: Remedy) -> Remedy:
        """Without the changes that turned out not to be needed."""
        left = list(remedy.changes)
        for change in remedy.changes:
            rest = [c for c in left if c is not change]
            if self._enough(remedy.first, remedy.second, rest, strong=remedy.strong):
                left = rest
        return replace(remedy, changes=tuple(left))

    def _weakened(self, changes: list[Change], enough: Callable[[list[Change]], bool]) -> list[Change]:
        """Each instruction only as strong as it must be."""
        for n, change in enumerate(changes):
            for other in narrower(change):
                if enough([*changes[:n], other, *changes[n + 1 :]]):
                    changes[n] = other
                    break
            if isinstance(change, Stronger):
                for statement in levels(self.encoding, change.was, strong=False):
                    weaker = Stronger(change.events, change.was, statement)
                    if enough([*changes[:n], weaker, *changes[n + 1 :]]):
                        changes[n] = weaker
                        break
        return changes

    def _enough(self, first: int, second: int, changes: list[Change], *, strong: bool) -> bool:
        self.trials += 1
        draft = self.draft.copy()
        for change in sorted(changes, key=lambda c: isinstance(c, Exchanged | Fenced | Joined)):
            change.apply(draft)
        ordered, related = draft.related(first, second)
        return related if strong else ordered
