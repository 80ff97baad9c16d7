"""A thread's code as an acyclic graph of instruction instances: loops unrolled to a bound, in topological order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ptxmm.closure import bits
from ptxmm.deadline import NEVER, Deadline
from ptxmm.errors import Undecided
from ptxmm.instructions import labels
from ptxmm.program import Assume, Branch, Exit, Statement
from ptxmm.spins import Loop, loops, waiting

LIMIT = 20_000
NO_BOUNDS: Mapping[int, int] = MappingProxyType({})

NEXT, TAKEN = "next", "taken"


@dataclass(frozen=True, slots=True)
class Node:
    """One instance of an instruction; `pc` is END, CUT where a loop was cut, WAIT where a waiting loop repeats.

    `loop` is that loop, `counts` says in which repetition of which loop the instance stands. `before` lists (node, edge
    kind); `decided_by` masks the nodes whose branching decides whether this one is reached; `like` is a node that is
    reached exactly when this one is.
    """

    pc: int
    statement: Statement | None
    before: tuple[tuple[int, str], ...]
    decided_by: int = 0
    like: int = -1
    counts: tuple[int, ...] = ()
    loop: Loop | None = None


END, CUT, WAIT = -1, -2, -3


def _sink(kind: int, head: int) -> int:
    """The number of the state in which a loop is cut or waits."""
    return kind - 2 * head


def unrolled(
    body: tuple[Statement, ...],
    bound: int,
    *,
    to_the_end: bool = False,
    effects: frozenset[int] = frozenset(),
    bounds: Mapping[int, int] = NO_BOUNDS,
    kept: frozenset[str] | None = None,
    deadline: Deadline = NEVER,
) -> tuple[Node, ...]:
    """The instances of a thread's instructions in topological order; each back edge is taken at most `bound` times.

    Loops by their heads: `bounds` has other bounds for some, and a waiting loop (`spins.waiting`, which tells what
    `kept` is) is passed once, unless it is in `effects`. With `to_the_end`, a branch decides everything that can come
    after it (the convention of assembly tools); otherwise what it can reach before its arms meet again (its immediate
    post-dominator). Undecided is raised where there are more than LIMIT instances, or after the deadline.
    """
    deadline.check()
    places = labels(body)
    if not any(isinstance(s, (Branch, Exit, Assume)) for s in body):
        straight = [Node(pc, s, ((pc - 1, NEXT),) if pc else ()) for pc, s in enumerate(body)]
        last = len(body)
        return (*straight, Node(END, None, ((last - 1, NEXT),) if last else ()))
    found = loops(body, places)
    waits = {h: loop for h, loop in waiting(body, places, kept).items() if h not in effects} if found else {}
    outermost = {loop.start: h for h, loop in reversed(waits.items())}
    waits = {h: loop for h, loop in waits.items() if outermost[loop.start] == h}
    edges = _explore(body, places, {h: bounds.get(h, bound) for h in found}, found, waits, deadline)
    order = _topological(edges)
    return _nodes(body, edges, order, to_the_end, found, deadline)


def loops_of(body: tuple[Statement, ...]) -> dict[int, Loop]:
    """The loops of a thread's code by their heads."""
    return loops(body, labels(body))


State = tuple[int, tuple[int, ...]]


def _explore(
    body: tuple[Statement, ...],
    labels: dict[str, int],
    bounds: dict[int, int],
    found: dict[int, Loop],
    waits: dict[int, Loop],
    deadline: Deadline,
) -> dict[State, list[tuple[State, str]]]:
    """The successors of every reachable (pc, loop counters) state."""
    heads = sorted(found)
    starts = {waits[h].start: place for place, h in enumerate(heads) if h in waits}

    def at(pc: int, counts: list[int]) -> State:
        if pc >= len(body):
            return (END, ())
        inside = [n if h <= pc <= found[h].end else 0 for h, n in zip(heads, counts, strict=True)]
        if pc in starts:
            place = starts[pc]
            if inside[place]:
                return (_sink(WAIT, heads[place]), (*inside[:place], 0, *inside[place + 1 :]))
            inside[place] = 1
        return (pc, tuple(inside))

    start = at(0, [0] * len(heads))
    edges: dict[State, list[tuple[State, str]]] = {}
    stack = [start]
    while stack:
        state = stack.pop()
        if state in edges:
            continue
        pc, counts = state
        out: list[tuple[State, str]] = []
        edges[state] = out
        deadline.check()
        if len(edges) > LIMIT:
            raise Undecided(f"the unrolled thread has more than {LIMIT} instructions; lower --bound")
        if pc < 0:
            continue
        statement = body[pc]
        if isinstance(statement, Branch):
            target = labels[statement.target]
            after = list(counts)
            if target <= pc and target not in waits:
                place = heads.index(target)
                after[place] += 1
                after[place + 1 :] = [0] * (len(heads) - place - 1)
                cut = after[place] > bounds[target]
                out.append(((_sink(CUT, target), ()) if cut else at(target, after), TAKEN))
            else:
                out.append((at(target, after), TAKEN))
        elif isinstance(statement, Exit):
            out.append(((END, ()), TAKEN))
        if not (isinstance(statement, (Branch, Exit)) and statement.guard is None):
            out.append((at(pc + 1, list(counts)), NEXT))
        stack.extend(state for state, _ in out)
    return edges


def _topological(edges: dict[State, list[tuple[State, str]]]) -> list[State]:
    start = next(iter(edges))
    seen: set[State] = {start}
    done: list[State] = []
    work = [(start, iter(edges[start]))]
    while work:
        state, successors = work[-1]
        for after, _ in successors:
            if after not in seen:
                seen.add(after)
                work.append((after, iter(edges[after])))
                break
        else:
            work.pop()
            done.append(state)
    return done[::-1]


def _nodes(
    body: tuple[Statement, ...],
    edges: dict[State, list[tuple[State, str]]],
    order: list[State],
    to_the_end: bool,
    found: dict[int, Loop],
    deadline: Deadline,
) -> tuple[Node, ...]:
    number = {state: i for i, state in enumerate(order)}
    size = len(order)
    before: list[list[tuple[int, str]]] = [[] for _ in order]
    after: list[list[int]] = [[] for _ in order]
    for state, out in edges.items():
        for target, kind in out:
            before[number[target]].append((number[state], kind))
            after[number[state]].append(number[target])
    failing = size
    always, reach = [0] * (size + 1), [0] * (size + 1)
    always[failing] = reach[failing] = 1 << failing
    for i in reversed(range(size)):
        deadline.check()
        targets = list(after[i])
        if order[i][0] >= 0 and isinstance(body[order[i][0]], Assume):
            targets.append(failing)
        common = -1
        for j in targets:
            common &= always[j]
            reach[i] |= reach[j]
        always[i] = (common if targets else 0) | 1 << i
        reach[i] |= 1 << i
    turns = [0] * (size + 2)
    for i, (pc, _) in enumerate(order):
        deadline.check()
        if len(after[i]) > 1 or (pc >= 0 and isinstance(body[pc], Assume)):
            rejoined = 0
            for p in bits(always[i] & ~(1 << i)) if not to_the_end else ():
                rejoined |= reach[p]
            region = reach[i] & ~rejoined & ~(1 << i)
            for j in bits(region ^ region << 1):  # where it begins, and where it is left
                turns[j] ^= 1 << i
    dominators = [0] * size
    decided, nodes = 0, []
    for i, (pc, counts) in enumerate(order):
        deadline.check()
        common = -1
        for j, _kind in before[i]:
            common &= dominators[j]
        dominators[i] = (common if before[i] else 0) | 1 << i
        like = -1
        if len(before[i]) > 1:
            like = max((d for d in bits(dominators[i]) if d != i and always[d] >> i & 1), default=-1)
        decided ^= turns[i]
        statement = body[pc] if pc >= 0 else None
        sink = pc if pc >= END else CUT if pc % 2 == 0 else WAIT
        loop = found[(sink - pc) // 2] if sink < END else None
        nodes.append(Node(sink, statement, tuple(before[i]), decided, like, counts, loop))
    return tuple(nodes)
