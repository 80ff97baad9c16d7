"""Transitive closure and cycles of graphs: on masks, and on edges with literals by eliminating nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

from ptxmm.formula import Lit
from ptxmm.running import Running

Row = dict[int, Lit]


def bits(mask: int) -> Iterator[int]:
    """The positions of the ones in a mask, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def closed_masks(rows: list[int]) -> list[int]:
    """The transitive closure of a graph given as successor masks.

    >>> closed_masks([0b010, 0b100, 0])
    [6, 4, 0]
    """
    rows = list(rows)
    reached = 0
    for mask in rows:
        reached |= mask
    for k in bits(reached):
        through = rows[k]
        if through:
            bit = 1 << k
            rows = [row | through if row & bit else row for row in rows]
    return rows


def eliminate(must: list[int], may: Mapping[int, Row], running: Running) -> tuple[list[int], dict[int, Row]]:
    """The transitive closure of a graph with certain and uncertain edges, exact: its certain and uncertain edges."""
    graph = _Graph(must, may, running)
    for k in graph.cheapest_first():
        graph.bridge(k)
    return graph.must, graph.uncertain()


def loops(must: list[int], may: Mapping[int, Row], running: Running) -> list[Lit]:
    """The literals of the loops that appear as nodes are eliminated: the graph has a cycle when one of them holds."""
    graph = _Graph(must, may, running)
    found = []
    for k in graph.cheapest_first():
        graph.bridge(k)
        literal = graph.literal(k, k)
        if literal != -1:
            found.append(running.pair(k, k, literal))
        graph.remove(k)
    return found


class _Graph:
    """Edges under elimination: masks of the certain ones, and of the others terms in a list until they are needed."""

    def __init__(self, must: list[int], may: Mapping[int, Row], running: Running) -> None:
        self.running, self.formulas = running, running.formulas
        self.must = list(must)
        self.may: dict[int, dict[int, Lit | list[Lit]]] = {i: dict(row) for i, row in may.items()}
        self.out = list(must)
        for i, row in may.items():
            for j in row:
                self.out[i] |= 1 << j
        self.into = [0] * len(must)
        for i, mask in enumerate(self.out):
            for j in bits(mask):
                self.into[j] |= 1 << i

    def cheapest_first(self) -> Iterator[int]:
        """The nodes that have edges in and out, the one with the fewest paths through it next."""
        left = {k for k in range(len(self.out)) if self.into[k] and self.out[k]}
        heap = [(self._cost(k), k) for k in left]
        heapify(heap)
        while heap:
            cost, k = heappop(heap)
            if k not in left:
                continue
            if self._cost(k) > cost:
                heappush(heap, (self._cost(k), k))
                continue
            left.discard(k)
            yield k

    def _cost(self, k: int) -> int:
        return self.into[k].bit_count() * self.out[k].bit_count()

    def literal(self, i: int, j: int) -> Lit:
        """The literal of an edge."""
        if self.must[i] >> j & 1:
            return 1
        row = self.may.get(i)
        found = row.get(j, -1) if row else -1
        if isinstance(found, list):
            assert row is not None
            found = row[j] = found[0] if len(found) == 1 else self.formulas.disj(found)
        return found

    def uncertain(self) -> dict[int, Row]:
        """The edges that are not certain."""
        rows = {i: {j: self.literal(i, j) for j in row if not self.must[i] >> j & 1} for i, row in self.may.items()}
        return {i: row for i, row in rows.items() if row}

    def bridge(self, k: int) -> None:
        """Add the edges that lead through `k`."""
        running, here = self.running, 1 << k
        certain = self.must[k] & ~here
        after = [(j, self.literal(k, j)) for j in self.may.get(k, ()) if j != k and not certain >> j & 1]
        needs, guard = running.needs(k), running.guards[k]
        for i in bits(self.into[k] & ~here):
            first, bit = self.literal(i, k), 1 << i
            sure = running.all if needs & bit else needs
            if first != 1:
                sure &= running.implying(first)
            mine = self.must[i]
            new = certain & sure & ~mine
            if new:
                self.must[i] = mine = mine | new
                self._enter(i, new)
            for j in bits(certain & ~mine):
                self._add(i, j, first, 1 if needs & (bit | 1 << j) else guard, 1)
            for j, second in after:
                if not mine >> j & 1:
                    self._add(i, j, first, 1 if needs & (bit | 1 << j) else guard, second)

    def _add(self, i: int, j: int, first: Lit, guard: Lit, second: Lit) -> None:
        """A way from one node to another through a third."""
        both, under, ends = self.running.both, self.running.under, 1 << i | 1 << j
        if not self.running.trivial:
            first, guard, second = under(first, ends), under(guard, ends), under(second, ends)
        through = both(both(first, second), guard)
        if through == -1:
            return
        if through == 1:
            self.must[i] |= 1 << j
        else:
            row = self.may.setdefault(i, {})
            old = row.get(j)
            if old == through:
                return
            if isinstance(old, list):
                old.append(through)
            else:
                row[j] = [through] if old is None else [old, through]
        self._enter(i, 1 << j)

    def _enter(self, i: int, mask: int) -> None:
        new = mask & ~self.out[i]
        self.out[i] |= mask
        for j in bits(new):
            self.into[j] |= 1 << i

    def remove(self, k: int) -> None:
        """Drop a node and its edges."""
        away = ~(1 << k)
        for i in bits(self.into[k]):
            self.must[i] &= away
            self.out[i] &= away
            if i in self.may:
                self.may[i].pop(k, None)
        for j in bits(self.out[k]):
            self.into[j] &= away
        self.must[k] = self.out[k] = self.into[k] = 0
        self.may.pop(k, None)


def components(masks: list[int]) -> list[list[int]]:
    """The strongly connected components of a graph given as successor masks (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    for root in range(len(masks)):
        if root in index or not masks[root]:
            continue
        work = [(root, bits(masks[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, successors = work[-1]
            for j in successors:
                if j not in index:
                    index[j] = low[j] = len(index)
                    stack.append(j)
                    on_stack.add(j)
                    work.append((j, bits(masks[j])))
                    break
                if j in on_stack:
                    low[node] = min(low[node], index[j])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while True:
                        top = stack.pop()
                        on_stack.discard(top)
                        part.append(top)
                        if top == node:
                            break
                    found.append(part)
    return found
