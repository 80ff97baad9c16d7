"""What decides where the threads of a test go: the rest of it is left out.

Whether an execution ends depends on branches only, so on the registers in their guards, on the words that are loaded
into these, and on what is written to those words. Data that a protocol guards, and counters that nobody looks at,
are none of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ptxmm.memory import Range
from ptxmm.program import Addr, Assign, Atomic, Branch, Exit, Load, Nop, Program, Statement, Store, registers

Access = Load | Store | Atomic
Word = tuple[str, Range]


def word(access: Access) -> Word:
    """The bytes of an access whose address is a name."""
    assert isinstance(access.address, Addr)
    return (access.address.name, (access.address.offset, access.type.size))


def deciding(program: Program) -> Program:
    """A test without the accesses and the arithmetic that no branch depends on; all addresses in it are names.

    >>> from ptxmm.program import Const, Thread, Place, Reg
    >>> from ptxmm.arith import U32
    >>> polls = Load(dst=("r",), address=Addr("flag"), type=U32), Exit(guard=Reg("r"))
    >>> writes = Store(values=(Const(1),), address=Addr("data"), type=U32)
    >>> [type(s).__name__ for s in deciding(Program("", (), (Thread("A", Place(), (*polls, writes)),))).threads[0].body]
    ['Load', 'Exit', 'Nop']
    """
    found = _Found([set() for _ in program.threads])
    size = -1
    while size != found.size():
        size = found.size()
        for thread, mine in zip(program.threads, found.registers, strict=True):
            for statement in thread.body:
                found.look_at(statement, mine)
    threads = [
        replace(thread, body=tuple(found.kept(statement, mine) for statement in thread.body))
        for thread, mine in zip(program.threads, found.registers, strict=True)
    ]
    return replace(program, threads=tuple(threads))


@dataclass
class _Found:
    """The registers of each thread, and the words, that a branch may depend on, as far as known."""

    registers: list[set[str]]
    words: set[Word] = field(default_factory=set)

    def size(self) -> int:
        return len(self.words) + sum(map(len, self.registers))

    def look_at(self, statement: Statement, mine: set[str]) -> None:
        """Take in what a statement adds, for its thread has these registers."""
        match statement:
            case Branch() | Exit():
                mine |= registers(statement.guard)
            case Assign(dst=name, value=value) if name in mine:
                mine |= registers(statement.guard) | registers(value)
            case Load(dst=names) | Atomic(dst=names) if not mine.isdisjoint(name for name in names if name):
                self.words.add(word(statement))
                mine |= registers(statement.guard)
        if isinstance(statement, (Store, Atomic)) and word(statement) in self.words:
            used = statement.values if isinstance(statement, Store) else statement.operands
            mine |= registers(statement.guard).union(*map(registers, used))

    def kept(self, statement: Statement, mine: set[str]) -> Statement:
        """A statement as far as it matters."""
        nothing = Nop(at=statement.at, text=statement.text)
        match statement:
            case Assign(dst=name):
                return statement if name in mine else nothing
            case Load(dst=names):
                return nothing if mine.isdisjoint(name for name in names if name) else statement
            case Store():
                return statement if word(statement) in self.words else nothing
            case Atomic(dst=names) if word(statement) in self.words:
                return replace(statement, dst=tuple(name if name in mine else None for name in names))
            case Atomic():
                return nothing
        return statement
