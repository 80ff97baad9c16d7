"""Loops that only wait: whose repetitions leave nothing behind, so that the last one stands for all of them.

A repetition leaves nothing behind when no register that it writes is read by the next one or after the loop before it
is written again, when it takes part in no barrier, and when what it writes to memory, if anything, it writes only where
the loop is left. Taking the earlier repetitions out of an execution then leaves an execution: every axiom is monotone
in the reads and fences that go, and no register or write is missed. `docs/loops.md` has the argument.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from ptxmm.program import (
    Assign,
    Assume,
    Asynchronous,
    Atomic,
    Barrier,
    Branch,
    ClusterBarrier,
    Elect,
    Exit,
    Foreign,
    Label,
    Load,
    MbarrierArrive,
    MbarrierPending,
    MbarrierWait,
    Nop,
    Statement,
    WarpSync,
    read_by,
)  # fmt: skip

MEETINGS = (Barrier, ClusterBarrier, WarpSync, Assume)
STEPS = tuple(kind for kind in get_args(Asynchronous) if kind not in (MbarrierWait, MbarrierPending, Elect))
"""What counts each time that it happens."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a thread's code: its label's `head`, the last branch back to it, and where a repetition `start`s.

    A repetition starts at the first instruction that is not a test of the loop's exit.
    """

    head: int
    end: int
    start: int


def loops(body: tuple[Statement, ...], labels: dict[str, int]) -> dict[int, Loop]:
    """The loops of a thread's code by their heads: each backward branch closes one, and loops are nested or apart."""
    ends: dict[int, int] = {}
    for pc, statement in enumerate(body):
        if isinstance(statement, Branch) and labels[statement.target] <= pc:
            head = labels[statement.target]
            ends[head] = max(ends.get(head, pc), pc)
    for head in sorted(ends, reverse=True):
        ends[head] = max(end for h, end in ends.items() if head <= h <= ends[head])
    return {head: Loop(head, end, _start(body, labels, head, end)) for head, end in sorted(ends.items())}


def _start(body: tuple[Statement, ...], labels: dict[str, int], head: int, end: int) -> int:
    targets = {labels[s.target] for s in body if isinstance(s, Branch)}
    for pc in range(head, end + 1):
        statement = body[pc]
        if pc > head and pc in targets:
            return head
        leaves = isinstance(statement, Branch) and not head <= labels[statement.target] <= end
        if not (leaves or isinstance(statement, (Label, Assign, Nop))):
            return pc
    return head


def waiting(body: tuple[Statement, ...], labels: dict[str, int], kept: frozenset[str] | None = None) -> dict[int, Loop]:
    """The loops whose repetitions leave no register behind and meet no barrier; writes are for the caller to check.

    `kept` are the registers that matter when the thread has ended: all, where it is None.
    """
    found = loops(body, labels)
    if not found:
        return {}
    after = [_successors(body, labels, pc) for pc in range(len(body))]
    live = _live(body, after, kept)
    starts = {head: (loop, replace(loop, start=head)) for head, loop in found.items()}
    fitting = {head: [one for one in each if _independent(body, after, live, one)] for head, each in starts.items()}
    return {head: each[0] for head, each in fitting.items() if each}


def _successors(body: tuple[Statement, ...], labels: dict[str, int], pc: int) -> list[int]:
    statement = body[pc]
    found = [labels[statement.target]] if isinstance(statement, Branch) else []
    if isinstance(statement, Exit):
        found.append(len(body))
    if not (isinstance(statement, (Branch, Exit)) and statement.guard is None):
        found.append(pc + 1)
    return found


def _independent(body: tuple[Statement, ...], after: list[list[int]], live: list[set[str]], loop: Loop) -> bool:
    repeated = _repeated(after, loop)
    if any(isinstance(body[pc], MEETINGS + STEPS) for pc in repeated):
        return False
    names = {name for pc in repeated for name in written(body[pc])}
    return not names & live[loop.start]


def _repeated(after: list[list[int]], loop: Loop) -> set[int]:
    """The places from which the loop's start can be reached again without leaving the loop."""
    inside = set(range(loop.head, loop.end + 1))
    found: set[int] = set()
    changed = True
    while changed:
        changed = False
        for pc in inside - found:
            if any(target in inside and (target == loop.start or target in found) for target in after[pc]):
                found.add(pc)
                changed = True
    return found


def written(statement: Statement) -> tuple[str, ...]:
    """The registers that an instruction writes."""
    match statement:
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
        case Foreign(dst=names):
            return names
    return ()


def _live(body: tuple[Statement, ...], after: list[list[int]], kept: frozenset[str] | None) -> list[set[str]]:
    """The registers whose value before each place matters; those that are kept matter at the end.

    What an assignment reads matters where the register that it writes does: a count that nobody looks at does not.
    """
    reads = [read_by(statement) for statement in body]
    everything = {name for statement, its in zip(body, reads, strict=True) for name in (*written(statement), *its)}
    last = everything if kept is None else {name for name in everything if name in kept}
    live: list[set[str]] = [set() for _ in body] + [last]
    changed = True
    while changed:
        changed = False
        for pc in range(len(body) - 1, -1, -1):
            out = set().union(*(live[target] for target in after[pc]))
            statement = body[pc]
            if isinstance(statement, Assign) and statement.dst not in out:
                now = out
            else:
                passing = out if statement.guard is not None else out - set(written(statement))
                now = passing | reads[pc]
            if now != live[pc]:
                live[pc], changed = now, True
    return live
