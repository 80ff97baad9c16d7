"""All interleavings of a test as a finite graph: threads in turn, each access of memory one step, loops not unrolled.

What a thread does until its next access touches nothing that others see, and belongs to the step before. A thread that
goes round without any access stays in one state. Registers and words are part of a state, so that a loop that comes
back to what was before closes a circle, however often it is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ptxmm import arith
from ptxmm.deadline import Deadline
from ptxmm.deciding import Access, word
from ptxmm.events import start_value
from ptxmm.instructions import labels
from ptxmm.memory import initial
from ptxmm.program import (
    Addr,
    Assign,
    Atomic,
    Branch,
    Exit,
    Expr,
    Load,
    Object,
    Program,
    Reg,
    Store,
)
from ptxmm.sequential import accesses
from ptxmm.values import Possible, Table, cut, evaluate, extended

STATES = 10_000
STEPS = 1_000
START, ROUND = -1, -2
LOGIC = Possible()

Registers = tuple[tuple[str, int], ...]
State = tuple[int, ...]


class TooMany(Exception):
    """A thread alone does more than is followed."""


@dataclass
class Runner:
    """What one thread does, whatever the others do: its standings by number, and the steps between them.

    A standing is a place in the code and the registers there; the first is that of a thread that has not started, and
    ROUND that of one that goes round without any access.
    """

    program: Program
    thread: int
    standings: list[tuple[int, Registers]] = field(default_factory=lambda: [(START, ())])
    _numbers: dict[tuple[int, Registers], int] = field(default_factory=dict)
    _after: dict[tuple[int, int], tuple[int, int | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.body = self.program.threads[self.thread].body
        self.labels = labels(self.body)

    def ended(self, standing: int) -> bool:
        return self.standings[standing][0] == len(self.body)

    def access(self, standing: int) -> Access | None:
        """The access that a thread makes next; none before it has started, or where it goes round without any."""
        pc = self.standings[standing][0]
        if not 0 <= pc < len(self.body):
            return None
        statement = self.body[pc]
        assert isinstance(statement, Access)
        return statement

    def after(self, standing: int, old: int) -> tuple[int, int | None]:
        """Where a thread stands after its next step, if its word holds `old`, and what it then writes there."""
        if (standing, old) not in self._after:
            pc, before = self.standings[standing]
            registers, access, written = dict(before), self.access(standing), None
            if access is not None:
                written = self._accessed(access, old, registers)
            follows = (pc, before) if pc == ROUND else self._next_access(pc + 1, registers)
            if follows not in self._numbers:
                self._numbers[follows] = len(self.standings)
                self.standings.append(follows)
            self._after[standing, old] = (self._numbers[follows], written)
        return self._after[standing, old]

    def _next_access(self, pc: int, registers: dict[str, int]) -> tuple[int, Registers]:
        """Go on to the next access that happens, to the end, or to where the thread goes round without an access."""
        seen: set[tuple[int, Registers]] = set()
        while pc < len(self.body):
            here = (pc, tuple(sorted(registers.items())))
            statement = self.body[pc]
            happens = statement.guard is None or self._value(statement.guard, registers) != 0
            if here in seen:
                return (ROUND, ())
            if isinstance(statement, Access) and happens:
                return here
            seen.add(here)
            if len(seen) > STEPS:
                raise TooMany
            pc += 1
            match statement:
                case Branch(target=target) if happens:
                    pc = self.labels[target]
                case Exit() if happens:
                    pc = len(self.body)
                case Assign(dst=name, value=value) if happens:
                    self._assign(name, {self._value(value, registers): 1}, registers)
        return (pc, tuple(sorted(registers.items())))

    def _accessed(self, access: Access, old: int, registers: dict[str, int]) -> int | None:
        """Do an access of a word that holds `old`; what it writes."""
        kind = access.type
        match access:
            case Load(dst=(str(name),)):
                register = self.program.threads[self.thread].types.get(name, kind)
                self._assign(name, extended(LOGIC, {old: 1}, kind, register), registers)
            case Store(values=(value,)):
                return arith.wrap(self._value(value, registers), kind.bits)
            case Atomic(dst=(name,), op=op):
                operands = tuple(arith.wrap(self._value(operand, registers), kind.bits) for operand in access.operands)
                if name is not None:
                    self._assign(name, {old: 1}, registers)
                written = arith.atomic(op, old, operands, kind)
                return old if written is None and self.program.conventions.failed_cas_writes else written
        return None

    def _assign(self, name: str, value: Table, registers: dict[str, int]) -> None:
        kind = self.program.threads[self.thread].types.get(name, arith.U32)
        (registers[name],) = cut(LOGIC, value, kind)

    def _value(self, expr: Expr, registers: dict[str, int]) -> int:
        def leaf(one: Expr) -> Table:
            if isinstance(one, Reg):
                if one.name in registers:
                    return {registers[one.name]: 1}
                return start_value(self.program, self.program.threads[self.thread], one.name)
            assert isinstance(one, Addr)
            return {self.program.address(one): 1}

        (value,) = (number for number, literal in evaluate(LOGIC, expr, leaf).items() if literal == 1)
        return value


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a thread from one state to another, by their numbers."""

    thread: int
    source: int
    target: int


class Interleavings:
    """The states that a test can reach: where each thread stands, then what each word holds.

    `steps` has those from each state; `complete` says that there are no others.
    """

    def __init__(self, program: Program, deadline: Deadline) -> None:
        self.program, self.deadline = program, deadline
        self.runners = [Runner(program, thread) for thread in range(len(program.threads))]
        self.words = sorted({word(one) for thread in range(len(program.threads)) for one in accesses(program, thread)})
        start = [0 for _ in self.runners] + [initial(program, self._object(name), at) for name, at in self.words]
        self.states: list[State] = [tuple(start)]
        self.steps: list[list[Step]] = []
        self.complete = True
        self._explore()

    def going(self, state: int) -> Iterator[int]:
        """The threads that have not ended."""
        return (n for n, runner in enumerate(self.runners) if not runner.ended(self.states[state][n]))

    def started(self, state: int) -> frozenset[int]:
        """The threads that have begun."""
        return frozenset(n for n in range(len(self.runners)) if self.states[state][n])

    def holder(self, access: Access) -> int:
        """Which part of a state is the word of an access."""
        return len(self.runners) + self.words.index(word(access))

    def _object(self, name: str) -> Object:
        item = self.program.by_name[name]
        assert isinstance(item, Object)
        return item

    def _explore(self) -> None:
        numbers = {self.states[0]: 0}
        for here, state in enumerate(self.states):
            self.deadline.check()
            self.steps.append([])
            for thread in self.going(here):
                try:
                    after = self._moved(state, thread)
                except TooMany:
                    self.complete = False
                    continue
                if after not in numbers:
                    if len(self.states) == STATES:
                        self.complete = False
                        continue
                    numbers[after] = len(self.states)
                    self.states.append(after)
                self.steps[here].append(Step(thread, here, numbers[after]))

    def _moved(self, state: State, thread: int) -> State:
        """The state after a step of a thread."""
        runner, after = self.runners[thread], list(state)
        access = runner.access(state[thread])
        holder = self.holder(access) if access is not None else -1
        after[thread], written = runner.after(state[thread], state[holder] if access is not None else 0)
        if written is not None:
            after[holder] = written
        return tuple(after)
