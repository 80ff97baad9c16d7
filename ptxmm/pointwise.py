"""Relations and sets of events with formulas for what is uncertain, and the operations that look at single pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxmm.closure import bits
from ptxmm.formula import Formulas, Lit
from ptxmm.running import Running

Row = dict[int, Lit]


class Rel:
    """A relation on events: `must[i]` masks the certain successors of `i`, `may[i]` maps uncertain ones to literals.

    Both say it of executions in which the two events run; a literal may repeat their guards or not.
    """

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


class Pointwise:
    """Operations on sets and relations over `size` events, pair by pair: exact, nothing is approximated.

    Events run where their `guards` hold, or always where there are none.
    """

    def __init__(self, size: int, formulas: Formulas, guards: Sequence[Lit] = ()) -> None:
        self.size, self.formulas = size, formulas
        self.running = Running(formulas, size, guards)
        self.all = (1 << size) - 1

    def nothing(self) -> Rel:
        return Rel([0] * self.size, {}, transitive=True)

    def clean(self, must: list[int], may: dict[int, Row], transitive: bool = False) -> Rel:
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

    def guarded(self, a: Rel) -> Rel:
        """The same relation with the guards of both events in its literals."""
        found: dict[int, Row] = {}
        for i, j, literal in a.pairs():
            found.setdefault(i, {})[j] = self.running.pair(i, j, literal)
        return self.clean([0] * self.size, found)

    # --- sets ---------------------------------------------------------------------------------------------------------

    def set_union(self, a: Set, b: Set) -> Set:
        must = a.must | b.must
        found = a.may | {i: self.formulas.disj((a.lit(i), literal)) for i, literal in b.may.items()}
        return Set(must, {i: literal for i, literal in found.items() if not must >> i & 1})

    def set_inter(self, a: Set, b: Set) -> Set:
        found = {i: self.formulas.both(a.lit(i), b.lit(i)) for i in a.may | b.may}
        return Set(a.must & b.must, {i: literal for i, literal in found.items() if literal != -1})

    def set_diff(self, a: Set, b: Set) -> Set:
        found = a.may | {i: self.formulas.both(a.lit(i), -literal) for i, literal in b.may.items()}
        return Set(a.must & ~b.mask, {i: lit for i, lit in found.items() if lit != -1 and not b.must >> i & 1})

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
        return self.clean(must, may)

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
        return self.clean(must, may)

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
        return self.clean(must, may)

    def complement(self, a: Rel) -> Rel:
        return self.diff(Rel([self.all] * self.size, {}), a)

    def product(self, a: Set, b: Set) -> Rel:
        must = [b.must if a.must >> i & 1 else 0 for i in range(self.size)]
        may: dict[int, Row] = dict.fromkeys(bits(a.must), b.may) if b.may else {}
        both = self.formulas.both
        for i, literal in a.may.items():
            may[i] = dict.fromkeys(bits(b.must), literal) | {j: both(literal, lit) for j, lit in b.may.items()}
        return self.clean(must, may)

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
        return self.clean(must, may)

    def to_set(self, a: Rel, target: Set) -> Rel:
        """`a ; [target]`."""
        must = [mask & target.must for mask in a.must]
        both = self.formulas.both
        may = {
            i: {j: both(literal, guard) for j, literal in row.items() if (guard := target.lit(j)) != -1}
            for i, row in a.may.items()
        }
        if target.may:
            uncertain = target.mask & ~target.must
            for i, mask in enumerate(a.must):
                for j in bits(mask & uncertain):
                    may.setdefault(i, {})[j] = target.may[j]
        return self.clean(must, may)

    def domain(self, a: Rel) -> Set:
        running, disj = self.running, self.formulas.disj
        must, may = 0, dict[int, Row]()
        for i, mask in enumerate(a.must):
            if any(running.needs(j) >> i & 1 for j in bits(mask)):
                must |= 1 << i
            elif mask:
                may[i] = {j: running.guards[j] for j in bits(mask)}
        for i, row in a.may.items():
            if not must >> i & 1:
                guarded = {j: self.formulas.both(literal, running.guards[j]) for j, literal in row.items()}
                may[i] = may.get(i, {}) | guarded
        found = {i: running.under(disj(row.values()), 1 << i) for i, row in may.items()}
        must |= sum(1 << i for i, literal in found.items() if literal == 1)
        return Set(must, {i: literal for i, literal in found.items() if literal not in (1, -1)})

    def range(self, a: Rel) -> Set:
        return self.domain(self.inverse(a))
