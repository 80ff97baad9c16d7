"""Results that a test throws away, kept to the end of the round: else the assembler may drop what made them.

With an `elect.sync` whose predicate nobody uses goes its waiting for the other lanes; an `atom` becomes a `red`.
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
    read_by,
)

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
