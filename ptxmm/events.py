"""The events of a test: what each instruction instance does, under which guard, with which possible values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ptxmm import arith
from ptxmm.arith import Type, wrap
from ptxmm.formula import Formulas, Lit
from ptxmm.mbarrier_state import Operation
from ptxmm.memory import Memory, Range
from ptxmm.program import (
    Addr,
    Const,
    Expr,
    FinalMem,
    FinalReg,
    MbarrierWait,
    Order,
    Program,
    Proxy,
    Scope,
    Statement,
    Thread,
    leaves,
)  # fmt: skip
from ptxmm.spins import Loop
from ptxmm.unroll import Node
from ptxmm.values import Table

MOST_TOLD = 3
JOINING = frozenset({"arrive", "drop", "complete"})
OF_A_PHASE = JOINING | {"expect"}
Deps = dict[int, Lit]
Value = tuple[Table, Deps]
Env = dict[str, Value]


class Ending(Enum):
    """Which executions count: finished ones; prefixes too; or those where threads may lack progress as well.

    A thread of a PREFIX stops only at a barrier, in a waiting loop, or where a loop was cut. With NEVER_STARTED it may
    also never start, with ANYWHERE stop before any event.
    """

    FINISHED = "finished"
    PREFIX = "prefix"
    NEVER_STARTED = "never started"
    ANYWHERE = "anywhere"


@dataclass(slots=True)
class Event:
    """One event.

    `kind` is R, W, F, B, or one of those that copies and mbarriers add; `thread` is -1 for initial writes; `table`
    what is read or written.

    `object` and `where` are the bytes in physical memory, `virtual` the name whose virtual address was used. `rmw` is
    the other half of an atomic operation. A barrier's `barrier` is its id (or mask) and count, `chosen` the literal
    that they are these, `predicate` what it contributes to a reduction.
    `step` is what an atomic operation adds, where that is one number, or, where `adds` does not hold, nothing.

    An operation on an mbarrier is of kind A, with its `operation`; a wait has what was `asked` for (a parity or
    tokens), and is `blocking` where its thread does not go on before it succeeds.
    The start of a copy is of kind S, a wait for groups of kind G, an election by several lanes of kind E. What a copy
    does later names its start as `issue`, and is in no program order. An event that is `last` comes after the others of
    its instruction.
    """

    id: int
    kind: str
    thread: int
    node: int
    guard: Lit
    statement: Statement | None = None
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    type: Type = arith.U32
    object: str = ""
    virtual: str = ""
    where: Range = (0, 0)
    cells: tuple[Range, ...] = ()
    table: Table = field(default_factory=dict)
    rmw: int = -1
    barrier: tuple[int, int | None] = (0, None)
    chosen: Lit = 1
    predicate: Lit = 1
    step: int | None = None
    adds: Lit = 1
    issue: int = -1
    last: bool = False
    operation: Operation | None = None
    asked: Table = field(default_factory=dict)
    blocking: bool = False

    @property
    def changes(self) -> bool:
        """Whether an event is an operation that changes an mbarrier."""
        return self.operation is not None and self.operation.kind != "wait"

    @property
    def waits(self) -> bool:
        """Whether an event is a test for the end of an mbarrier's phase."""
        return self.operation is not None and self.operation.kind == "wait"

    @property
    def joins(self) -> bool:
        """Whether an event is an arrival or a completion, which a phase of an mbarrier waits for."""
        return self.operation is not None and self.operation.kind in JOINING

    @property
    def counts(self) -> bool:
        """Whether an event is an arrival, a completion or an `expect_tx`, without which a phase may not have ended."""
        return self.operation is not None and self.operation.kind in OF_A_PHASE

    @property
    def parity(self) -> bool:
        """Whether a wait asks for a parity."""
        return isinstance(self.statement, MbarrierWait) and self.statement.parity is not None


@dataclass(frozen=True, slots=True)
class Again:
    """A waiting loop of a thread is about to repeat where `literal` holds; `counts` tells the repetition around it."""

    thread: int
    loop: Loop
    counts: tuple[int, ...]
    literal: Lit


@dataclass(frozen=True, slots=True)
class Retry:
    """A waiting loop whose failed attempts are left out, and the events and reads of one that fails for ever."""

    again: Again
    events: tuple[int, ...]
    reads: tuple[int, ...]


@dataclass
class EventGraph:
    """All events of a test with their dependencies and the final registers; literals are those of `formulas`.

    `cut` is the literal that some loop was left at the bound, one of the `cut_loops` (thread, loop head), `again` where
    waiting loops repeat, `forced` the loops cut although constants alone keep them going, `bad` lists (literal, reason)
    of undefined accesses, `passes` the literals that a blocking barrier lets its thread go on (TRUE when only finished
    executions count), `starts` and `stops` those of threads that begin, and that halt for want of progress. `done`
    lists what must be over before a completion or a wait for groups, `elected` who is elected in each warp for each
    mask; `arrivals` bounds the phases of any mbarrier, `most_pending` its arrivals, which tokens hold where
    `counts_pending`. `expect_ends` says whether an `expect_tx` can end a phase.
    """

    program: Program
    formulas: Formulas
    memory: Memory
    nodes: list[tuple[Node, ...]]
    events: list[Event] = field(default_factory=list)
    addr: list[tuple[int, int, Lit]] = field(default_factory=list)
    data: list[tuple[int, int, Lit]] = field(default_factory=list)
    ctrl: list[tuple[int, int, Lit]] = field(default_factory=list)
    finals: list[Env] = field(default_factory=list)
    ends: list[Lit] = field(default_factory=list)
    starts: list[Lit] = field(default_factory=list)
    stops: list[Lit] = field(default_factory=list)
    cut: Lit = -1
    cut_loops: dict[tuple[int, int], None] = field(default_factory=dict)
    again: list[Again] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    forced: list[tuple[int, int]] = field(default_factory=list)
    bad: list[tuple[Lit, str]] = field(default_factory=list)
    assumed: list[Lit] = field(default_factory=list)
    passes: dict[int, Lit] = field(default_factory=dict)
    done: list[tuple[int, int, Lit]] = field(default_factory=list)
    elected: dict[tuple[object, ...], Table] = field(default_factory=dict)
    arrivals: int = 0
    most_pending: int = 0
    counts_pending: bool = False
    expect_ends: bool = True
    heads: dict[int, list[int]] = field(default_factory=dict)
    ending: Ending = Ending.FINISHED

    def tell(self, thread: int, statement: Statement | None, reason: str) -> str:
        """A sentence on an instruction of a thread."""
        line = f" (line {statement.at.line})" if statement is not None and statement.at.line else ""
        text = (statement.text or type(statement).__name__) if statement is not None else ""
        return f"thread {self.program.threads[thread].name}: `{text}`{line} {reason}"

    def tell_cut(self, bound: int) -> str:
        """A sentence on the loops that were cut, and where they are."""
        threads = self.program.threads
        heads = [(threads[index], threads[index].body[head].at.line) for index, head in self.cut_loops]
        places = [f"line {line} (thread {thread.name})" for thread, line in heads if line]
        told = f"{'loops were' if len(places) > 1 else 'a loop was'} cut after {bound} repetitions"
        more = f" and {len(places) - MOST_TOLD} more" if len(places) > MOST_TOLD else ""
        return f"{told}: {', '.join(places[:MOST_TOLD])}{more}" if places else told

    def final(self, thread: str, reg: str) -> Table:
        """The table of a register when its thread has ended."""
        for index, one in enumerate(self.program.threads):
            if one.name == thread:
                env = self.finals[index]
                return env[reg][0] if reg in env else start_value(self.program, one, reg)
        raise KeyError(thread)


def start_value(program: Program, thread: Thread, reg: str) -> Table:
    """What a register holds when its thread starts."""
    given = thread.init.get(reg, Const(0))
    number = program.address(given) if isinstance(given, Addr) else given.value
    kind = thread.types.get(reg)
    return {wrap(number, kind.bits) if kind else number: 1}


def same_cta(one: Thread, other: Thread) -> bool:
    """Whether two threads run in one CTA."""
    a, b = one.place, other.place
    return (a.kernel, a.device, a.cta) == (b.kernel, b.device, b.cta)


def asked_leaves(program: Program) -> list[FinalReg | FinalMem]:
    """The registers and memory of final states that a test names: in its condition, its filter and `locations`."""
    condition = final_leaves(program.condition.formula) if program.condition else []
    return [*condition, *program.locations, *(final_leaves(program.filter) if program.filter is not None else [])]


def asked_registers(program: Program, thread: Thread) -> frozenset[str] | None:
    """The registers of a thread that belong to a final state: those that the test names, or all (None)."""
    asked = asked_leaves(program)
    mine = (leaf.reg for leaf in asked if isinstance(leaf, FinalReg) and leaf.thread == thread.name)
    return frozenset(mine) if asked else None


def same_warp(one: Thread, other: Thread) -> bool:
    """Whether two threads are of one warp of one CTA."""
    return same_cta(one, other) and one.place.warp == other.place.warp


def final_leaves(expr: Expr) -> list[FinalReg | FinalMem]:
    """The registers and memory that a condition names."""
    return [leaf for leaf in leaves(expr) if isinstance(leaf, (FinalReg, FinalMem))]
