"""A thread's code unrolled to an acyclic graph, and what each of its branches decides."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter

from ptxmm.enumeration.limits import Budget, GaveUp
from ptxmm.program import (
    Assign,
    Assume,
    Atomic,
    Barrier,
    Branch,
    Elect,
    Exit,
    Label,
    Load,
    MbarrierArrive,
    MbarrierPending,
    MbarrierWait,
    Statement,
)  # fmt: skip

MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Node:
    """An instruction and, for each loop that it stands in, how many times the loop has been repeated so far."""

    pc: int
    turns: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Leave:
    """A way to leave the code: `end`, `exit`, `cut` (a loop repeated more than the bound) or `failed` (an `assume`)."""

    how: str


Point = Node | Leave


@dataclass(frozen=True)
class Graph:
    """The unrolled code of one thread.

    `next[node]` is where control goes when the instruction does not branch, `jump[node]` where it goes when it does.
    `decided[node]` are the nodes that can be reached from a branching node before all of its ways meet again.
    """

    body: tuple[Statement, ...]
    entry: Point
    order: tuple[Node, ...]
    next: dict[Node, Point]
    jump: dict[Node, Point]
    decided: dict[Node, frozenset[Node]]

    def writes(self, node: Node) -> set[str]:
        """The registers that the ways of a branch may write before they meet."""
        return {name for inside in self.decided[node] for name in written(self.body[inside.pc])}


def unroll(body: tuple[Statement, ...], bound: int, budget: Budget) -> Graph:
    """Unroll each loop to at most `bound` repetitions an entry."""
    loops = _loops(body)
    following: dict[Node, Point] = {}
    jumping: dict[Node, Point] = {}
    entry = _arrive(loops, len(body), bound, Node(-1), 0)
    waiting = [entry]
    while waiting:
        budget.look()
        node = waiting.pop()
        if isinstance(node, Leave) or node in following or node in jumping:
            continue
        for table, target in _ways(body, loops, bound, node):
            (following if table == "next" else jumping)[node] = target
            waiting.append(target)
        if len(following) > MOST_NODES:
            raise GaveUp("the unrolled code is too long to enumerate")
    order = _order(following, jumping)
    return Graph(body, entry, order, following, jumping, _decided(order, following, jumping, budget))


def _loops(body: tuple[Statement, ...]) -> dict[str, tuple[int, int]]:
    """For each label that is branched to from below: where it stands, and the last such branch."""
    at = {item.name: pc for pc, item in enumerate(body) if isinstance(item, Label)}
    found: dict[str, tuple[int, int]] = {}
    for pc, item in enumerate(body):
        if isinstance(item, Branch) and at[item.target] <= pc:
            found[item.target] = (at[item.target], pc)
    return found


def _ways(
    body: tuple[Statement, ...], loops: dict[str, tuple[int, int]], bound: int, node: Node
) -> list[tuple[str, Point]]:
    """Where control may go after a node: onward (`next`) or by a `jump`."""
    item = body[node.pc]
    onward = _arrive(loops, len(body), bound, node, node.pc + 1)
    match item:
        case Branch(target=target, guard=guard):
            to = next(pc for pc, other in enumerate(body) if isinstance(other, Label) and other.name == target)
            jump = ("jump", _arrive(loops, len(body), bound, node, to))
            return [jump] if guard is None else [("next", onward), jump]
        case Exit(guard=guard):
            return [("jump", Leave("exit"))] if guard is None else [("next", onward), ("jump", Leave("exit"))]
        case Assume():
            return [("next", onward), ("jump", Leave("failed"))]
    return [("next", onward)]


def _arrive(loops: dict[str, tuple[int, int]], end: int, bound: int, source: Node, pc: int) -> Point:
    """The node at `pc` when control comes from `source`."""
    if pc >= end:
        return Leave("end")
    before = dict(source.turns)
    turns = []
    for label, (first, last) in loops.items():
        if not first <= pc <= last:
            continue
        count = before.get(label, 0)
        if pc == first:
            count = count + 1 if first <= source.pc <= last and source.pc >= pc else 0
        if count > bound:
            return Leave("cut")
        turns.append((label, count))
    return Node(pc, tuple(turns))


def _order(following: dict[Node, Point], jumping: dict[Node, Point]) -> tuple[Node, ...]:
    """The nodes, each before those that come after it."""
    sorter: TopologicalSorter[Node] = TopologicalSorter()
    for table in (following, jumping):
        for node, target in table.items():
            sorter.add(node)
            if isinstance(target, Node):
                sorter.add(target, node)
    return tuple(sorter.static_order())


def _decided(
    order: tuple[Node, ...], following: dict[Node, Point], jumping: dict[Node, Point], budget: Budget
) -> dict[Node, frozenset[Node]]:
    """For each node with two ways on: what it reaches before its ways meet again for good (its control region)."""
    reached: dict[Point, frozenset[Node]] = {}
    certain: dict[Point, frozenset[Node]] = {}
    decided = {}
    for node in reversed(order):
        budget.look()
        ways = [table[node] for table in (following, jumping) if node in table]
        below = frozenset[Node]().union(*(reached.get(way, frozenset()) for way in ways))
        surely = frozenset.intersection(*(certain.get(way, frozenset()) for way in ways))
        if len(ways) == 2:
            decided[node] = below.difference(*(reached[joined] for joined in surely))
        reached[node] = below | {node}
        certain[node] = surely | {node}
    return decided


def written(item: Statement) -> tuple[str, ...]:
    """The registers that an instruction writes."""
    match item:
        case Load(dst=names) | Atomic(dst=names):
            return tuple(name for name in names if name is not None)
        case Assign(dst=name):
            return (name,)
        case Barrier(dst=str(name)) | MbarrierArrive(dst=str(name)) | MbarrierWait(dst=str(name)):
            return (name,)
        case MbarrierPending(dst=name):
            return (name,)
        case Elect(dst=dst, pred=pred):
            return tuple(name for name in (dst, pred) if name is not None)
    return ()
