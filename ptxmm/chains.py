"""Words whose accesses stand in a row: writes are ordered, and an atomic operation reads the one just before.

Where all writes of a word but the initial one are pairwise morally strong, coherence is a total order of those that
run, and an atomic operation that writes reads its predecessor in it. That follows from the axioms of coherence and
atomicity; `chain_lemma` has Z3 prove it from the model file before any chain is used. Every write gets a place, the two
halves of an atomic operation the same one; every other read, and the read of an atomic operation that does not write,
gets a place just behind the write that it reads from. Reads-from, from-reads, the values of counters and the closures
of observation then have closed forms, without which the question "how can the count be N although one of N additions is
not before" is a pigeonhole for the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ptxmm.events import Event
from ptxmm.formula import Formulas, Lit
from ptxmm.memory import Range
from ptxmm.program import Order, Proxy
from ptxmm.relation import Rel

SHORTEST = 3
LOOSEST = 6
CLAUSES = 20


@dataclass(frozen=True, eq=False)
class Chain:
    """The accesses of one cell in a row.

    `writes` are the writes place by place, `runs` the literals that they happen. `place` is that of each read: the
    number of its write, or one after all of these. `before[i, k]` says that write `i` stands before place `k`, whether
    or not they run.
    """

    cell: tuple[str, Range]
    writes: tuple[Event, ...]
    runs: tuple[Lit, ...]
    reads: tuple[Event, ...]
    place: dict[int, int]
    before: dict[tuple[int, int], Lit]
    formulas: Formulas
    gaps: dict[tuple[int, int], Lit] = field(default_factory=dict)

    def others(self, k: int) -> Iterator[int]:
        """The writes at other places."""
        return (i for i in range(len(self.writes)) if i != k)

    def precedes(self, i: int, k: int) -> Lit:
        """The literal that write `i` runs, before place `k`."""
        return self.formulas.both(self.runs[i], self.before[i, k])

    def ordered(self, i: int, k: int) -> Lit:
        """The literal that write `i` runs and precedes write `k`, which runs too, in coherence."""
        return self.formulas.conj((self.runs[i], self.runs[k], self.before[i, k]))

    def gap(self, i: int, k: int) -> Lit:
        """The literal that no write that runs stands between write `i` and place `k`."""
        if (i, k) not in self.gaps:
            self.gaps[i, k] = literal = self.formulas.var()
            self.formulas.define(literal, Gap(self, i, k))
        return self.gaps[i, k]

    def sources(self, read: Event) -> Iterator[tuple[int, Lit]]:
        """The writes that a read can read from, each with the literal that it does; the initial write is left out."""
        k = self.place[read.id]
        for i in self.others(k):
            before = self.before[i, k]
            if before != -1 and self.runs[i] != -1:
                yield i, self.formulas.conj((read.guard, self.runs[i], before, self.gap(i, k)))

    def first(self, read: Event) -> Lit:
        """The literal that a read runs before every write that runs."""
        k = self.place[read.id]
        return self.formulas.conj((read.guard, *(-self.precedes(m, k) for m in self.others(k))))

    def overwriting(self, read: Event) -> Iterator[tuple[int, Lit]]:
        """The writes that can come after what a read returns, each with the literal that it does."""
        k = self.place[read.id]
        for m in range(len(self.writes)):
            behind = 1 if m == k else -self.before[m, k]
            literal = self.formulas.conj((read.guard, self.runs[m], behind))
            if literal != -1:
                yield m, literal


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """That no write which runs stands between write `i` and place `k`."""

    chain: Chain
    i: int
    k: int

    def _between(self) -> Iterator[tuple[Lit, Lit, Lit]]:
        chain, i, k = self.chain, self.i, self.k
        return ((chain.runs[m], chain.before[i, m], chain.before[m, k]) for m in chain.others(k) if m != i)

    def formula(self) -> Lit:
        formulas = self.chain.formulas
        return formulas.conj([-formulas.conj(three) for three in self._between()])

    def needs(self) -> Iterator[Lit]:
        return (literal for three in self._between() for literal in three)

    def holds(self, true: Callable[[Lit], bool]) -> bool:
        return not any(true(first) and true(second) and true(runs) for runs, first, second in self._between())


def chain_of(
    cell: tuple[str, Range], writers: Sequence[Event], events: Sequence[Event], strong: Rel | None, formulas: Formulas
) -> list[Event]:
    """The writes of a cell, if they can be a chain: any two are morally strong where both run; none otherwise.

    Without `strong` they need not be morally strong: the executions in which they stand in a row are then some of all.
    """
    mine = [w for w in writers if w.thread >= 0]
    if sum(w.rmw >= 0 for w in mine) < (LOOSEST if strong is None else SHORTEST) or len({w.virtual for w in mine}) > 1:
        return []
    halves = [[w, events[w.rmw]] if w.rmw >= 0 else [w] for w in mine]
    if not all(_whole(half, cell[1]) for pair in halves for half in pair):
        return []
    if strong is None:
        return mine
    for write, own in zip(mine, halves, strict=True):
        for half in (half for pair in halves if pair is not own for half in pair):
            both_run = formulas.both(write.guard, half.guard)
            if both_run != -1 and strong.lit(write.id, half.id) not in (1, both_run):
                return []
    return mine


def _whole(access: Event, cell: Range) -> bool:
    same = access.cells == (cell,) == (access.where,) and access.issue < 0
    return same and access.order is not Order.WEAK and access.proxy is Proxy.GENERIC


def in_a_row(
    cell: tuple[str, Range], writes: Sequence[Event], runs: Sequence[Lit], events: Sequence[Event], formulas: Formulas
) -> Chain:
    """The places of a word's accesses; what makes them a total order goes to the formulas."""
    place = {w.rmw: k for k, w in enumerate(writes) if w.rmw >= 0}
    for event in events:
        reads_it = event.kind == "R" and event.guard != -1 and event.object == cell[0]
        if reads_it and event.id not in place and event.cells == (cell[1],) == (event.where,):
            place[event.id] = len(place) + sum(w.rmw < 0 for w in writes)
    reads = tuple(events[read] for read in place)
    chain = Chain(cell, tuple(writes), tuple(runs), reads, place, {}, formulas)
    _order(chain)
    return chain


def _order(chain: Chain) -> None:
    """Compare every write with every place, by integers where there are many of them.

    A comparison of integers breaks ties by number, so that it is a total order whatever the integers are. Writes of
    one thread stand in program order.
    """
    writes, formulas, before = chain.writes, chain.formulas, chain.before
    count = len(writes)
    places = max(count, *(k + 1 for k in chain.place.values()))
    base = 1 + max((number for pair in formulas.places.values() for number in pair), default=-1)
    by_number = places > CLAUSES
    for k in range(places):
        for i in range(min(k, count)):
            literal = formulas.earlier(base + i, base + k) if by_number else formulas.var()
            if k < count and _in_program_order(writes[i], writes[k]):
                formulas.require(literal)
                literal = 1
            before[i, k] = literal
            if k < count:
                before[k, i] = -literal
    if not by_number:
        _transitive(chain, places)


def _in_program_order(first: Event, second: Event) -> bool:
    """Whether two writes, the first with the lower number, are steps of one thread one after another."""
    return first.thread == second.thread and first.node < second.node


def _transitive(chain: Chain, places: int) -> None:
    before, require, count = chain.before, chain.formulas.require, len(chain.writes)
    for k in range(places):
        for j in range(min(k, count)):
            for i in range(j):
                require(-before[i, j], -before[j, k], before[i, k])
                require(before[i, j], before[j, k], -before[i, k])
        chain.formulas.tick()
