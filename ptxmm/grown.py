"""The possible values of a test's memory, grown to their fixpoint by walking its threads in three-valued logic."""

from __future__ import annotations

from typing import ClassVar, TypedDict

from ptxmm.arrivals import arrives
from ptxmm.events import EventGraph
from ptxmm.formula import Formulas
from ptxmm.memory import Memory
from ptxmm.program import (
    Assign,
    Assume,
    Asynchronous,
    Atomic,
    Barrier,
    Const,
    CopyArrive,
    FinalMem,
    Load,
    MbarrierInit,
    MbarrierPending,
    Program,
    Statement,
    Store,
    leaves,
    registers,
)  # fmt: skip
from ptxmm.unroll import Node
from ptxmm.values import Possible
from ptxmm.walk import Walk

WHOLE = 8


class Counts(TypedDict):
    """What bounds the tokens of mbarriers."""

    arrivals: int
    most_pending: int
    counts_pending: bool


def counts_of(program: Program, nodes: list[tuple[Node, ...]]) -> Counts:
    """How many arrivals a test can make, and how many can be pending where somebody asks for that."""
    statements = [node.statement for thread in nodes for node in thread]
    pending = any(isinstance(s, MbarrierPending) for s in statements)
    counts = [o.mbarrier or 0 for o in program.objects]
    counts += [s.count.value for s in statements if isinstance(s, MbarrierInit) and isinstance(s.count, Const)]
    more = sum(isinstance(s, CopyArrive) for s in statements)
    return {
        "arrivals": sum(arrives(s) for s in statements),
        "most_pending": max([0, *counts]) + more if pending else 0,
        "counts_pending": pending,
    }


class Grown:
    """The possible values of a test's memory, for each way in which its threads have been unrolled so far."""

    latest: ClassVar[tuple[Program, Grown] | None] = None

    @classmethod
    def of(cls, program: Program) -> Grown:
        """What is known of a test's memory, under whichever model: it is kept until another test is asked about."""
        if cls.latest is None or cls.latest[0] is not program:
            cls.latest = program, Grown()
        return cls.latest[1]

    def __init__(self) -> None:
        self._found: list[tuple[list[tuple[Node, ...]], Memory]] = []

    def memory(self, program: Program, nodes: list[tuple[Node, ...]], formulas: Formulas, counts: Counts) -> Memory:
        """The memory of threads that are unrolled so."""
        for known, memory in self._found:
            if known == nodes:
                return memory.copy()
        memory = Memory(program)
        _grow(program, nodes, memory, formulas, counts)
        self._found.append((nodes, memory.copy()))
        return memory


def _grow(program: Program, nodes: list[tuple[Node, ...]], memory: Memory, formulas: Formulas, counts: Counts) -> None:
    """Grow the possible values of memory to their fixpoint, or as far as they can go without feeding on themselves.

    A value that is not a constant comes through a chain of stores each of which depends on a read. Without values out
    of thin air no store occurs twice in a chain, so that one round more than there are such stores is enough.
    """
    logic = Possible()
    if any(isinstance(s, Asynchronous) for thread in program.threads for s in thread.body):
        _look_at_finals(program, memory)
    fed = any(_uses_values(statement) for thread in program.threads for statement in thread.body)
    rounds, done = 1, 0
    reads: dict[int, set[str]] = {}
    dependent: dict[int, int] = {}
    stale = set(range(len(program.threads)))
    while stale and done < rounds:
        done += 1
        for index in stale:
            walk = Walk(EventGraph(program, formulas, memory, nodes, **counts), index, logic)
            walk.run()
            reads[index], dependent[index] = walk.reads, walk.dependent_stores
        changed = memory.advance()
        if not fed:
            return
        rounds = max(rounds, sum(dependent.values()) + 2)
        stale = {index for index, names in reads.items() if names & changed}


def _look_at_finals(program: Program, memory: Memory) -> None:
    """The bytes that a condition names are looked at, so that copies follow them; without any, all ordinary ones."""
    asked = [program.condition.formula] if program.condition is not None else []
    exprs = [*asked, *([program.filter] if program.filter is not None else []), *program.locations]
    named = {
        (leaf.name, leaf.offset, leaf.type.size) for e in exprs for leaf in leaves(e) if isinstance(leaf, FinalMem)
    }
    if not exprs:
        plain = [o for o in program.objects if o.mbarrier is None and o.tensormap is None and o.length <= WHOLE]
        named = {(o.name, i * o.type.size, o.type.size) for o in plain for i in range(o.length)}
    for name, offset, size in named:
        memory.touch(program.physical(name).name, (offset, size))


def _uses_values(statement: Statement) -> bool:
    """Whether what an instruction does can depend on what was read before, or, for an atomic, by itself."""
    if isinstance(statement, Asynchronous):
        return True
    match statement:
        case Atomic(op="exch") | Load() | Store():
            used = [
                statement.guard,
                statement.address,
                *getattr(statement, "values", getattr(statement, "operands", ())),
            ]
        case Atomic() | Assign() | Assume() | Barrier():
            return True
        case _:
            used = [statement.guard]
    return any(registers(expr) for expr in used)
