"""Waits that a control does without: a test or a load that is repeated until it is content, and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
            found.append(Wait(inside[0], tests[0], place, whole=False, exit=leaving))
    return [replace(wait, whole=True) if _unused(program, thread, wait, found) else wait for wait in found]


def _exit(body: tuple[Statement, ...], place: int) -> int | None:
    """The branch that leaves a loop before the branch without a condition that repeats it; pauses may be between."""
    last = next((n for n in range(place - 1, -1, -1) if not isinstance(body[n], Nop)), None)
    before, behind = body[last] if last is not None else None, body[place + 1] if place + 1 < len(body) else None
    leaves_it = isinstance(before, Branch) and isinstance(behind, Label) and before.target == behind.name
    return last if leaves_it and before is not None and before.guard is not None else None


def _only_looks(statement: Statement) -> bool:
    return isinstance(statement, Load | MbarrierWait) and statement.guard is None


def _unused(program: Program, thread: Thread, wait: Wait, found: list[Wait]) -> bool:
    """Whether the result of a test decides over its repetition alone, and the label has no other branch.

    Another wait that uses the register tests again before it does.
    """
    test, jump, body = thread.body[wait.test], thread.body[wait.branch], thread.body
    if not isinstance(test, MbarrierWait) or not isinstance(jump, Branch):
        return False
    others = [s for n, s in enumerate(body) if n not in (wait.branch, wait.exit)]
    if any(isinstance(s, Branch) and s.target == jump.target for s in others):
        return False
    theirs = [one for one in found if isinstance(t := body[one.test], MbarrierWait) and t.dst == test.dst]
    own = {n for one in theirs for n in (one.branch, one.exit)}
    used = any(test.dst in read_by(s) for n, s in enumerate(body) if n not in own)
    return not used and test.dst not in _asked(program, thread.name)


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
