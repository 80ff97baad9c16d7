"""The allowed ways to complete a candidate, choice by choice, for models in which more pairs can only break axioms.

What is chosen so far is a lower bound of the rest. If the model forbids it, or what it forces into coherence, no
completion is allowed. Of two writes that no axiom wants ordered, neither goes before the other in coherence: with an
order between them, there would be fewer final states and more that the model forbids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ptxmm.enumeration import rows
from ptxmm.enumeration.cat import Meaning
from ptxmm.enumeration.choices import Taken, options
from ptxmm.enumeration.limits import Budget
from ptxmm.enumeration.rows import Rows
from ptxmm.enumeration.skeleton import Cell, Skeleton
from ptxmm.enumeration.theory import LAST
from ptxmm.model import Expr

EARLIER = frozenset({1, 2})
COHERENCE = frozenset({LAST})


@dataclass(frozen=True)
class Partial:
    """Some choices, and what the model says of them: `read` without coherence, `whole` with it."""

    taken: Taken
    fences: Rows
    co: Rows
    read: Meaning
    whole: Meaning


@dataclass
class Resolver:
    """Completes one candidate, whose paths and barriers mean `start`; `missing` reads may read from elsewhere."""

    skeleton: Skeleton
    start: Meaning
    budget: Budget
    coherence_matters: bool
    missing: frozenset[int] = frozenset()

    def __iter__(self) -> Iterator[Partial]:
        needed = options(self.skeleton, self.missing)
        if needed is None:
            return
        certain = tuple(one for (one, *others) in needed if not others)
        start = self.settled(certain, (0,) * self.start.size, self.first)
        if start is not None:
            yield from self.reading(start, sorted((one for one in needed if len(one) > 1), key=len))

    def reading(self, partial: Partial, needed: list[Taken]) -> Iterator[Partial]:
        """Choose where the next read takes its bytes from."""
        if not needed:
            yield from self.fencing(partial)
            return
        for source in needed[0]:
            self.budget.spend()
            then = self.settled((*partial.taken, source), partial.fences, partial.co)
            if then is not None:
                yield from self.reading(then, needed[1:])

    def fencing(self, partial: Partial) -> Iterator[Partial]:
        """Choose which of two related fence.sc comes first."""
        pair = next(((a, b) for a, b in self.fence_pairs if not ordered(partial.fences, a, b)), None)
        if pair is None:
            for found in self.ordering(partial):
                yield found
                if not self.coherence_matters:
                    return
            return
        for a, b in (pair, pair[::-1]):
            fences = with_pair(partial.fences, a, b)
            then = self.settled(partial.taken, fences, partial.co) if rows.acyclic(fences) else None
            if then is not None:
                yield from self.fencing(then)

    def ordering(self, partial: Partial) -> Iterator[Partial]:
        """Choose which of two writes that coherence must order comes first."""
        pair = self.unordered(partial)
        if pair is None:
            whole = partial.read.after(COHERENCE, self.coherence(partial.taken, partial.co))
            if whole is not None:
                yield Partial(partial.taken, partial.fences, partial.co, partial.read, whole)
            return
        for a, b in (pair, pair[::-1]):
            self.budget.spend()
            then = self.settled(partial.taken, partial.fences, with_pair(partial.co, a, b), partial.read)
            if then is not None:
                yield from self.ordering(then)

    def settled(self, taken: Taken, fences: Rows, co: Rows, read: Meaning | None = None) -> Partial | None:
        """The choices with the coherence that they force, None where the model forbids them; `read` if it is known."""
        if read is None:
            rf = rows.rows(((write, read) for read, _, write in taken), self.start.size)
            read = self.start.after(EARLIER, {"rf": rf, "sync_fence": fences}, self.apart)
        if read is None:
            return None
        forced = co
        for expr in self.forced:
            forced = rows.union(forced, read.relation(expr))
        closed = self.closed(forced)
        if closed is None:
            return None
        whole = read.after(COHERENCE, self.coherence(taken, closed), self.apart)
        return Partial(taken, fences, closed, read, whole) if whole is not None else None

    def coherence(self, taken: Taken, co: Rows) -> dict[str, Rows]:
        fr = [0] * self.start.size
        for read, cell, source in taken:
            fr[read] |= co[source] & self.writers[cell]
        return {"co": co, "fr": tuple(fr)}

    def closed(self, co: Rows) -> Rows | None:
        """Coherence, transitive on each cell; None where that is no order of overlapping writes."""
        if any(rows.difference(co, self.overlapping)):
            return None
        before: Rows = ()
        while before != (before := co):
            for writers in self.groups:
                inner = tuple(row & writers if writers >> event & 1 else 0 for event, row in enumerate(co))
                co = rows.union(co, rows.closure(inner))
        return co if rows.irreflexive(co) else None

    def unordered(self, partial: Partial) -> tuple[int, int] | None:
        """Two writes that coherence must still order."""
        for expr in self.total:
            for a, row in enumerate(rows.intersection(partial.read.relation(expr), self.overlapping)):
                for b in rows.bits(row):
                    if a != b and not ordered(partial.co, a, b):
                        return a, b
        return None

    @cached_property
    def apart(self) -> frozenset[int]:
        return frozenset(self.start.rules.apart)

    @cached_property
    def forced(self) -> list[Expr]:
        return [left for left, both in self.start.rules.apart.values() if not both]

    @cached_property
    def total(self) -> list[Expr]:
        return [left for left, both in self.start.rules.apart.values() if both]

    @cached_property
    def writers(self) -> dict[Cell, int]:
        """The writes of each cell."""
        return {cell: rows.mask(event.id for event in writes) for cell, writes in self.skeleton.writers.items()}

    @cached_property
    def groups(self) -> list[int]:
        return sorted(set(self.writers.values()))

    @cached_property
    def overlapping(self) -> Rows:
        """All pairs of writes that share a cell."""
        found = [0] * self.start.size
        for writers in self.groups:
            for event in rows.bits(writers):
                found[event] |= writers
        return tuple(found)

    @cached_property
    def first(self) -> Rows:
        """Initial writes come before all others."""
        co = [0] * self.start.size
        for writes in self.skeleton.writers.values():
            co[writes[0].id] |= rows.mask(event.id for event in writes[1:])
        return tuple(co)

    @cached_property
    def fence_pairs(self) -> list[tuple[int, int]]:
        """The pairs of fence.sc that program order or their scopes relate."""
        fences = self.start.sets["SC"]
        related = rows.union(self.start.relations["po"], self.start.relations["sr"])
        return [
            (a, b) for a in rows.bits(fences) for b in rows.bits(fences)
            if a < b and (related[a] >> b & 1 or related[b] >> a & 1)
        ]  # fmt: skip


def ordered(relation: Rows, a: int, b: int) -> bool:
    """Whether a relation has two events, in either order."""
    return bool(relation[a] >> b & 1 or relation[b] >> a & 1)


def with_pair(relation: Rows, a: int, b: int) -> Rows:
    """A relation with one pair more."""
    return (*relation[:a], relation[a] | 1 << b, *relation[a + 1 :])
