"""The relation algebra and its meanings: what a model's expressions denote, in a carrier.

`Plan` compiles a model once to shared operations. `Symbolic` evaluates them to sparse maps from pairs to formulas, with
the certain pairs as bit masks; with no uncertain pair it is the concrete carrier that re-checks executions.
"""

from __future__ import annotations

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

    def __init__(self, size: int, formulas: Formulas) -> None:
        super().__init__(size, formulas)
        self.chains: Chains | None = None

    # --- composition --------------------------------------------------------------------------------------------------

    def seq(self, a: Rel, b: Rel, within: list[int] | None = None) -> Rel:
        """`a ; b`, only the pairs that `within` masks where it is given."""
        filled, partial = _rows_of(b)
        must = [0] * self.size
        for i, mask in enumerate(a.must):
            if mask & filled:
                row = 0
                for j in bits(mask & filled):
                    row |= b.must[j]
                must[i] = row if within is None else row & within[i]
        terms: dict[int, dict[int, list[Lit]]] = {}
        if partial:
            for i, mask in enumerate(a.must):
                wanted = self.all if within is None else within[i] & ~must[i]
                for j in bits(mask & partial) if wanted else ():
                    self._collect(terms.setdefault(i, {}), b.may[j], 1, wanted)
        useful = filled | partial
        for i, uncertain in a.may.items():
            wanted = ~must[i] & (self.all if within is None else within[i])
            for j, literal in uncertain.items() if wanted else ():
                if useful >> j & 1:
                    mine = terms.setdefault(i, {})
                    for k in bits(b.must[j] & wanted):
                        mine.setdefault(k, []).append(literal)
                    if partial >> j & 1:
                        self._collect(mine, b.may[j], literal, wanted)
        return self._limited(must, terms)

    def _limited(self, must: list[int], terms: dict[int, dict[int, list[Lit]]]) -> Rel:
        """The relation of gathered terms."""
        disj = self.formulas.disj
        may: dict[int, Row] = {}
        for i, mine in terms.items():
            open_ones = ((k, found) for k, found in mine.items() if not must[i] >> k & 1)
            may[i] = {k: found[0] if len(found) == 1 else disj(found) for k, found in open_ones}
        return self.clean(must, may)

    def _collect(self, into: dict[int, list[Lit]], row: Row, literal: Lit, wanted: int) -> None:
        both, whole = self.formulas.both, wanted == self.all
        for k, other in row.items():
            if whole or wanted >> k & 1:
                together = other if literal == 1 else both(literal, other)
                if together != -1:
                    into.setdefault(k, []).append(together)

    def plus(self, a: Rel) -> Rel:
        """The transitive closure, by eliminating one event after another, cheapest first."""
        if a.transitive:
            return a
        if not a.may:
            return Rel(closed_masks(a.must), {}, transitive=True)
        parts = self.chains.split(a) if self.chains is not None else None
        if parts is not None:
            along, rest = parts
            beside = self._eliminated(self.union(rest, self.seq(rest, along)))
            whole = self.union(along, self.union(beside, self.seq(along, beside)))
            return Rel(whole.must, whole.may, transitive=True)
        return self._eliminated(a)

    def _eliminated(self, a: Rel) -> Rel:
        return self.clean([0] * self.size, eliminate(a.pairs(), self.formulas), transitive=True)

    def plus_seq_optional(self, a: Rel, b: Rel) -> Rel:
        """`(a ; b?)+` as `(a ; (b & range(a) * domain(a))?)+ ; b?`, which is the same and far smaller."""
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
        return self.union(closed, self.seq(closed, b))

    def optional(self, a: Rel) -> Rel:
        must = [mask | 1 << i for i, mask in enumerate(a.must)]
        return self.clean(must, {i: dict(row) for i, row in a.may.items()})

    # --- axioms -------------------------------------------------------------------------------------------------------

    def is_empty(self, a: Rel | Set) -> Lit:
        """The literal that says the relation or set is empty."""
        if isinstance(a, Set):
            return -1 if a.must else self.formulas.conj([-literal for literal in a.may.values()])
        if any(a.must):
            return -1
        return self.formulas.conj([-literal for row in a.may.values() for literal in row.values()])

    def is_irreflexive(self, a: Rel) -> Lit:
        if any(mask >> i & 1 for i, mask in enumerate(a.must)):
            return -1
        return self.formulas.conj([-row[i] for i, row in a.may.items() if i in row])

    def is_irreflexive_seq(self, a: Rel, b: Rel) -> Lit:
        """`irreflexive (a ; b)` without building the composition."""
        back = self.inverse(b)
        meet = self.inter(a, back)
        return self.is_empty(meet)

    def is_acyclic(self, a: Rel) -> Lit:
        if a.transitive:
            return self.is_irreflexive(a)
        if not a.may:
            return -1 if any(row >> i & 1 for i, row in enumerate(closed_masks(a.must))) else 1
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
            found.append(self.formulas.conj([-literal for literal in loops(Rel(must, may).pairs(), self.formulas)]))
        return self.formulas.conj(found)
