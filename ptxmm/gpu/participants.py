"""Barriers of a whole CTA where some threads of a test have ended: here they go on to the next round, and never come.

Such a barrier gets the number of threads that still come to it, which is what it waits for in the test. Where it is not
certain that the others have ended by themselves, it stays as it is, and a launch may not end.
"""

from __future__ import annotations

from ptxmm.gpu.layout import WARP, cta_of
from ptxmm.program import Bar, Barrier, Branch, ClusterBarrier, Const, Exit, Label, Program, Statement, Thread


def participants(program: Program, number: int) -> dict[int, int]:
    """The counts that barriers of a thread need, by the number of the instruction; none where all threads come.

    Only barriers that each thread passes as often as they are written can be counted so.
    """
    thread = program.threads[number]
    mates = [one for one in program.threads if cta_of(one.place) == cta_of(thread.place)]
    if len({s.id for one in mates for s in one.body if isinstance(s, Barrier)}) != 1:
        return {}
    found = {}
    for identity in {s.id for s in thread.body if isinstance(s, Barrier) and isinstance(s.id, Const)}:
        places = [_places(one, identity) for one in mates]
        if any(place is None for place in places):
            continue
        times = [len(place or ()) for place in places]
        for turn, index in enumerate(_places(thread, identity) or ()):
            coming = [mate for mate, number_ in zip(mates, times, strict=True) if number_ > turn]
            gone = [mate for mate in mates if mate not in coming]
            if gone and all(_ends(mate) for mate in gone):
                found[index] = WARP * len({_warp(program, mate) for mate in coming})
    return found


def _warp(program: Program, thread: Thread) -> tuple[str, int]:
    """What tells the warps of a CTA apart: a thread without a lane has one of its own."""
    place = thread.place
    return ("", place.warp) if place.warp is not None else (thread.name, program.threads.index(thread))


def _places(thread: Thread, identity: Const) -> list[int] | None:
    """Where a thread comes to a barrier of the whole CTA, each once; None where that is not certain."""
    body = thread.body
    here = [n for n, s in enumerate(body) if isinstance(s, Barrier) and s.id == identity]
    if any(not _whole(body[n]) or _doubtful(body, n) for n in here):
        return None
    return here


def _ends(thread: Thread) -> bool:
    """Whether a thread ends by itself after its last barrier: nothing there repeats or waits for its cluster."""
    last = max((n for n, s in enumerate(thread.body) if isinstance(s, Barrier)), default=-1)
    labels = {s.name: n for n, s in enumerate(thread.body) if isinstance(s, Label)}
    rest = list(enumerate(thread.body))[last + 1 :]
    return not any(isinstance(s, ClusterBarrier) or (isinstance(s, Branch) and labels[s.target] <= n) for n, s in rest)


def _whole(statement: Statement) -> bool:
    return isinstance(statement, Barrier) and statement.count is None and statement.kind is not Bar.ARRIVE


def _doubtful(body: tuple[Statement, ...], place: int) -> bool:
    """Whether an instruction may be left out or repeated."""
    labels = {s.name: n for n, s in enumerate(body) if isinstance(s, Label)}
    jumps = [(n, labels[s.target]) for n, s in enumerate(body) if isinstance(s, Branch)]
    over = any(min(jump) <= place <= max(jump) for jump in jumps)
    return over or body[place].guard is not None or any(isinstance(s, Exit) for s in body[:place])
