"""Counters: chains whose operations all add, so that what is read is the initial value and the steps before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ptxmm.chains import Chain
from ptxmm.formula import Lit

Terms = tuple[tuple[int, Lit], ...]


@dataclass(frozen=True, eq=False)
class Counter:
    """A chain of additions: write `i` adds `steps[i]` where `adds[i]` holds, and else writes back what it read."""

    chain: Chain
    start: int
    steps: tuple[int, ...]
    adds: tuple[Lit, ...]
    modulus: int
    tables: dict[int, Remainders] = field(default_factory=dict)

    def at(self, k: int, value: int) -> Count:
        """The statement that place `k` finds a value."""
        if k not in self.tables:
            both = self.chain.formulas.both
            terms = [(self.steps[i], both(self.chain.precedes(i, k), self.adds[i])) for i in self.chain.others(k)]
            self.tables[k] = Remainders(self, tuple((step, literal) for step, literal in terms if literal != -1))
        return Count(self.tables[k], value - self.start)


class Remainders:
    """The sums of the steps whose literals hold, from each step to the last, by decision diagrams.

    Numbers are taken modulo the width of the word; `low` and `high` bound what the steps from a place on can bring.
    """

    def __init__(self, counter: Counter, terms: Terms) -> None:
        self.formulas, self.modulus = counter.chain.formulas, counter.modulus
        half = self.modulus // 2
        signed = tuple((step - self.modulus if step >= half else step, literal) for step, literal in terms)
        self.terms = min(terms, signed, key=lambda found: sum(abs(step) for step, _ in found))
        self.low, self.high = [0], [0]
        for step, _ in reversed(self.terms):
            self.low.append(self.low[-1] + min(step, 0))
            self.high.append(self.high[-1] + max(step, 0))
        self.low.reverse()
        self.high.reverse()
        self.memo: dict[tuple[int, int], Lit] = {}

    def total(self, wanted: int) -> Lit:
        """The literal that all steps together bring what is wanted."""
        open_at = [{wanted % self.modulus} if self._possible(0, wanted) else set()]
        for place, (step, _) in enumerate(self.terms):
            after = (m for missing in open_at[-1] for m in (missing, (missing - step) % self.modulus))
            open_at.append({m for m in after if self._possible(place + 1, m) and (place + 1, m) not in self.memo})
        for place in range(len(self.terms), -1, -1):
            self.formulas.tick()
            for missing in open_at[place]:
                self.memo[place, missing] = self._rest(place, missing)
        return self.memo.get((0, wanted % self.modulus), -1)

    def _possible(self, place: int, missing: int) -> bool:
        return (missing - self.low[place]) % self.modulus <= self.high[place] - self.low[place]

    def _rest(self, place: int, missing: int) -> Lit:
        """The literal that the steps from a place on bring what is missing, from those after it."""
        if place == len(self.terms):
            return 1
        step, literal = self.terms[place]
        with_it = self.memo.get((place + 1, (missing - step) % self.modulus), -1)
        without = self.memo.get((place + 1, missing), -1)
        both = self.formulas.both
        return self.formulas.disj((both(literal, with_it), both(-literal, without)))


@dataclass(frozen=True, slots=True, eq=False)
class Count:
    """That the steps whose literals hold sum up to a total."""

    table: Remainders
    total: int

    def formula(self) -> Lit:
        return self.table.total(self.total)

    def needs(self) -> Iterator[Lit]:
        return (literal for _, literal in self.table.terms)

    def holds(self, true: Callable[[Lit], bool]) -> bool:
        found = sum(step for step, literal in self.table.terms if true(literal))
        return (found - self.total) % self.table.modulus == 0


def counter_of(chain: Chain, start: int, adds: tuple[Lit, ...]) -> Counter | None:
    """The counter that a chain is, where all its writes are additions of constants to an integer."""
    steps = [write.step for write in chain.writes]
    if any(step is None for step in steps) or chain.writes[0].type.floating:
        return None
    known = tuple(step for step in steps if step is not None)
    return Counter(chain, start, known, adds, 1 << chain.writes[0].type.bits)
