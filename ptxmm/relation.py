"""The relation algebra and its meanings: what a model's expressions denote, in a carrier.

`Plan` compiles a model once to shared operations. `Symbolic` evaluates them to sparse maps from pairs to formulas, with
the certain pairs as bit masks; with no uncertain pair it is the concrete carrier that re-checks executions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Protocol

from ptxmm.closure import bits, closed_masks, components, eliminate, loops
from ptxmm.formula import Formulas, Lit
from ptxmm.pointwise import Pointwise, Rel, Row, Set

__all__ = ["Chains", "Rel", "Row", "Set", "Symbolic"]


def _rows_of(rel: Rel) -> tuple[int, int]:
    """The masks of the events with certain, and with uncertain successors."""
    certain = sum(1 << i for i, mask in enumerate(rel.must) if mask)
    return certain, sum(1 << i for i in rel.may)


class Chains(Protocol):
    """What closures may know in advance: see `chains.Closure`."""

    def split(self, a: Rel, *, cycles: bool = False) -> tuple[Rel, Rel] | None: ...


class Symbolic(Pointwise):
    """The symbolic carrier over `size` events: every operation is exact, nothing is approximated.

    With `chains`, the closure of a relation `a` that runs along them is `T | T? ; (R ; T?)+`, where `T` is their own
    closure and `R` the rest of `a`.
    """

    def __init__(self, size: int, formulas: Formulas, guards: Sequence[Lit] = ()) -> None:
        super().__init__(size, formulas, guards)
        self.chains: Chains | None = None

    # --- composition --------------------------------------------------------------------------------------------------

    def seq(self, a: Rel, b: Rel, within: list[int] | None = None) -> Rel:
        """`a ; b`, only the pairs that `within` masks where it is given."""
        filled, partial = _rows_of(b)
        running = self.running
        must = [0] * self.size
        terms: dict[int, dict[int, list[Lit]]] = {}
        for i, mask in enumerate(a.must):
            wanted = self.all if within is None else within[i]
            row = self._certain(i, mask & filled, b)
            must[i] = row & wanted
            wanted &= ~row
            if not wanted:
                continue
            mine: dict[int, list[Lit]] = {}
            for k in bits(mask & filled) if not running.trivial else ():
                for j in bits(b.must[k] & wanted):
                    mine.setdefault(j, []).append(running.guards[k])
            for k in bits(mask & partial):
                self._collect(mine, i, k, b.may[k], 1, wanted)
            if mine:
                terms[i] = mine
        useful = filled | partial
        for i, uncertain in a.may.items():
            wanted = ~must[i] & (self.all if within is None else within[i])
            mine = terms.setdefault(i, {})
            for k, literal in uncertain.items() if wanted else ():
                if useful >> k & 1:
                    self._extend(mine, i, k, b.must[k] & wanted, literal)
                    if partial >> k & 1:
                        self._collect(mine, i, k, b.may[k], literal, wanted)
        return self._limited(must, terms)

    def _certain(self, i: int, mask: int, b: Rel) -> int:
        """What is certain to come after `i` through one of the events in a mask."""
        row, running = 0, self.running
        if running.trivial:
            for k in bits(mask):
                row |= b.must[k]
            return row
        for k in bits(mask):
            needs = running.needs(k)
            row |= b.must[k] if needs >> i & 1 else b.must[k] & needs
        return row

    def _limited(self, must: list[int], terms: dict[int, dict[int, list[Lit]]]) -> Rel:
        """The relation of gathered terms."""
        disj, under = self.formulas.disj, self.running.under
        may: dict[int, Row] = {}
        for i, mine in terms.items():
            row: Row = {}
            for k, found in mine.items():
                if not must[i] >> k & 1:
                    ends = 1 << i | 1 << k
                    kept = [under(literal, ends) for literal in found]
                    row[k] = kept[0] if len(kept) == 1 else disj(kept)
            may[i] = row
        return self.clean(must, may)

    def _extend(self, into: dict[int, list[Lit]], i: int, k: int, mask: int, literal: Lit) -> None:
        """What comes after `k` for certain, after a step to it that has a literal."""
        if not mask:
            return
        running = self.running
        needs = self.all if running.needs(k) >> i & 1 else running.needs(k)
        guarded = literal if needs == self.all else running.both(literal, running.guards[k])
        for j in bits(mask):
            term = literal if needs >> j & 1 else guarded
            if term != -1:
                into.setdefault(j, []).append(term)

    def _collect(self, into: dict[int, list[Lit]], i: int, k: int, row: Row, literal: Lit, wanted: int) -> None:
        both, whole, running = self.running.both, wanted == self.all, self.running
        needs = self.all if running.needs(k) >> i & 1 else running.needs(k)
        guarded = literal if needs == self.all else both(literal, running.guards[k])
        for j, other in row.items():
            if whole or wanted >> j & 1:
                first = literal if needs >> j & 1 else guarded
                together = other if first == 1 else both(first, other)
                if together != -1:
                    into.setdefault(j, []).append(together)

    def plus(self, a: Rel) -> Rel:
        """The transitive closure, by eliminating one event after another, cheapest first."""
        if a.transitive:
            return a
        if not a.may and self.running.trivial:
            return Rel(closed_masks(a.must), {}, transitive=True)
        parts = self.chains.split(a) if self.chains is not None else None
        if parts is not None:
            along, rest = parts
            beside = self._eliminated(self.union(rest, self.seq(rest, along)))
            whole = self.union(along, self.union(beside, self.seq(along, beside)))
            return Rel(whole.must, whole.may, transitive=True)
        return self._eliminated(a)

    def _eliminated(self, a: Rel) -> Rel:
        return self.clean(*eliminate(a.must, a.may, self.running), transitive=True)

    def plus_seq_optional(self, a: Rel, b: Rel) -> Rel:
        """`(a ; b?)+` as `c | (a | c ; a) ; b` with `c = (a ; (b & range(a) * domain(a))?)+`, which is far smaller.

        Where b is transitive, or none of its pairs follows another there, that is `c | c ; b`.
        """
        starts, ends = 0, 0
        for i, mask in enumerate(a.row_masks()):
            if mask:
                starts |= 1 << i
                ends |= mask
        inner = Rel(
            [mask & starts if ends >> i & 1 else 0 for i, mask in enumerate(b.must)],
            {
                i: kept
                for i, row in b.may.items()
                if ends >> i & 1 and (kept := {j: literal for j, literal in row.items() if starts >> j & 1})
            },
        )
        step = a if inner.empty else self.union(a, self.seq(a, inner))
        closed = self.plus(step)
        behind = reduce(or_, inner.row_masks(), 0)
        twice = not b.transitive and any(mask and behind >> i & 1 for i, mask in enumerate(b.row_masks()))
        ending = self.union(a, self.seq(closed, a)) if twice else closed
        return self.union(closed, self.seq(ending, b))

    def optional(self, a: Rel) -> Rel:
        must = [mask | 1 << i for i, mask in enumerate(a.must)]
        return self.clean(must, {i: dict(row) for i, row in a.may.items()})

    # --- axioms -------------------------------------------------------------------------------------------------------

    def is_empty(self, a: Rel | Set) -> Lit:
        """The literal that says the relation or set is empty."""
        conj, running = self.formulas.conj, self.running
        if isinstance(a, Set):
            members = [(i, 1) for i in bits(a.must)] + list(a.may.items())
            return conj([-running.pair(i, i, literal) for i, literal in members])
        return conj([-running.pair(i, j, literal) for i, j, literal in a.pairs()])

    def is_irreflexive(self, a: Rel) -> Lit:
        found = [(i, a.lit(i, i)) for i in range(self.size)]
        return self.formulas.conj([-self.running.pair(i, i, literal) for i, literal in found if literal != -1])

    def is_irreflexive_seq(self, a: Rel, b: Rel) -> Lit:
        """`irreflexive (a ; b)` without building the composition."""
        back = self.inverse(b)
        meet = self.inter(a, back)
        return self.is_empty(meet)

    def is_acyclic(self, a: Rel) -> Lit:
        if a.transitive:
            return self.is_irreflexive(a)
        if not a.may and not any(row >> i & 1 for i, row in enumerate(closed_masks(a.must))):
            return 1
        parts = self.chains.split(a, cycles=True) if self.chains is not None else None
        if parts is not None:
            along, rest = parts
            starts = sum(1 << i for i, mask in enumerate(rest.row_masks()) if mask)
            a = self.union(rest, self.seq(rest, along, [starts] * self.size))
        masks = a.row_masks()
        cyclic = [part for part in components(masks) if len(part) > 1 or masks[part[0]] >> part[0] & 1]
        if not cyclic:
            return 1
        found = []
        for part in cyclic:
            inside = 0
            for i in part:
                inside |= 1 << i
            must, may = [0] * self.size, dict[int, Row]()
            for i in part:
                must[i] = a.must[i] & inside
                row = {j: literal for j, literal in a.may.get(i, {}).items() if inside >> j & 1}
                if row:
                    may[i] = row
            found.append(self.formulas.conj([-literal for literal in loops(must, may, self.running)]))
        return self.formulas.conj(found)
