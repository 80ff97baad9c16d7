"""The choices that complete a candidate: who reads from whom, coherence, and the order of fence.sc."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.rows import Pairs, acyclic, rows
from ptxmm.enumeration.skeleton import Cell, Skeleton, within

MOST_ORDERS = 100_000
Taken = tuple[tuple[int, Cell, int], ...]


@dataclass(frozen=True)
class Sources:
    """Where each read takes each of its cells from, as (read, cell, write)."""

    taken: Taken

    @property
    def rf(self) -> Pairs:
        return frozenset((write, read) for read, _, write in self.taken)

    def fr(self, skeleton: Skeleton, co: Pairs) -> Pairs:
        """From a read that takes a cell from a write that is co-before this write to the same cell."""
        return frozenset(
            (read, write.id)
            for read, cell, source in self.taken
            for write in skeleton.writers[cell]
            if (source, write.id) in co
        )


def reads_from(skeleton: Skeleton) -> Iterator[Sources]:
    """Every choice of a write of the right value for each cell of each read."""
    needed = options(skeleton)
    for taken in product(*needed) if needed is not None else ():
        yield Sources(taken)


def options(skeleton: Skeleton, missing: frozenset[int] = frozenset()) -> list[Taken] | None:
    """For each cell of each read but the missing ones the writes of the right value, None where one has none."""
    needed = []
    for cell in skeleton.cells:
        writes = [(write.id, within(write, cell)) for write in skeleton.writers[cell]]
        for read in (one for one in skeleton.over(cell, "R") if one.id not in missing):
            value = within(read, cell)
            fitting = tuple(
                (read.id, cell, write) for write, written in writes
                if written == value and not own(skeleton, read.id, write)
            )  # fmt: skip
            if not fitting:
                return None
            needed.append(fitting)
    return needed


def own(skeleton: Skeleton, read: int, write: int) -> bool:
    """Whether the write is the other half of the read's atomic operation."""
    event = skeleton.events[write]
    if event.thread is None or event.step is None or event.step.partner is None:
        return False
    return skeleton.at[event.thread, event.step.partner] == read


def coherences(skeleton: Skeleton, forced: Pairs, total: Pairs) -> Iterator[Pairs]:
    """Every partial order of overlapping writes, transitive on each cell, after the initial write.

    Those that lack a pair of `forced`, or leave one of `total` unordered, are left out.
    """
    first = frozenset(
        (writes[0].id, write.id) for writes in skeleton.writers.values() for write in writes if write.thread is not None
    )
    each = []
    for name in sorted({cell[0] for cell in skeleton.cells}):
        cells = (writes for cell, writes in skeleton.writers.items() if cell[0] == name)
        groups = {tuple(event.id for event in writes if event.thread is not None) for writes in cells}
        inside = {(a, b) for group in groups for a in group for b in group}
        each.append(orders(tuple(sorted(groups)), forced & inside, total & inside))
    for chosen in product(*each):
        yield first.union(*chosen)


@lru_cache(maxsize=1024)
def orders(groups: tuple[tuple[int, ...], ...], forced: Pairs, total: Pairs) -> tuple[Pairs, ...]:
    """All relations on members of a common group that are strict partial orders on each group.

    >>> none = frozenset()
    >>> len(orders(((1, 2, 3),), none, none)), len(orders(((1, 2), (2, 3)), none, none))
    (19, 9)
    >>> len(orders(((1, 2, 3),), frozenset({(1, 2)}), frozenset({(1, 3), (2, 3)})))
    3
    """
    pairs = sorted({(a, b) for group in groups for a in group for b in group if a < b})
    found: list[Pairs] = []

    def extend(at: int, chosen: dict[tuple[int, int], bool | None]) -> None:
        if at == len(pairs):
            found.append(frozenset((a, b) if up else (b, a) for (a, b), up in chosen.items() if up is not None))
            if len(found) > MOST_ORDERS:
                raise GaveUp("there are too many coherence orders to enumerate")
            return
        pair, back = pairs[at], pairs[at][::-1]
        wanted = [up for up, one in ((True, pair), (False, back)) if one in forced]
        options = [True, False] if {pair, back} & total else [True, False, None]
        for up in options:
            if any(up is not one for one in wanted):
                continue
            chosen[pair] = up
            if all(transitive(group, chosen) for group in groups if set(pair) <= set(group)):
                extend(at + 1, chosen)
        chosen.pop(pair, None)

    extend(0, {})
    return tuple(found)


def transitive(group: tuple[int, ...], chosen: dict[tuple[int, int], bool | None]) -> bool:
    """Whether what is chosen so far can still become transitive on a group."""

    def before(a: int, b: int) -> bool | None:
        """Whether a is before b, None where that is not chosen yet."""
        pair = (a, b) if a < b else (b, a)
        if pair not in chosen:
            return None
        return chosen[pair] is (a < b)

    return not any(
        before(a, b) and before(b, c) and before(a, c) is False
        for a in group for b in group for c in group if len({a, b, c}) == 3
    )  # fmt: skip


def fence_orders(fences: frozenset[int], related: Pairs) -> Iterator[Pairs]:
    """Every acyclic way to relate each pair of fence.sc that program order or their scopes relate."""
    pairs = sorted((a, b) for a in fences for b in fences if a < b and ((a, b) in related or (b, a) in related))
    for chosen in product((False, True), repeat=len(pairs)):
        order = frozenset((b, a) if swap else (a, b) for (a, b), swap in zip(pairs, chosen, strict=True))
        if acyclic(rows(order, max(fences, default=-1) + 1)):
            yield order
