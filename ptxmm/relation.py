"""The relation algebra and its meanings: what a model's expressions denote, in a carrier.

`Plan` compiles a model once to shared operations. `Symbolic` evaluates them to sparse maps from pairs to formulas, with
the certain pairs as bit masks; with no uncertain pair it is the concrete carrier that re-checks executions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ptxmm.closure import bits, closed_masks, components, eliminate, loops
from ptxmm.formula import Formulas, Lit

Row = dict[int, Lit]


class Rel:
    """A relation on events: `must[i]` masks the certain successors of `i`, `may[i]` maps uncertain ones to literals."""

    __slots__ = ("may", "must", "transitive")

    def __init__(self, must: list[int], may: dict[int, Row], transitive: bool = False) -> None:
        self.must, self.may, self.transitive = must, may, transitive

    def lit(self, i: int, j: int) -> Lit:
        """The literal of a pair: TRUE, FALSE or a formula."""
        if self.must[i] >> j & 1:
            return 1
        row = self.may.get(i)
        return row.get(j, -1) if row else -1

    def pairs(self) -> Iterator[tuple[int, int, Lit]]:
        """Every possible pair with its literal."""
        for i, mask in enumerate(self.must):
            for j in bits(mask):
                yield i, j, 1
        for i, row in self.may.items():
            for j, literal in row.items():
                yield i, j, literal

    def row_masks(self) -> list[int]:
        """For each event, the mask of its possible successors."""
        masks = list(self.must)
        for i, row in self.may.items():
            for j in row:
                masks[i] |= 1 << j
        return masks

    @property
    def empty(self) -> bool:
        return not self.may and not any(self.must)


class Set:
    """A set of events: `must` masks the certain members, `may` maps uncertain ones to literals."""

    __slots__ = ("may", "must")

    def __init__(self, must: int, may: Row) -> None:
        self.must, self.may = must, may

    def lit(self, i: int) -> Lit:
        return 1 if self.must >> i & 1 else self.may.get(i, -1)

    @property
    def mask(self) -> int:
        mask = self.must
        for i in self.may:
            mask |= 1 << i
        return mask


def _rows_of(rel: Rel) -> tuple[int, int]:
    """The masks of the events with certain, and with uncertain successors."""
    certain = sum(1 << i for i, mask in enumerate(rel.must) if mask)
    return certain, sum(1 << i for i in rel.may)


class Chains(Protocol):
    """What closures may know in advance: see `chains.Closure`."""

    def split(self, a: Rel, *, cycles: bool = False) -> tuple[Rel, Rel] | None: ...


class Symbolic:
    """The symbolic carrier over `size` events: every operation is exact, nothing is approximated.

    With `chains`, the closure of a relation `a` that runs along them is `T | T? ; (R ; T?)+`, where `T` is their own
    closure and `R` the rest of `a`.
    """

    def __init__(self, size: int, formulas: Formulas) -> None:
        self.size, self.formulas = size, formulas
        self.chains: Chains | None = None
        self.all = (1 << size) - 1

    def nothing(self) -> Rel:
        return Rel([0] * self.size, {}, transitive=True)

    def _clean(self, must: list[int], may: dict[int, Row], transitive: bool = False) -> Rel:
        """Move certain pairs to the masks and drop impossible ones."""
        kept: dict[int, Row] = {}
        for i, row in may.items():
            mask, good = must[i], {}
            for j, literal in row.items():
                if mask >> j & 1 or literal == -1:
                    continue
                if literal == 1:
                    mask |= 1 << j
                else:
                    good[j] = literal
            must[i] = mask
            if good:
                kept[i] = good
        return Rel(must, kept, transitive)

    # --- sets ---------------------------------------------------------------------------------------------------------

    def set_union(self, a: Set, b: Set) -> Set:
        must = a.must | b.must
        may = {i: lit for i, lit in a.may.items() if not must >> i & 1}
        for i, literal in b.may.items():
            if not must >> i & 1:
                may[i] = self.formulas.disj((may[i], literal)) if i in may else literal
        return Set(must, may)

    def set_inter(self, a: Set, b: Set) -> Set:
        may = {}
        for i, literal in a.may.items():
            other = b.lit(i)
            if other != -1:
                may[i] = self.formulas.both(literal, other)
        for i, literal in b.may.items():
            if a.must >> i & 1:
                may[i] = literal
        return Set(a.must & b.must, {i: lit for i, lit in may.items() if lit != -1})

    def set_diff(self, a: Set, b: Set) -> Set:
        must, may = a.must & ~b.must, {i: lit for i, lit in a.may.items() if not b.must >> i & 1}
        for i, literal in b.may.items():
            if must >> i & 1:
                must &= ~(1 << i)
                may[i] = -literal
            elif i in may:
                may[i] = self.formulas.both(may[i], -literal)
        return Set(must, {i: lit for i, lit in may.items() if lit != -1})

    # --- pointwise ----------------------------------------------------------------------------------------------------

    def union(self, a: Rel, b: Rel) -> Rel:
        if not b.may and not any(b.must):
            return a
        if not a.may and not any(a.must):
            return b
        must = [x | y for x, y in zip(a.must, b.must, strict=True)]
        may = {i: dict(row) for i, row in a.may.items()}
        disj = self.formulas.disj
        for i, row in b.may.items():
            mine = may.get(i)
            if mine is None:
                may[i] = dict(row)
                continue
            for j, literal in row.items():
                mine[j] = disj((mine[j], literal)) if j in mine else literal
        return self._clean(must, may)

    def inter(self, a: Rel, b: Rel) -> Rel:
        must = [x & y for x, y in zip(a.must, b.must, strict=True)]
        may: dict[int, Row] = {}
        both = self.formulas.both
        for i, row in a.may.items():
            certain, other = b.must[i], b.may.get(i, {})
            may[i] = {
                j: literal if certain >> j & 1 else both(literal, other[j])
                for j, literal in row.items()
                if certain >> j & 1 or j in other
            }
        for i, row in b.may.items():
            certain = a.must[i]
            if certain:
                mine = may.setdefault(i, {})
                for j, literal in row.items():
                    if certain >> j & 1:
                        mine[j] = literal
        return self._clean(must, may)

    def diff(self, a: Rel, b: Rel) -> Rel:
        must = [x & ~y for x, y in zip(a.must, b.must, strict=True)]
        may = {i: {j: literal for j, literal in row.items() if not b.must[i] >> j & 1} for i, row in a.may.items()}
        both = self.formulas.both
        for i, row in b.may.items():
            mine = may.setdefault(i, {})
            for j, literal in row.items():
                if must[i] >> j & 1:
                    must[i] &= ~(1 << j)
                    mine[j] = -literal
                elif j in mine:
                    mine[j] = both(mine[j], -literal)
        return self._clean(must, may)

    def complement(self, a: Rel) -> Rel:
        return self.diff(Rel([self.all] * self.size, {}), a)

    def product(self, a: Set, b: Set) -> Rel:
        must = [b.must if a.must >> i & 1 else 0 for i in range(self.size)]
        may: dict[int, Row] = {}
        both = self.formulas.both
        if b.may:
            for i in bits(a.must):
                may[i] = dict(b.may)
        for i, literal in a.may.items():
            may[i] = dict.fromkeys(bits(b.must), literal) | {j: both(literal, lit) for j, lit in b.may.items()}
        return self._clean(must, may)

    def identity(self, a: Set) -> Rel:
        must = [1 << i if a.must >> i & 1 else 0 for i in range(self.size)]
        return Rel(must, {i: {i: literal} for i, literal in a.may.items()}, transitive=True)

    def inverse(self, a: Rel) -> Rel:
        must = [0] * self.size
        for i, mask in enumerate(a.must):
            bit = 1 << i
            for j in bits(mask):
                must[j] |= bit
        may: dict[int, Row] = {}
        for i, row in a.may.items():
            for j, literal in row.items():
                may.setdefault(j, {})[i] = literal
        return Rel(must, may, a.transitive)

    def from_set(self, source: Set, a: Rel) -> Rel:
        """`[source] ; a`."""
        must = [mask if source.must >> i & 1 else 0 for i, mask in enumerate(a.must)]
        may = {i: row for i, row in a.may.items() if source.must >> i & 1}
        both = self.formulas.both
        for i, guard in source.may.items():
            guarded: Row = dict.fromkeys(bits(a.must[i]), guard)
            guarded.update({j: both(guard, literal) for j, literal in a.may.get(i, {}).items()})
            if guarded:
                may[i] = guarded
        return self._clean(must, may)

    def to_set(self, a: Rel, target: Set) -> Rel:
        """`a ; [target]`."""
        must = [mask & target.must for mask in a.must]
        may: dict[int, Row] = {}
        both = self.formulas.both
        for i, row in a.may.items():
            may[i] = {}
            for j, literal in row.items():
                guard = target.lit(j)
                if guard != -1:
                    may[i][j] = both(literal, guard)
        if target.may:
            uncertain = target.mask & ~target.must
            for i, mask in enumerate(a.must):
                for j in bits(mask & uncertain):
                    may.setdefault(i, {})[j] = target.may[j]
        return self._clean(must, may)

    def domain(self, a: Rel) -> Set:
        must = 0
        for i, mask in enumerate(a.must):
            if mask:
                must |= 1 << i
        disj = self.formulas.disj
        return Set(must, {i: disj(row.values()) for i, row in a.may.items() if not must >> i & 1})

    def range(self, a: Rel) -> Set:
        return self.domain(self.inverse(a))

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
        return self._clean(must, may)

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
        return self._clean([0] * self.size, eliminate(a.pairs(), self.formulas), transitive=True)

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
        return self._clean(must, {i: dict(row) for i, row in a.may.items()})

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
