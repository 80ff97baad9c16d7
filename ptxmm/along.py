"""Closures of relations that run along chains: the part along a chain is taken from its shape, in closed form."""

from __future__ import annotations

from ptxmm.chain_shapes import SHAPES, Communication, Shape
from ptxmm.chains import Chain
from ptxmm.formula import Lit
from ptxmm.relation import Rel, Row


class Closure:
    """The transitive closures of what happens along chains, by which closures of larger relations are built.

    With `loose`, the executions that are described are some of all, and may be fewer still.
    """

    def __init__(self, chains: list[Chain], size: int, *, loose: bool = False) -> None:
        self.chains, self.size, self.loose = chains, size, loose
        self.shapes: dict[tuple[int, type[Shape], frozenset[int]], Shape] = {}

    def split(self, a: Rel, *, cycles: bool = False) -> tuple[Rel, Rel] | None:
        """The closure of the part of `a` that runs along chains, and the rest of `a`; None where no chain is whole.

        Only to look for `cycles`, it may be more than the closure where that only makes executions fewer.
        """
        closed: dict[tuple[int, int], Lit] = {}
        edges: dict[tuple[int, int], Lit] = {}
        for number in range(len(self.chains)):
            found = self._found(number, a, more=self.loose and cycles)
            if found is not None:
                shape, left = found
                closed.update({p: lit for p, lit in shape.closure.items() if not left & (1 << p[0] | 1 << p[1])})
                edges.update({p: lit for p, lit in shape.edges.items() if not left & (1 << p[0] | 1 << p[1])})
        if not closed:
            return None
        known = (closed, edges)
        rest = [(i, j, lit) for i, j, lit in a.pairs() if not any(of.get((i, j)) in (lit, 1) for of in known)]
        along = self._rel([(i, j, literal) for (i, j), literal in closed.items()])
        along.transitive = True
        return along, self._rel(rest)

    def _found(self, number: int, a: Rel, *, more: bool) -> tuple[Shape, int] | None:
        """A shape whose edges `a` has along a chain, and the mask of the plain reads that are no part of it."""
        for kind in SHAPES:
            shape = self._shape(number, kind, frozenset())
            lacking = _lacking(shape, a)
            left = _left(shape, lacking)
            if left is None and (more or kind is not Communication):
                out = _out(shape, lacking)
                shape = self._shape(number, kind, out)
                left = _left(shape, _lacking(shape, a)) if 2 * len(out) < len(self.chains[number].writes) else None
            if left is not None and shape.edges:
                return shape, left
        return None

    def _shape(self, number: int, kind: type[Shape], out: frozenset[int]) -> Shape:
        key = (number, kind, out)
        if key not in self.shapes:
            self.shapes[key] = kind(self.chains[number], out)
        return self.shapes[key]

    def _rel(self, pairs: list[tuple[int, int, Lit]]) -> Rel:
        must, may = [0] * self.size, dict[int, Row]()
        for i, j, literal in pairs:
            if literal == 1:
                must[i] |= 1 << j
            else:
                may.setdefault(i, {})[j] = literal
        return Rel(must, may)


def _lacking(shape: Shape, a: Rel) -> list[tuple[int, int]]:
    """The edges of a shape that `a` does not have."""
    kids = shape.formulas.kids
    found = []
    for (i, j), literal in shape.edges.items():
        here = a.lit(i, j)
        if here not in (literal, 1) and (here > 0 or -literal not in kids.get(-here, ())):
            found.append((i, j))
    return found


def _left(shape: Shape, lacking: list[tuple[int, int]]) -> int | None:
    """The mask of the plain reads that lack an edge; None where anything else does."""
    plain = sum(1 << read.id for read in shape.watchers)
    left = 0
    for i, j in lacking:
        free = (1 << i | 1 << j) & plain
        if not free:
            return None
        left |= free
    return left


def _out(shape: Shape, lacking: list[tuple[int, int]]) -> frozenset[int]:
    """The places of the atomic operations that lack most of their edges."""
    chain = shape.chain
    places = {w.id: k for k, w in enumerate(chain.writes)} | chain.place
    counts: dict[int, int] = {}
    for pair in lacking:
        for place in {places[event] for event in pair}:
            counts[place] = counts.get(place, 0) + 1
    most = len(chain.writes) - 1
    return frozenset(k for k, count in counts.items() if k < len(chain.writes) and count >= most)
