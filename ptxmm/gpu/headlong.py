"""Controls that wait for nothing: which waits and barriers go, and where a thread pauses so that others overtake it.

Headlong, no thread waits for another, so that none can wait in vain, whatever comes too early. A barrier goes too,
unless code of the test initialises an mbarrier, or a barrier is all that a thread has done yet: it only lets the
threads begin together. A thread pauses before what it does before its first wait: who waits for that in the test finds
it missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ptxmm.gpu.around import loops
from ptxmm.gpu.changes import became, told, wait_told
from ptxmm.gpu.phases import one_phase
from ptxmm.gpu.waits import BARRIERS, Wait, waits
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Atomic,
    Bar,
    Barrier,
    Branch,
    ClusterBarrier,
    CopyArrive,
    Label,
    Load,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierTx,
    MbarrierWait,
    Nop,
    Program,
    Statement,
    Store,
    Thread,
    WaitGroup,
)

PAUSE = Nop(text="nanosleep.u32 2000")
"""Longer than a round trip to memory, and than a small copy takes."""

WORK = (Load, Store, Atomic, AsyncCopy, AsyncStore, CopyArrive)


@dataclass(frozen=True, slots=True)
class Headlong:
    """What a thread does without, as numbers of its instructions, and before which instructions it pauses."""

    gone: frozenset[int]
    pauses: frozenset[int]


def headlong(program: Program) -> dict[str, Headlong]:
    """What each thread does without; nothing where no thread waits, or where an mbarrier may be used undefinedly.

    >>> from ptxmm.syntax.lit import read
    >>> (test,) = read('''ptx handed-over
    ... .shared @ d0.c0.b0 .mbarrier m(1); .shared @ d0.c0.b0 .u32 s;
    ... thread A @ d0.c0.b0 { st.weak.shared.u32 [s], 1; mbarrier.arrive.shared::cta.b64 _, [m]; }
    ... thread B @ d0.c0.b0 { await mbarrier.try_wait.parity.shared::cta.b64 [m], 0; ld.weak.shared.u32 r, [s]; }
    ... exists (B.r == 0)''', "handed-over.lit")
    >>> {name: (sorted(one.gone), sorted(one.pauses)) for name, one in headlong(test).items()}
    {'A': ([], [0]), 'B': ([0, 1, 2], [])}
    """
    everything = [statement for thread in program.threads for statement in thread.body]
    if any(isinstance(s, MbarrierArrive) and not s.completes for s in everything) or not one_phase(program):
        return {}
    begin = _together(program) if _loose(everything) else None
    found = {thread.name: _thread(program, thread, begin) for thread in program.threads}
    return found if any(one.gone for one in found.values()) else {}


def hasty(program: Program) -> dict[str, Headlong]:
    """What each thread does without where they cannot all go headlong: its last wait.

    One that starts copies, or says how many bytes come, keeps its waits: it must not come so early that an mbarrier is
    used undefinedly.
    """
    if headlong(program):
        return {}
    found = {}
    for thread in program.threads:
        last = () if any(_starts(s) for s in thread.body) else _once(thread, waits(program, thread)[-1:])
        found[thread.name] = Headlong(frozenset(n for wait in last for n in wait.droppable), frozenset())
    return found if any(one.gone for one in found.values()) else {}


def _once(thread: Thread, found: list[Wait]) -> list[Wait]:
    """Waits that no other loop repeats."""
    around = loops(thread)
    return [w for w in found if not any(loop.start < w.label and w.branch + 1 < loop.stop for loop in around)]


def _starts(statement: Statement) -> bool:
    expects = isinstance(statement, MbarrierArrive) and statement.expect is not None
    return expects or isinstance(statement, AsyncCopy | AsyncStore | CopyArrive | MbarrierTx)


def _thread(program: Program, thread: Thread, begin: int | None) -> Headlong:
    meetings = [n for n, s in enumerate(thread.body) if isinstance(s, BARRIERS)]
    gone = {n for wait in waits(program, thread) for n in wait.droppable}
    gone |= {n for n, s in enumerate(thread.body) if isinstance(s, WaitGroup)}
    gone |= set(meetings[begin:]) if begin is not None else set()
    first = min(gone, default=len(thread.body))
    start = max((n + 1 for n in meetings if n < first), default=0)
    work = [n for n in range(start, first) if isinstance(thread.body[n], WORK)]
    return Headlong(frozenset(gone), frozenset(work[:1]))


def _loose(everything: list[Statement]) -> bool:
    """Whether barriers may go: no mbarrier is made or ended between them, and none gives a value."""
    if any(isinstance(s, MbarrierInit | MbarrierInval) for s in everything):
        return False
    return not any(isinstance(s, Barrier) and s.kind is Bar.RED for s in everything)


def _together(program: Program) -> int:
    """With how many barriers, the same ones, all threads that come to any begin, before they do anything else."""
    meeting = [thread for thread in program.threads if any(isinstance(s, BARRIERS) for s in thread.body)]
    number = min((_beginning(thread) for thread in meeting), default=0)
    first = [[_name(s) for s in thread.body if isinstance(s, BARRIERS)][:number] for thread in meeting]
    alike = all(one == first[0] for one in first)
    halves = any(isinstance(s, ClusterBarrier) for thread in meeting for s in thread.body)
    return (number - number % 2 if halves else number) if alike else 0


def _beginning(thread: Thread) -> int:
    """How many barriers a thread passes before it touches memory, waits for a phase or may repeat anything."""
    number = 0
    for statement in thread.body:
        if isinstance(statement, BARRIERS):
            number += 1
        elif not isinstance(statement, MbarrierArrive | Nop):
            break
    return number


def _name(statement: Statement) -> object:
    """What tells barriers apart that threads meet at."""
    match statement:
        case Barrier(id=number):
            return ("cta", number)
        case ClusterBarrier(wait=waiting):
            return ("cluster", waiting)
    return "warp"


def without(thread: Thread, here: Headlong, weaker: Sequence[Statement | None], changes: list[str]) -> Thread:
    """A thread that does without waits and barriers, and pauses; `weaker` has its other instructions, or None."""
    body = list[Statement]()
    for index, (old, new) in enumerate(zip(thread.body, weaker, strict=True)):
        if index in here.pauses:
            body.append(PAUSE)
            changes.append(f"{thread.name}: a pause before {told(old)}")
        if index in here.gone:
            changes += _gone(thread, index, here)
            continue
        if new != old:
            changes.append(f"{thread.name}: {told(old)} -> {became(old, new)}")
        if new is not None:
            body.append(replace(new, text=told(replace(new, text=""))) if new != old else old)
    return replace(thread, body=tuple(body))


def _gone(thread: Thread, index: int, here: Headlong) -> list[str]:
    """What is told of an instruction that is gone: a wait is told where it ends."""
    match thread.body[index]:
        case Branch():
            return wait_told(thread, index, here.gone)
        case Label() | MbarrierWait():
            return []
        case barrier:
            return [f"{thread.name}: {told(barrier)} -> dropped"]
