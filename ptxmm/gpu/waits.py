"""Waits that a control does without: a test or a load that is repeated until it is content, and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.program import (
    Assign,
    Assume,
    Atomic,
    Barrier,
    Branch,
    ClusterBarrier,
    Elect,
    Exit,
    Fence,
    FinalReg,
    Label,
    Load,
    MbarrierPending,
    MbarrierWait,
    Nop,
    Program,
    ProxyFence,
    Statement,
    Store,
    Thread,
    WaitGroup,
    WarpSync,
    leaves,
    read_by,
)

BARRIERS = (Barrier, ClusterBarrier, WarpSync)
QUIET = (
    Label, Branch, Exit, Load, Assign, Assume, Nop, Fence, ProxyFence, MbarrierWait, MbarrierPending, WaitGroup, Elect,
    *BARRIERS,
)  # fmt: skip
"""What may come earlier than in the test: nobody waits for it, and no mbarrier counts it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A loop of a label, one test or load, and the branch that repeats it, as numbers of the thread's instructions.

    A branch without a condition follows an `exit` past it. `whole` says that nobody uses what the test found, so that
    all of it can go; else the branch can.
    """

    label: int
    test: int
    branch: int
    whole: bool
    exit: int | None = None

    @property
    def droppable(self) -> tuple[int, ...]:
        leaves = () if self.exit is None else (self.exit,)
        return (self.label, self.test, *leaves, self.branch) if self.whole else (self.branch,)


def waits(program: Program, thread: Thread) -> list[Wait]:
    """The waits of a thread, in order."""
    body, found = thread.body, list[Wait]()
    for place, statement in enumerate(body):
        if not isinstance(statement, Branch):
            continue
        leaving = _exit(body, place) if statement.guard is None else None
        if statement.guard is None and leaving is None:
            continue
        inside = [n for n in range(place) if isinstance(body[n], Label) and body[n].name == statement.target]  # type: ignore[union-attr]
        if not inside:
            continue
        tests = [n for n in range(inside[0] + 1, place) if n != leaving and not isinstance(body[n], Nop)]
        if len(tests) == 1 and _only_looks(body[tests[0]]):
            whole = isinstance(body[tests[0]], MbarrierWait) and _unused(program, thread, tests[0], place, leaving)
            found.append(Wait(inside[0], tests[0], place, whole, leaving))
    return found


def _exit(body: tuple[Statement, ...], place: int) -> int | None:
    """The branch that leaves a loop just before the branch without a condition that repeats it."""
    before, behind = body[place - 1] if place else None, body[place + 1] if place + 1 < len(body) else None
    leaves_it = isinstance(before, Branch) and isinstance(behind, Label) and before.target == behind.name
    return place - 1 if leaves_it and before is not None and before.guard is not None else None


def _only_looks(statement: Statement) -> bool:
    return isinstance(statement, Load | MbarrierWait) and statement.guard is None


def _unused(program: Program, thread: Thread, test: int, branch: int, leaving: int | None) -> bool:
    """Whether the result of a test decides over its repetition alone, and the label has no other branch."""
    (wait, jump), body = (thread.body[test], thread.body[branch]), thread.body
    assert isinstance(wait, MbarrierWait)
    assert isinstance(jump, Branch)
    others = [s for n, s in enumerate(body) if n not in (branch, leaving)]
    if any(isinstance(s, Branch) and s.target == jump.target for s in others):
        return False
    used = any(wait.dst in read_by(s) for s in others)
    return not used and wait.dst not in _asked(program, thread.name)


def _asked(program: Program, thread: str) -> set[str]:
    """The registers of a thread that the test asks for."""
    formulas = [*program.locations, *([program.filter] if program.filter is not None else [])]
    formulas += [program.condition.formula] if program.condition is not None else []
    return {
        leaf.reg for one in formulas for leaf in leaves(one) if isinstance(leaf, FinalReg) and leaf.thread == thread
    }


def skippable(program: Program, thread: Thread) -> frozenset[int]:
    """The instructions of waits without which a run still ends: what follows them signals nobody.

    What follows a barrier in other threads follows too.
    """
    found: set[int] = set()
    for wait in waits(program, thread):
        tail = thread.body[wait.branch + 1 :]
        meetings = sum(isinstance(s, BARRIERS) for s in tail)
        rest = [s for one in program.threads if one is not thread and meetings for s in _after(one, meetings)]
        alone = not any(waits(program, one) for one in program.threads if one is not thread)
        quiet = (*QUIET, Store, Atomic) if alone else QUIET
        if all(isinstance(s, quiet) for s in (*tail, *rest)):
            found.update(wait.droppable)
    return frozenset(found)


def _after(thread: Thread, meetings: int) -> tuple[Statement, ...]:
    """What a thread does after the first of its last so many barriers."""
    places = [n for n, s in enumerate(thread.body) if isinstance(s, BARRIERS)]
    return thread.body[places[-meetings:][0] :] if places else ()
