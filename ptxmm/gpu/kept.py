"""What the assembler would drop, kept: instructions whose results a test throws away, or that constants leave out.

A load whose value nobody uses is gone, an `atom` becomes a `red`, stores rise above an `elect.sync`: so results are
used at the end of the round. Where constants decide a branch, the assembler is kept from seeing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ptxmm.gpu.code import PREDICATE, width
from ptxmm.gpu.epochs import Initial
from ptxmm.gpu.operands import Operands
from ptxmm.isa import writes
from ptxmm.program import (
    Addr,
    Assign,
    Atomic,
    Barrier,
    Branch,
    Const,
    Elect,
    Exit,
    Expr,
    Label,
    Load,
    MbarrierWait,
    Nop,
    Statement,
    Thread,
    leaves,
    read_by,
)
from ptxmm.terms import registers

ALWAYS_KEPT = (32, 64)
"""Widths of the registers that every thread hands over or uses at the end of a round."""


def thrown_away(body: tuple[Statement, ...], at: int) -> tuple[str, ...]:
    """The registers that an instruction writes and that may be written again before anything needs their value.

    >>> from ptxmm.arith import U32
    >>> from ptxmm.program import Addr, Load, Reg
    >>> load = Load(dst=("r",), address=Addr("x"), type=U32)
    >>> thrown_away((load, load), 0), thrown_away((load, Branch(target="L", guard=Reg("r")), load), 0)
    (('r',), ())
    """
    found = []
    for name, type_ in writes(body[at]):
        again = sum(name in _written(each) for each in body) > 1
        if (again or type_.bits not in ALWAYS_KEPT) and not _needed(body, at, name):
            found.append(name)
    return tuple(found)


def _written(statement: Statement) -> tuple[str, ...]:
    return (statement.dst,) if isinstance(statement, Assign) else tuple(name for name, _ in writes(statement))


def _needed(body: tuple[Statement, ...], at: int, name: str) -> bool:
    """Whether the instructions that surely follow need the value: arithmetic with it may itself be for nothing."""
    for each in body[at + 1 :]:
        if name in read_by(each) and not isinstance(each, Assign | Nop):
            return True
        if isinstance(each, Label | Branch | Exit) or name in _written(each):
            return False
    return False


def settled(thread: Thread) -> frozenset[str]:
    """The registers whose values an assembler can compute: constants, and arithmetic with such registers."""
    known = set(thread.types).difference(*(_written(each) for each in thread.body if not isinstance(each, Assign)))
    assigned = [each for each in thread.body if isinstance(each, Assign)]
    while unknown := {each.dst for each in assigned if each.dst in known and not _computable(each, known)}:
        known -= unknown
    return frozenset(known)


def foldable(thread: Thread, at: int, names: frozenset[str]) -> bool:
    """Whether an assembler can compute the values that registers have at an instruction."""
    return all(name in settled(thread) or _foldable(thread, at, name) for name in names)


def _foldable(thread: Thread, at: int, name: str) -> bool:
    """The same of one register that something read also reaches: no label stands between here and its constants."""
    for place in range(at - 1, -1, -1):
        each = thread.body[place]
        if isinstance(each, Label):
            return False
        if name in _written(each):
            plain = isinstance(each, Assign) and each.guard is None and _computable(each, set(thread.types))
            return plain and foldable(thread, place, read_by(each))
    return True


def _computable(assign: Assign, known: set[str]) -> bool:
    return read_by(assign) <= known and not any(isinstance(leaf, Addr) for leaf in leaves(assign.value))


@dataclass(slots=True)
class Kept(Operands):
    """One thread of a test, and the registers whose values are used at the end of its round, whatever it does."""

    initial: Initial | None
    kept: dict[str, int] = field(default_factory=dict, kw_only=True)

    @contextmanager
    def into(self, lines: list[str]) -> Iterator[None]:
        """Write into other lines."""
        before, self.code.lines = self.code.lines, lines
        try:
            yield
        finally:
            self.code.lines = before

    def set(self, register: str, bits: int, first: Expr) -> None:
        """Give a register its first value."""
        if bits == PREDICATE:
            self.code.add(f"setp.ne.u32 {register}, 0, {int(first != Const(0))}")
        else:
            self.code.add(f"mov.b{bits} {register}, {self.code.value(first, bits, self.leaf)}")

    def keep(self, names: tuple[str, ...]) -> None:
        """Copy results that the test throws away later; the assembler makes no copy of it."""
        for name in names:
            bits = width(self.type_of(name))
            kind = "pred" if bits == PREDICATE else f"b{bits}"
            self.code.add(f"mov.{kind} {self._kept(bits)}, {self.register(name)}")

    def guard(self, guard: Expr, at: int) -> str:
        """A predicate for an instruction, of which the assembler does not know what it is, even where constants say."""
        found = self.code.value(guard, PREDICATE, self.leaf)
        if not foldable(self.thread, at, registers(guard)):
            return found
        made = self.code.fresh(PREDICATE)
        self.code.add(f"xor.pred {made}, {found}, {self.never()}")
        return made

    def results(self, statement: Statement, old: Any, lost: tuple[str, ...]) -> Any:
        """Registers for results; what the test throws away goes to one of its own."""
        if not isinstance(old, tuple):
            return self.register(old)
        if isinstance(statement, Atomic) and statement.reduction:
            return old
        assert isinstance(statement, Load | Atomic)
        bits = width(statement.type)
        stamped = self.initial is not None and isinstance(statement, Load)
        return tuple(
            self._kept(bits)
            if name is None or (stamped and name in lost)
            else self.code.fresh(32)
            if stamped
            else self.register(name)
            for name in old
        )

    def sink(self, statement: Statement) -> str:
        """Where a single result goes that the test throws away."""
        match statement:
            case MbarrierWait(dst=None) | Elect(pred=None):
                return self._kept(PREDICATE)
            case Barrier(dst=None, op=str(op)):
                return self._kept(32 if op == "popc" else PREDICATE)
        return "_"

    def _kept(self, bits: int) -> str:
        """A register that is used at the end of the round, so that the assembler keeps what writes it."""
        name = self.code.register(f"kept{self.number}_{len(self.kept)}", bits)
        self.kept[name] = bits
        with self.into(self.pre):
            self.set(name, bits, Const(0))
        return name
