"""Transitive closure and cycles of graphs: on masks, and on edges with literals by eliminating nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from ptxmm.formula import Formulas, Lit

Pair = tuple[int, int, Lit]
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


def eliminate(pairs: Iterable[Pair], formulas: Formulas) -> dict[int, Row]:
    """The transitive closure of edges with literals, exact: rows from node to (node, literal)."""
    graph = _Graph(pairs, formulas)
    for k in graph.cheapest_first():
        graph.bridge(k)
    return {i: {j: graph.settled(row, j) for j in row} for i, row in graph.out.items()}


def loops(pairs: Iterable[Pair], formulas: Formulas) -> list[Lit]:
    """The literals of the loops that appear as nodes are eliminated: the graph has a cycle when one of them holds."""
    graph = _Graph(pairs, formulas)
    found = []
    for k in graph.cheapest_first():
        graph.bridge(k)
        if k in graph.out[k]:
            found.append(graph.settled(graph.out[k], k))
        graph.remove(k)
    return found


class _Graph:
    """Edges under elimination; the terms of an edge are gathered in a list until its literal is needed."""

    def __init__(self, pairs: Iterable[Pair], formulas: Formulas) -> None:
        self.formulas = formulas
        self.out: dict[int, dict[int, Lit | list[Lit]]] = {}
        self.into: dict[int, set[int]] = {}
        for i, j, literal in pairs:
            self.out.setdefault(i, {})[j] = literal
            self.into.setdefault(j, set()).add(i)

    def cheapest_first(self) -> Iterator[int]:
        """The nodes that have edges in and out, the one with the fewest paths through it next."""
        left = {k for k in self.into if k in self.out}
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
        return len(self.into[k]) * len(self.out[k])

    def settled(self, row: dict[int, Lit | list[Lit]], j: int) -> Lit:
        """The literal of an edge."""
        found = row[j]
        if isinstance(found, list):
            found = row[j] = found[0] if len(found) == 1 else self.formulas.disj(found)
        return found

    def bridge(self, k: int) -> None:
        """Add the edges that lead through `k`."""
        both, out, into = self.formulas.both, self.out, self.into
        after = [(j, self.settled(out[k], j)) for j in list(out[k]) if j != k]
        for i in list(into[k]):
            if i == k:
                continue
            row = out[i]
            first = self.settled(row, k)
            for j, second in after:
                old = row.get(j)
                if old == 1:
                    continue
                through = both(first, second)
                if through == -1:
                    continue
                if through == 1:
                    row[j] = 1
                elif isinstance(old, list):
                    old.append(through)
                else:
                    row[j] = [through] if old is None else [old, through]
                into.setdefault(j, set()).add(i)

    def remove(self, k: int) -> None:
        """Drop a node and its edges."""
        for i in self.into[k]:
            if i in self.out:
                self.out[i].pop(k, None)
        for j in self.out.pop(k):
            self.into[j].discard(k)


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
