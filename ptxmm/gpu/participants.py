"""Who comes to the barriers of a CTA or a warp, as they count it. Threads of a test that have ended go on here.

A barrier where some never come gets the number of threads, or the mask of the lanes, that still come to it, which is
what it waits for in the test. Where it is not certain that the others have ended by themselves, it stays as it is, and
a launch may not end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ptxmm.errors import Unsupported
from ptxmm.gpu.around import loops
from ptxmm.gpu.endings import doubtful
from ptxmm.gpu.layout import WARP, cta_of
from ptxmm.gpu.waits import BARRIERS
from ptxmm.program import (
    Bar,
    Barrier,
    Const,
    Exit,
    Expr,
    Program,
    Reg,
    Statement,
    Thread,
    WarpSync,
)

EVERY = (1 << WARP) - 1


def participants(program: Program, number: int) -> dict[int, Statement]:
    """The barriers of a thread that must name who comes, by the number of the instruction; none where all threads do.

    Only barriers that each thread passes as often as they are written can say so.
    """
    thread = program.threads[number]
    mates = [one for one in program.threads if cta_of(one.place) == cta_of(thread.place)]
    found: dict[int, Statement] = {}
    for place, coming in _without_some(thread, mates, Barrier):
        statement = thread.body[place]
        assert isinstance(statement, Barrier)
        count = WARP * len({_warp(program, mate) for mate in coming})
        found[place] = replace(statement, count=Const(count))
    warp = [one for one in mates if one.place.lane is not None and one.place.warp == thread.place.warp]
    for place, coming in _without_some(thread, warp, WarpSync) if thread in warp else ():
        statement = thread.body[place]
        assert isinstance(statement, WarpSync)
        named = statement.mask.value if isinstance(statement.mask, Const) else EVERY
        mask = sum(1 << mate.place.lane for mate in coming if mate.place.lane is not None)
        found[place] = replace(statement, mask=Const(named & mask))
    return found


def whole_warps(program: Program, thread: Thread, statement: Statement) -> tuple[str, ...]:
    """What makes a `bar.red.popc` count 32 for a thread without a lane, which one lane plays here.

    Unsupported where lanes meet whole warps there.
    """
    if not isinstance(statement, Barrier) or statement.op != "popc":
        return ()
    mates = [one for one in program.threads if cta_of(one.place) == cta_of(thread.place)]
    whole = {mate.place.lane is None for mate in mates}
    if len(whole) > 1:
        raise Unsupported("its `bar.red.popc` counts lanes and whole warps, and the harness plays a warp in one lane")
    if statement.dst is None or not whole.pop():
        return ()
    guard = f"@{statement.guard.name} " if isinstance(statement.guard, Reg) else ""
    return (f"{guard}mul.lo.u32 {statement.dst}, {statement.dst}, {WARP}",)


Kind = type[Barrier] | type[WarpSync]


def _without_some(thread: Thread, mates: list[Thread], kind: Kind) -> Iterator[tuple[int, list[Thread]]]:
    """Where a thread comes to a barrier of one kind that some of its mates have passed for the last time; who comes."""
    names = {_name(s) for one in mates for s in one.body if isinstance(s, kind)}
    name = next(iter(names), None)
    if len(names) != 1 or not isinstance(name, Const):
        return
    if kind is WarpSync:
        mates = [one for one in mates if name.value >> (one.place.lane or 0) & 1]
    places = {one.name: _places(one, kind) for one in mates}
    if thread.name not in places or any(place is None for place in places.values()):
        return
    for turn, place in enumerate(places[thread.name] or ()):
        gone = [one for one in mates if len(places[one.name] or ()) <= turn]
        if any(not _exits(one) for one in gone) and all(_ends(one, kind) for one in gone):
            yield place, [one for one in mates if one not in gone]


def _name(statement: Statement) -> Expr | None:
    """What tells barriers apart: the number of one, the mask of the other."""
    match statement:
        case Barrier(id=identity):
            return identity
        case WarpSync(mask=mask):
            return mask or Const(EVERY)
    return None


def _warp(program: Program, thread: Thread) -> tuple[str, int]:
    """What tells the warps of a CTA apart: a thread without a lane has one of its own."""
    place = thread.place
    return ("", place.warp) if place.warp is not None else (thread.name, program.threads.index(thread))


def _places(thread: Thread, kind: Kind) -> list[int] | None:
    """Where a thread comes to barriers that wait for all, each once; None where that is not certain."""
    body = thread.body
    here = [n for n, s in enumerate(body) if isinstance(s, kind)]
    if any(not _whole(body[n]) or doubtful(body, n) for n in here):
        return None
    return here


def _ends(thread: Thread, kind: Kind) -> bool:
    """Whether a thread ends by itself after its last barrier: nothing there repeats or waits for others."""
    last = max((n for n, s in enumerate(thread.body) if isinstance(s, kind)), default=-1)
    waits = any(isinstance(s, BARRIERS) for s in thread.body[last + 1 :])
    return not waits and not any(loop.stop > last + 1 for loop in loops(thread))


def _exits(thread: Thread) -> bool:
    """Whether a thread surely ends at an `exit`, which it does here too."""
    return any(isinstance(s, Exit) and not doubtful(thread.body, n) for n, s in enumerate(thread.body))


def _whole(statement: Statement) -> bool:
    if isinstance(statement, WarpSync):
        return True
    return isinstance(statement, Barrier) and statement.count is None and statement.kind is not Bar.ARRIVE
