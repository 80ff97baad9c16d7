"""What happens along one chain: its reads-from and its communications with their closures, in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ptxmm.chains import Chain
from ptxmm.events import Event
from ptxmm.formula import Lit

Pairs = Iterator[tuple[int, int, Lit]]


@dataclass(frozen=True, slots=True, eq=False)
class Through:
    """That a write which runs comes after what one read returns, and before the place of another read."""

    chain: Chain
    first: Event
    second: Event

    def _writes(self) -> Iterator[tuple[Lit, Lit]]:
        chain, k = self.chain, self.chain.place[self.second.id]
        return ((literal, chain.before[m, k]) for m, literal in chain.overwriting(self.first) if m != k)

    def formula(self) -> Lit:
        formulas = self.chain.formulas
        return formulas.both(self.second.guard, formulas.disj([formulas.both(*pair) for pair in self._writes()]))

    def needs(self) -> Iterator[Lit]:
        yield self.second.guard
        for pair in self._writes():
            yield from pair

    def holds(self, true: Callable[[Lit], bool]) -> bool:
        return true(self.second.guard) and any(true(late) and true(early) for late, early in self._writes())


class Shape:
    """One relation along a chain: its edges, and the closure of these.

    The atomic operations at the places `out` take no part in it, though they stand in the row.
    """

    def __init__(self, chain: Chain, out: frozenset[int] = frozenset()) -> None:
        self.chain, self.formulas, self.out = chain, chain.formulas, out
        self.halves = {k: w.rmw for k, w in enumerate(chain.writes) if w.rmw >= 0 and k not in out}
        self.guards = {read.id: read.guard for read in chain.reads}
        self.reads = [read for read in chain.reads if chain.place[read.id] not in out]
        self.watchers = [read for read in self.reads if chain.place[read.id] not in self.halves]
        self.edges = {(i, j): literal for i, j, literal in self._edges() if literal != -1}
        self._closure: dict[tuple[int, int], Lit] | None = None

    @property
    def closure(self) -> Mapping[tuple[int, int], Lit]:
        """Every pair that a path of edges joins, with its literal."""
        if self._closure is None:
            self._closure = {(i, j): literal for i, j, literal in self._closed() if literal != -1}
        return self._closure

    def _edges(self) -> Pairs:
        raise NotImplementedError

    def _closed(self) -> Pairs:
        raise NotImplementedError

    def half(self, k: int) -> Lit:
        """The literal that both halves of an atomic operation run."""
        return self.formulas.both(self.guards[self.halves[k]], self.chain.runs[k])

    def reach(self, i: int, k: int) -> Lit:
        """The literal that observation leads from write `i` to place `k`: atomic operations alone stand between."""
        chain, conj = self.chain, self.formulas.conj
        stores = [m for m in range(len(chain.writes)) if m not in self.halves and m not in (i, k)]
        past = [-conj((chain.runs[m], chain.before[i, m], chain.before[m, k])) for m in stores]
        return conj((chain.precedes(i, k), *past))

    def observed(self) -> Iterator[tuple[int, Event, Lit]]:
        """Every write `i` and read that it may be observed by, with the literal."""
        for read in self.reads:
            k = self.chain.place[read.id]
            for i in self.inside(k):
                yield i, read, self.formulas.both(read.guard, self.reach(i, k))

    def read_from(self) -> Iterator[tuple[int, Event, Lit]]:
        """Every write `i` and read that may read from it, with the literal."""
        found = ((i, read, literal) for read in self.reads for i, literal in self.chain.sources(read))
        return ((i, read, literal) for i, read, literal in found if i not in self.out)

    def inside(self, k: int) -> Iterator[int]:
        """The writes at other places that take part."""
        return (i for i in self.chain.others(k) if i not in self.out)


class Alternating(Shape):
    """From writes to the reads that read from them, and within atomic operations from read to write."""

    def _edges(self) -> Pairs:
        for i, read, literal in self.read_from():
            yield self.chain.writes[i].id, read.id, literal
        for k, own in self.halves.items():
            yield own, self.chain.writes[k].id, self.half(k)

    def _closed(self) -> Pairs:
        writes = self.chain.writes
        for i, read, literal in self.observed():
            k = self.chain.place[read.id]
            sources = (writes[i].id, self.halves[i]) if i in self.halves else (writes[i].id,)
            for source in sources:
                yield source, read.id, literal
                if k in self.halves:
                    yield source, writes[k].id, self.formulas.both(literal, self.chain.runs[k])
        for k, own in self.halves.items():
            yield own, writes[k].id, self.half(k)


class ReadToRead(Shape):
    """From the read of an atomic operation to the reads that read from its write."""

    def _edges(self) -> Pairs:
        return ((self.halves[i], read.id, literal) for i, read, literal in self.read_from() if i in self.halves)

    def _closed(self) -> Pairs:
        return ((self.halves[i], read.id, literal) for i, read, literal in self.observed() if i in self.halves)


class WriteToWrite(Shape):
    """From a write to the writes of the atomic operations that read from it."""

    def _to_writes(self, found: Iterator[tuple[int, Event, Lit]]) -> Pairs:
        chain = self.chain
        for i, read, literal in found:
            k = chain.place[read.id]
            if k in self.halves:
                yield chain.writes[i].id, chain.writes[k].id, self.formulas.both(literal, chain.runs[k])

    def _edges(self) -> Pairs:
        return self._to_writes(self.read_from())

    def _closed(self) -> Pairs:
        return self._to_writes(self.observed())


class Communication(Shape):
    """Reads-from, coherence and from-reads together.

    Where operations are left out, these pairs are more than the closure: two places may have only such between them.
    """

    def _edges(self) -> Pairs:
        writes = self.chain.writes
        yield from self._around()
        for i, read, literal in self.read_from():
            yield writes[i].id, read.id, literal

    def _around(self) -> Pairs:
        """Coherence and from-reads, which are a part of their closure as they stand."""
        chain, writes = self.chain, self.chain.writes
        for i in range(len(writes)):
            for k in self.inside(i) if i not in self.out else ():
                yield writes[i].id, writes[k].id, chain.ordered(i, k)
        for read in self.reads:
            for m, literal in chain.overwriting(read):
                if m not in self.out:
                    yield read.id, writes[m].id, literal

    def _closed(self) -> Pairs:
        chain, formulas = self.chain, self.formulas
        yield from self._around()
        for read in self.reads:
            k = chain.place[read.id]
            for i in self.inside(k):
                yield chain.writes[i].id, read.id, formulas.both(read.guard, chain.precedes(i, k))
            for other in self.reads:
                if other.id != read.id:
                    yield other.id, read.id, self._between(other, read)

    def _between(self, first: Event, second: Event) -> Lit:
        """The literal that a write leads from one read to another."""
        chain, i, k = self.chain, self.chain.place[first.id], self.chain.place[second.id]
        if i in self.halves and chain.runs[i] == first.guard:
            return self.formulas.both(second.guard, chain.precedes(i, k))
        literal = self.formulas.var()
        self.formulas.define(literal, Through(chain, first, second))
        return literal


SHAPES: tuple[type[Shape], ...] = (Communication, Alternating, ReadToRead, WriteToWrite)
