"""What happens along chains: the closures of their reads-from and of their communications, in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ptxmm.chains import Chain
from ptxmm.events import Event
from ptxmm.formula import Lit
from ptxmm.relation import Rel, Row

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
    """One relation along a chain: its edges, and the closure of these."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.formulas = chain, chain.formulas
        self.halves = {k: w.rmw for k, w in enumerate(chain.writes) if w.rmw >= 0}
        self.guards = {read.id: read.guard for read in chain.reads}
        self.watchers = [read for read in chain.reads if chain.place[read.id] not in self.halves]
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
        for read in self.chain.reads:
            k = self.chain.place[read.id]
            for i in self.chain.others(k):
                yield i, read, self.formulas.both(read.guard, self.reach(i, k))

    def read_from(self) -> Iterator[tuple[int, Event, Lit]]:
        """Every write `i` and read that may read from it, with the literal."""
        return ((i, read, literal) for read in self.chain.reads for i, literal in self.chain.sources(read))


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
    """Reads-from, coherence and from-reads together."""

    def _edges(self) -> Pairs:
        writes = self.chain.writes
        yield from self._around()
        for i, read, literal in self.read_from():
            yield writes[i].id, read.id, literal

    def _around(self) -> Pairs:
        """Coherence and from-reads, which are a part of their closure as they stand."""
        chain, writes = self.chain, self.chain.writes
        for i in range(len(writes)):
            for k in chain.others(i):
                yield writes[i].id, writes[k].id, chain.ordered(i, k)
        for read in chain.reads:
            for m, literal in chain.overwriting(read):
                yield read.id, writes[m].id, literal

    def _closed(self) -> Pairs:
        chain, formulas = self.chain, self.formulas
        yield from self._around()
        for read in chain.reads:
            k = chain.place[read.id]
            for i in chain.others(k):
                yield chain.writes[i].id, read.id, formulas.both(read.guard, chain.precedes(i, k))
            for other in chain.reads:
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


SHAPES: tuple[Callable[[Chain], Shape], ...] = (Communication, Alternating, ReadToRead, WriteToWrite)


class Closure:
    """The transitive closures of what happens along chains, by which closures of larger relations are built."""

    def __init__(self, chains: list[Chain], size: int) -> None:
        self.chains, self.size = chains, size
        self.shapes: dict[tuple[int, int], Shape] = {}

    def _shape(self, chain: int, shape: int) -> Shape:
        if (chain, shape) not in self.shapes:
            self.shapes[chain, shape] = SHAPES[shape](self.chains[chain])
        return self.shapes[chain, shape]

    def split(self, a: Rel) -> tuple[Rel, Rel] | None:
        """The closure of the part of `a` that runs along chains, and the rest of `a`; None where no chain is whole."""
        closed: dict[tuple[int, int], Lit] = {}
        edges: dict[tuple[int, int], Lit] = {}
        for number in range(len(self.chains)):
            for kind in range(len(SHAPES)):
                shape = self._shape(number, kind)
                left = _missing(shape, a)
                if left is not None:
                    closed.update({p: lit for p, lit in shape.closure.items() if not left & (1 << p[0] | 1 << p[1])})
                    edges.update(shape.edges)
                    break
        if not closed:
            return None
        known = (closed, edges)
        rest = [(i, j, lit) for i, j, lit in a.pairs() if not any(of.get((i, j)) in (lit, 1) for of in known)]
        along = self._rel([(i, j, literal) for (i, j), literal in closed.items()])
        along.transitive = True
        return along, self._rel(rest)

    def _rel(self, pairs: list[tuple[int, int, Lit]]) -> Rel:
        must, may = [0] * self.size, dict[int, Row]()
        for i, j, literal in pairs:
            if literal == 1:
                must[i] |= 1 << j
            else:
                may.setdefault(i, {})[j] = literal
        return Rel(must, may)


def _missing(shape: Shape, a: Rel) -> int | None:
    """The mask of the plain reads that lack an edge in `a`; None where anything else does."""
    lacking, plain = 0, sum(1 << read.id for read in shape.watchers)
    kids = shape.formulas.kids
    for (i, j), literal in shape.edges.items():
        found = a.lit(i, j)
        if found not in (literal, 1) and (found > 0 or -literal not in kids.get(-found, ())):
            free = (1 << i | 1 << j) & plain
            if not free:
                return None
            lacking |= free
    return lacking
