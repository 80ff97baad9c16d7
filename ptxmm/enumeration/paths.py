"""Every path of one thread, each of its reads returning each of its candidate values, and where it may stand still."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ptxmm.enumeration.limits import Budget, GaveUp
from ptxmm.enumeration.live import live
from ptxmm.enumeration.path import Path
from ptxmm.enumeration.table import Table
from ptxmm.enumeration.threads import Runner, Values
from ptxmm.enumeration.unroll import Graph
from ptxmm.program import Program, Thread

MOST_PATHS = 20_000


class Choices:
    """Answers each question by a tape of option numbers, and by the first option after its end."""

    def __init__(self, tape: tuple[int, ...]) -> None:
        self.tape, self.made, self.widths = tape, list[int](), list[int]()

    def __call__(self, options: Sequence[int]) -> int:
        at = len(self.made)
        self.made.append(self.tape[at] if at < len(self.tape) else 0)
        self.widths.append(len(options))
        return options[self.made[-1]]

    def others(self) -> Iterator[tuple[int, ...]]:
        """The tapes that part from this run at a question after the end of its tape."""
        for at in range(len(self.tape), len(self.made)):
            for option in range(1, self.widths[at]):
                yield (*self.made[:at], option)


def paths(program: Program, thread: Thread, graph: Graph, table: Table, values: Values, *, waits: bool,
          budget: Budget) -> list[Path]:  # fmt: skip
    """Every path of a thread, failed ones too, and its beginnings that stop at a barrier or before the thread starts.

    With `waits`, a loop is followed until it comes back to where it was.
    """
    found: dict[Path, None] = {Path((), "waiting"): None} if starts_late(program, thread) else {}
    matters = live(graph.body) if waits else None
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        budget.spend()
        choose = Choices(waiting.pop())
        whole = Runner(program, thread, graph, values, choose, matters, pieces=table.pieces, tokens=table.tokens).run()
        waiting.extend(choose.others())
        found.update((path, None) for path in (whole, *stops(whole)))
        if len(found) > MOST_PATHS:
            raise GaveUp(f"thread {thread.name} has too many paths to enumerate")
    return list(found)


def starts_late(program: Program, thread: Thread) -> bool:
    """Whether a thread starts only after others."""
    return thread.after is not None or any(one.place.kernel < thread.place.kernel for one in program.threads)


def stops(path: Path) -> Iterator[Path]:
    """The beginnings of a path that end with an unfinished wait."""
    for at, step in enumerate(path.steps):
        if step.waits:
            last = replace(step, barrier=replace(step.barrier, result=None)) if step.barrier is not None else step
            yield Path((*path.steps[:at], last), "stuck")


def halts(path: Path) -> Iterator[Path]:
    """The beginnings of a path after which the thread is not scheduled any more, between two instructions."""
    for at in range(len(path.steps) + (path.end in ("again", "cut"))):
        if at == 0 or at == len(path.steps) or path.steps[at - 1].node != path.steps[at].node:
            yield Path(path.steps[:at], "stopped")
