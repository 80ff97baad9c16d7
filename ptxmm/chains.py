"""Words that only atomic operations write: their writes stand in a total order, and each reads the one just before.

Where all writes of a word but the initial one are the write halves of atomic operations that run in every execution and
are pairwise morally strong, coherence is a total order of them, and an atomic operation reads its predecessor in it.
That follows from the axioms of coherence and atomicity; `chain_lemma` has Z3 prove it from the model file before any
chain is used. Reads-from, the values of sums, and the closure of observation then have closed forms, without which the
question "how can the count be N although one of N additions is not before" is a pigeonhole for the solver.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.events import Event
from ptxmm.formula import Formulas, Lit
from ptxmm.memory import Range
from ptxmm.program import Atomic, Order, Proxy
from ptxmm.relation import Rel, Row

SHORTEST = 3


@dataclass(frozen=True)
class Chain:
    """The atomic operations on one cell: ids of their reads and writes, place by place, and the literals between them.

    `before[i, k]` says that operation `i` precedes `k`, `reads[i, k]` that `k` reads from `i`, `first[k]` that `k`
    reads the initial value.
    """

    cell: tuple[str, Range]
    read: tuple[int, ...]
    write: tuple[int, ...]
    before: dict[tuple[int, int], Lit]
    reads: dict[tuple[int, int], Lit]
    first: tuple[Lit, ...]


def chain_of(cell: tuple[str, Range], writers: list[Event], events: list[Event], strong: Rel) -> list[Event] | None:
    """The writes of a cell, if they can be a chain."""
    mine = [w for w in writers if w.thread >= 0]
    if len(mine) < SHORTEST or any(not _certain(w, events, cell) for w in mine):
        return None
    if len({w.virtual for w in mine}) > 1:
        return None
    pairwise = all(strong.must[w.id] >> v.id & 1 for w in mine for v in mine if w.id != v.id)
    return mine if pairwise else None


def _certain(write: Event, events: list[Event], cell: tuple[str, Range]) -> bool:
    if not isinstance(write.statement, Atomic) or write.rmw < 0 or write.guard != 1 or write.order is Order.WEAK:
        return False
    read = events[write.rmw]
    whole = write.cells == read.cells == (cell[1],) == (write.where,)
    return read.guard == 1 and whole and write.proxy is Proxy.GENERIC


def ordered(cell: tuple[str, Range], writes: list[Event], formulas: Formulas) -> Chain:
    """The literals of a total order of the writes; its transitivity goes to the formulas."""
    count = len(writes)
    before: dict[tuple[int, int], Lit] = {}
    for k in range(count):
        for i in range(k):
            literal = formulas.var()
            before[i, k], before[k, i] = literal, -literal
    clauses = formulas.clauses
    for k in range(count):
        for j in range(k):
            for i in range(j):
                clauses.append((-before[i, j], -before[j, k], before[i, k]))
                clauses.append((before[i, j], before[j, k], -before[i, k]))
        formulas.tick()
    reads: dict[tuple[int, int], Lit] = {}
    for k in range(count):
        for i in range(count):
            if i != k:
                between = (-formulas.both(before[i, m], before[m, k]) for m in range(count) if m not in (i, k))
                reads[i, k] = formulas.conj((before[i, k], *between))
    first = tuple(formulas.conj([before[k, m] for m in range(count) if m != k]) for k in range(count))
    return Chain(cell, tuple(w.rmw for w in writes), tuple(w.id for w in writes), before, reads, first)


@dataclass(frozen=True)
class Sums:
    """What each operation of a chain of constant additions reads: the initial value and the steps before it."""

    chain: Chain
    start: int
    steps: tuple[int, ...]
    modulus: int
    formulas: Formulas

    def reads(self, k: int, value: int) -> Lit:
        """The literal that operation `k` reads `value`."""
        others = [(self.steps[i], self.chain.before[i, k]) for i in range(len(self.steps)) if i != k]
        ahead = [0]
        for step, _ in reversed(others):
            ahead.append(ahead[-1] + step)
        ahead.reverse()
        wraps = self.start + ahead[0] >= self.modulus
        memo: dict[tuple[int, int], Lit] = {}

        def rest(place: int, missing: int) -> Lit:
            """The literal that the operations from `place` on bring what is missing."""
            if wraps:
                missing %= self.modulus
            elif not 0 <= missing <= ahead[place]:
                return -1
            if place == len(others):
                return 1 if missing == 0 else -1
            key = (place, missing)
            if key not in memo:
                step, literal = others[place]
                self.formulas.deadline.check()
                with_it = self.formulas.both(literal, rest(place + 1, missing - step))
                without = self.formulas.both(-literal, rest(place + 1, missing))
                memo[key] = self.formulas.disj((with_it, without))
            return memo[key]

        return rest(0, value - self.start)


def sums(chain: Chain, start: int, writes: list[Event], formulas: Formulas) -> Sums | None:
    """The sums of a chain whose operations all add constants to an integer, or None."""
    steps = [write.step for write in writes]
    if any(step is None for step in steps) or writes[0].type.floating:
        return None
    known = tuple(step for step in steps if step is not None)
    return Sums(chain, start, known, 1 << writes[0].type.bits, formulas)


class Closure:
    """The transitive closure of what happens along chains, by which closures of larger relations are built.

    `known` holds, for two operations `i` before `k`: from the write and the read of `i` to the write and the read of
    `k`; and from the read to the write of one operation.
    """

    def __init__(self, chains: list[Chain], size: int) -> None:
        self.chains, self.size = chains, size
        self.known: dict[tuple[int, int], Lit] = {}
        self.reads: dict[tuple[int, int], Lit] = {}
        for chain in chains:
            for (i, k), literal in chain.before.items():
                for source in (chain.write[i], chain.read[i]):
                    for target in (chain.write[k], chain.read[k]):
                        self.known[source, target] = literal
            for (i, k), literal in chain.reads.items():
                self.reads[chain.write[i], chain.read[k]] = literal
            for read, write in zip(chain.read, chain.write, strict=True):
                self.known[read, write] = 1

    def split(self, a: Rel) -> tuple[Rel, Rel] | None:
        """The closure of the part of `a` that runs along chains, and the rest of `a`; None where no chain is whole."""
        nodes: set[int] = set()
        for chain in self.chains:
            nodes |= self._whole(chain, a)
        if not nodes:
            return None
        closed: dict[int, Row] = {}
        certain = [0] * self.size
        for (i, j), literal in self.known.items():
            if i in nodes and j in nodes:
                if literal == 1:
                    certain[i] |= 1 << j
                else:
                    closed.setdefault(i, {})[j] = literal
        must, may = [0] * self.size, dict[int, Row]()
        for i, j, literal in a.pairs():
            if not (i in nodes and j in nodes and literal in (self.known.get((i, j)), self.reads.get((i, j)))):
                if literal == 1:
                    must[i] |= 1 << j
                else:
                    may.setdefault(i, {})[j] = literal
        return Rel(certain, closed, transitive=True), Rel(must, may)

    def _whole(self, chain: Chain, a: Rel) -> set[int]:
        """The events of a chain whose closure `a` generates: reads and writes, or reads alone, or writes alone."""
        shapes = ((chain.write, chain.read, True), (chain.read, chain.read, False), (chain.write, chain.write, False))
        for sources, targets, alternating in shapes:
            steps = all(a.lit(sources[i], targets[k]) == literal for (i, k), literal in chain.reads.items())
            halves = not alternating or all(a.lit(r, w) == 1 for r, w in zip(chain.read, chain.write, strict=True))
            if steps and halves:
                return {*sources, *targets}
        return set()
