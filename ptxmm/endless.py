"""The answer to `hang` from interleavings: for loops that write to memory, of which no repetition stands for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ptxmm.arith import shown
from ptxmm.deadline import Deadline
from ptxmm.deciding import Access, Word, deciding, word
from ptxmm.evidence import place_name
from ptxmm.interleaving import Interleavings
from ptxmm.lassos import Lasso, lasso
from ptxmm.model import Model
from ptxmm.program import Atomic, Load, Program, Store
from ptxmm.sequential import is_exact, is_sound
from ptxmm.unroll import loops_of
from ptxmm.verdict import Answer, Execution, Happening


def writes_in_loops(program: Program) -> bool:
    """Whether some loop has an access that writes to memory, whatever it reads there."""
    return any(
        isinstance(statement, Store) or (isinstance(statement, Atomic) and statement.op != "cas")
        for thread in program.threads
        for loop in loops_of(thread.body).values()
        for statement in thread.body[loop.head : loop.end + 1]
    )


def endless(program: Program, model: Model, progress: str, deadline: Deadline) -> Answer:
    """Whether an interleaving never ends under a progress model; `no` only where these are all executions."""
    if not is_sound(program, model):
        return Answer("unknown")
    found = Interleavings(deciding(program), deadline)
    rounds = lasso(found, progress)
    if rounds is not None:
        witness = _execution(found, rounds)
        return Answer("yes", why="; ".join(_stories(found, rounds)), witness=witness)
    if found.complete and is_exact(program, model):
        return Answer("no")
    return Answer("unknown")


# --- for people -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Happened:
    """An access of a lasso: what its word held before, and what it wrote there."""

    thread: int
    access: Access
    old: int
    written: int | None
    in_circle: bool

    @property
    def reads(self) -> bool:
        return isinstance(self.access, (Load, Atomic))

    @property
    def values(self) -> list[int]:
        """What is read, and what is written."""
        return [self.old] * self.reads + ([] if self.written is None else [self.written])

    @property
    def text(self) -> str:
        return self.access.text or type(self.access).__name__


def _happened(found: Interleavings, rounds: Lasso) -> Iterator[Happened]:
    """The accesses of a lasso in their order: of the way to the circle, and of one round."""
    for place, step in enumerate((*rounds.stem, *rounds.circle)):
        before, runner = found.states[step.source], found.runners[step.thread]
        access = runner.access(before[step.thread])
        if access is not None:
            old = before[found.holder(access)]
            written = runner.after(before[step.thread], old)[1]
            yield Happened(step.thread, access, old, written, place >= len(rounds.stem))


def _stories(found: Interleavings, rounds: Lasso) -> Iterator[str]:
    """For each thread that does not end, what it does in the circle."""
    program, state = found.program, rounds.circle[0].source
    for index in found.going(state):
        name = program.threads[index].name
        if index in rounds.moving:
            mine = [one for one in _happened(found, rounds) if one.in_circle and one.thread == index]
            yield f"{name} {_story(program, mine)}"
        elif index in found.started(state):
            yield f"{name} is not scheduled any more"
        else:
            yield f"{name} never starts"


def _story(program: Program, mine: list[Happened]) -> str:
    """What a thread does that makes these accesses for ever."""
    if not mine:
        return "goes round for ever without an access of memory"
    if all(one.reads and one.written in (None, one.old) for one in mine):
        line = mine[0].access.at.line
        where = f" at line {line}" if line else ""
        seen = ", ".join(dict.fromkeys(_told(program, one, [one.old]) for one in mine))
        tries = any(isinstance(one.access, Atomic) for one in mine)
        return (
            f"tries for ever{where} and finds {seen}"
            if tries
            else f"waits for ever in its loop{where} and reads {seen}"
        )
    told = (f"`{one.text}` ({_told(program, one, one.values)})" for one in mine)
    return f"goes round for ever: {', '.join(told)}"


def _told(program: Program, one: Happened, values: list[int]) -> str:
    name = place_name(program, *word(one.access))
    return f"{name} = {' -> '.join(shown(value, one.access.type) for value in values)}"


def _execution(found: Interleavings, rounds: Lasso) -> Execution:
    """The lasso as an execution: the way to the circle, and one round."""
    threads, state = found.program.threads, found.states[rounds.circle[0].source]
    drawn = Drawn(found.program)
    for one in _happened(found, rounds):
        drawn.add(one)
    registers: dict[tuple[str, str], int] = {}
    for index, runner in enumerate(found.runners):
        if runner.ended(state[index]):
            registers |= {(threads[index].name, name): value for name, value in runner.standings[state[index]][1]}
    return Execution(tuple(drawn.events), drawn.edges(), registers)


@dataclass
class Drawn:
    """The events of an interleaving while they are put together; `writes` are those of each word in coherence."""

    program: Program
    events: list[Happening] = field(default_factory=list)
    writes: dict[Word, list[int]] = field(default_factory=dict)
    sources: dict[int, tuple[Word, int]] = field(default_factory=dict)
    halves: set[tuple[int, int]] = field(default_factory=set)

    def add(self, one: Happened) -> None:
        """The read and the write of one access, which reads what was written last."""
        where, read = word(one.access), None
        writes = self.writes.setdefault(where, [])
        if one.reads:
            if not writes:
                writes.append(self._event("I", None, one, one.old))
            read = self._event("R", self.program.threads[one.thread].name, one, one.old)
            self.sources[read] = (where, len(writes) - 1)
        if one.written is not None:
            writes.append(self._event("W", self.program.threads[one.thread].name, one, one.written))
            self.halves |= {(read, writes[-1])} if read is not None else set()

    def edges(self) -> dict[str, frozenset[tuple[int, int]]]:
        own = [[event.id for event in self.events if event.thread == thread.name] for thread in self.program.threads]
        made = [[w for w in writes if self.events[w].kind == "W"] for writes in self.writes.values()]
        sources = [(read, self.writes[where], place) for read, (where, place) in self.sources.items()]
        return {
            "po": frozenset(pair for mine in own for pair in pairwise(mine)),
            "rf": frozenset((writes[place], read) for read, writes, place in sources),
            "co": frozenset(pair for writes in made for pair in pairwise(writes)),
            "fr": frozenset((read, write) for read, writes, place in sources for write in writes[place + 1 :]),
            "rmw": frozenset(self.halves),
        }

    def _event(self, kind: str, thread: str | None, one: Happened, value: int) -> int:
        access, steps = one.access, 1 + sum(event.thread == thread for event in self.events)
        named = Happening(len(self.events), kind, thread, steps, one.text if thread else "",
                          place_name(self.program, *word(access)), value, access.type)  # fmt: skip
        if thread is not None:
            named = replace(named, order=access.order, scope=access.scope, line=access.at.line)
        self.events.append(named)
        return named.id
