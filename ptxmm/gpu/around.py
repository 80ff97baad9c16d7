"""What decides whether an instruction of a test may be weakened, so that a run still ends, and ends well."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.gpu.waits import skippable
from ptxmm.instructions import labels
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Bar,
    Barrier,
    Branch,
    CopyArrive,
    Expr,
    Fence,
    Load,
    MbarrierInit,
    Order,
    Program,
    ProxyFence,
    Statement,
    TensormapCopy,
    TensormapReplace,
    Thread,
    named,
)

COPIES = (AsyncCopy, AsyncStore, CopyArrive)


@dataclass(frozen=True, slots=True)
class Around:
    """What decides whether an instruction may change: whether it stands in a loop, is needed, and what else is there.

    `initialises` says that it is the first fence after an `mbarrier.init`, `written` that all tensor maps are the
    host's, `loose` that no thread counts on a barrier to make progress, `several` that there is more than one CTA,
    `skippable` that it belongs to a wait without which a run still ends.
    """

    loops: bool
    weak_poll: bool
    initialises: bool
    written: bool
    loose: bool
    several: bool
    skippable: bool


def surroundings(program: Program, thread: Thread) -> list[Around]:
    """What is around each instruction of a thread."""
    everything = [statement for one in program.threads for statement in one.body]
    counting = any(isinstance(s, (MbarrierInit, *COPIES)) or _reduces(s) for s in everything)
    loose = not counting and not any(loops(one) for one in program.threads)
    written = all(_written(program, s) for s in everything)
    several = len({(one.place.device, one.place.cta, one.place.kernel) for one in program.threads}) > 1
    inside, skips = loops(thread), skippable(program, thread)
    found, fresh = [], False
    for index, statement in enumerate(thread.body):
        around = [loop for loop in inside if index in loop]
        weak = any(isinstance(s, Load) and s.order is Order.WEAK for loop in around for s in _part(thread, loop))
        found.append(Around(bool(around), weak, fresh, written, loose, several, index in skips))
        if isinstance(statement, MbarrierInit):
            fresh = True
        elif isinstance(statement, Fence | ProxyFence):
            fresh = False
    return found


def loops(thread: Thread) -> list[range]:
    """The stretches of a thread's code that a branch can repeat."""
    at = labels(thread.body)
    jumps = ((at[s.target], index) for index, s in enumerate(thread.body) if isinstance(s, Branch) and s.target in at)
    return [range(target, index + 1) for target, index in jumps if target <= index]


def _part(thread: Thread, loop: range) -> tuple[Statement, ...]:
    return thread.body[loop.start : loop.stop]


def _reduces(statement: Statement) -> bool:
    return isinstance(statement, Barrier) and statement.kind is Bar.RED


def _written(program: Program, statement: Statement) -> bool:
    """Whether a statement leaves alone all tensor maps but those that the host wrote."""
    match statement:
        case TensormapCopy(destination=place) | TensormapReplace(address=place):
            return _is_map(program, place) or isinstance(statement, TensormapReplace)
    return True


def _is_map(program: Program, place: Expr) -> bool:
    names = named(place)
    return bool(names) and all(program.physical(name).tensormap is not None for name in names)
