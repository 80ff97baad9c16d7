"""What a thread of a test does in one round, as PTX: its registers, its pointers, its instructions, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from ptxmm.gpu.code import PREDICATE, width
from ptxmm.gpu.epochs import decoded
from ptxmm.gpu.kept import Kept, thrown_away
from ptxmm.gpu.landing import landing
from ptxmm.gpu.operands import is_expression
from ptxmm.gpu.participants import participants, whole_warps
from ptxmm.gpu.proxied import access
from ptxmm.gpu.views import viewed
from ptxmm.instructions import labels
from ptxmm.isa import requirement, writes
from ptxmm.isa_form import Requirement
from ptxmm.isa_text import ptx
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    AsyncCopy,
    AsyncStore,
    Branch,
    Const,
    CopyArrive,
    Exit,
    Expr,
    Label,
    Load,
    Nop,
    Reg,
    Statement,
    Store,
    TensormapReplace,
    read_by,
)

FINISHED, STUCK, FILTERED = 0, 1, 2
"""How a thread ended a round."""

PAUSE = "100"
"""Nanoseconds where a test computes them in an expression."""

LEAST_PATIENCE = 1 << 17
"""Cycles to which a thread shortens its waits in a launch, once one has been stuck: the rounds behind it may be too."""

SETTLE = 4000
"""Nanoseconds for copies that nobody waited for."""

ADDRESSES = ("address", "destination", "source", "mbarrier", "map")
COPIES = (AsyncCopy, AsyncStore, CopyArrive)


@dataclass(slots=True)
class Body(Kept):
    """One thread while it is written into `code`: `main` is what it does when the threads have met, `after` follows.

    `aside` is what stands apart, behind all that.
    """

    main: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    needs: Requirement = ((7, 0), 70)
    specific: bool = False
    loops: bool = False
    judged: bool = False
    forks: bool = False
    at_once: frozenset[str] = frozenset()
    decodes: list[tuple[str, str, int]] = field(default_factory=list)

    # --- the parts ---------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all parts."""
        body = self.thread.body
        places = labels(body)
        self.loops = any(isinstance(s, Branch) and places[s.target] <= at for at, s in enumerate(body))
        self.judged = self.loops or any(isinstance(s, Assume) for s in body)
        self.forks = any(_skips(s, at, places) for at, s in enumerate(body))
        guarded = (name for s in body if s.guard is not None for name, _ in writes(s))
        self.at_once = frozenset(guarded).union(*(read_by(s) for s in body))
        with self.into(self.pre):
            self._start()
        with self.into(self.main):
            self.code.add(f"TEST{self.number}:")
            if self.loops:
                self.code.add(f"mov.u64 {self.code.register(f'begun{self.number}', 64)}, %clock64")
            named = participants(self.program, self.number)
            for at, statement in enumerate(body):
                self._statement(named.get(at, statement), at, places, thrown_away(body, at))
        with self.into(self.after):
            self._end()

    def _start(self) -> None:
        for name in self.thread.types:
            self.set(self.register(name), width(self.type_of(name)), self.thread.init.get(name, Const(0)))
        if self.judged:
            self.code.add(f"mov.b32 {self.code.register(f'status{self.number}', 32)}, {FINISHED}")

    def _end(self) -> None:
        add = self.code.add
        if self.loops:
            add(f"bra DONE{self.number}", f"STUCK{self.number}:")
            add(f"max.u32 status{self.number}, status{self.number}, {STUCK}")
            add("shr.u64 patience, patience, 2", f"max.u64 patience, patience, {LEAST_PATIENCE}")
        add(f"DONE{self.number}:")
        if any(isinstance(s, COPIES) for s in self.thread.body):
            add("cp.async.wait_all", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group 0")
            add(f"nanosleep.u32 {SETTLE}")
        here, self.aside = landing(self.code, self.number, self._landing())
        self.code.lines += here
        for raw, name, initial in self.decodes:
            self._decode(raw, name, initial)

    def _landing(self) -> dict[str, int]:
        """The registers that instructions of the test write, with their widths, as they are before they are decoded."""
        later = {name for _, name, _ in self.decodes}
        written = {
            name: type_ for one in self.thread.body if not isinstance(one, Assign) for name, type_ in writes(one)
        }
        found = {self.register(name): width(type_) for name, type_ in written.items() if name not in later}
        return {register: 32 for register, _, _ in self.decodes} | found | self.kept

    # --- statements --------------------------------------------------------------------------------------------------

    def _statement(self, statement: Statement, at: int, places: dict[str, int], lost: tuple[str, ...]) -> None:
        add, code = self.code.add, self.code
        guard = self._guard(statement, at, places)
        when = f"@{guard} " if guard else ""
        match statement:
            case Label(name=name):
                add(f"T{self.number}_{places[name]}:")
            case Branch(target=target):
                if places[target] <= at:
                    self._bounded()
                add(f"{when}bra T{self.number}_{places[target]}")
            case Exit():
                add(f"{when}bra DONE{self.number}")
            case Assume(cond=cond):
                holds = code.value(cond, PREDICATE, self.leaf)
                add(f"@!{holds} mov.b32 status{self.number}, {FILTERED}")
            case Assign(dst=dst, value=value):
                self.decodes = [each for each in self.decodes if each[1] != dst]
                bits = width(self.type_of(dst))
                kind = "pred" if bits == PREDICATE else f"b{bits}"
                add(f"{when}mov.{kind} {self.register(dst)}, {code.value(value, bits, self.leaf)}")
            case Nop(text=text):
                if text.startswith("nanosleep.u32"):
                    add(f"{when}nanosleep.u32 {self._pause(text.removeprefix('nanosleep.u32').strip(' ;'))}")
            case _:
                self._instruction(statement, Reg(guard) if guard else None, lost)

    def _guard(self, statement: Statement, at: int, places: dict[str, int]) -> str:
        if statement.guard is None:
            return ""
        repeats = isinstance(statement, Branch) and places[statement.target] <= at
        if repeats or isinstance(statement, Assign):
            return self.code.value(statement.guard, PREDICATE, self.leaf)
        return self.guard(statement.guard, at)

    def _pause(self, operand: str) -> str:
        """For how long to sleep: a number, a register, or a guess, since it decides nothing."""
        known = operand in self.thread.types and width(self.type_of(operand)) == 32
        return self.register(operand) if known else operand if operand.isdecimal() else PAUSE

    def _bounded(self) -> None:
        now, late = self.code.fresh(64), self.code.fresh(PREDICATE)
        self.code.add(f"mov.u64 {now}, %clock64", f"sub.s64 {now}, {now}, begun{self.number}")
        self.code.add(f"setp.gt.u64 {late}, {now}, patience", f"@{late} bra STUCK{self.number}")

    def _instruction(self, statement: Statement, guard: Expr | None, lost: tuple[str, ...]) -> None:
        if viewed(statement):
            assert isinstance(statement, Load | Store)
            self._viewed(statement, guard, lost)
            return
        space = self.space(statement)
        need = requirement(statement, space)
        self.needs = max(self.needs[0], need[0]), max(self.needs[1], need[1])
        if isinstance(statement, TensormapReplace):
            self.specific = True
        changes: dict[str, Any] = {"guard": guard}
        for each in fields(statement):
            old = getattr(statement, each.name)
            if each.name in ("guard", "at", "text") or old is None:
                continue
            if each.name in ADDRESSES:
                changes[each.name] = self.address(old, self.window(statement, each.name, space))
            elif each.name == "dst":
                changes["dst"] = self.results(statement, old, lost)
            elif each.name == "pred" and isinstance(old, str):
                changes["pred"] = self.register(old)
            elif isinstance(old, tuple) and old and not isinstance(old[0], str):
                changes[each.name] = tuple(self.operand(statement, each.name, one) for one in old)
            elif not isinstance(old, str | int | bool | tuple) and is_expression(old):
                changes[each.name] = self.operand(statement, each.name, old)
        if self.initial is not None and isinstance(statement, Store):
            changes["values"] = tuple(Reg(self._stamped(value)) for value in statement.values)
        made = replace(statement, **changes)
        self.code.add(ptx(made, space=space, sink=self.sink(statement)), *whole_warps(self.program, self.thread, made))
        if self.initial is not None and isinstance(statement, Load):
            self._loaded(statement, changes["dst"], guard)
            return
        self.keep(lost)

    def _viewed(self, statement: Load | Store, guard: Expr | None, lost: tuple[str, ...]) -> None:
        """An access through another proxy than the generic one."""
        when = f"@{guard.name} " if isinstance(guard, Reg) else ""
        if isinstance(statement, Store):
            self.code.add(*access(self, statement, self._stamped(statement.values[0]), when))
            return
        (register,) = raw = self.results(statement, statement.dst, lost)
        self.code.add(*access(self, statement, register, when))
        self._loaded(statement, raw, guard)

    # --- epochs ------------------------------------------------------------------------------------------------------

    def _stamped(self, value: Expr) -> str:
        assert isinstance(value, Const)
        name = f"stamp{self.number}_{value.value}"
        if name not in self.code.declared:
            self.code.register(name, 32)
            self.pre.append(f"    add.u32 {name}, epoch, {value.value};")
        return name

    def _loaded(self, load: Load, raw: tuple[str | None, ...], guard: Expr | None) -> None:
        assert isinstance(load.address, Addr)
        assert self.initial is not None
        for place, (name, register) in enumerate(zip(load.dst, raw, strict=True)):
            if name is None or register is None:
                continue
            item = self.program.physical(load.address.name)
            initial = self.initial[item.name, load.address.offset + place * load.type.size]
            if self.forks or name in self.at_once:
                self._decode(register, name, initial, guard)
            else:
                if self.loops:
                    self.pre.append(f"    mov.b32 {register}, 0;")
                self.decodes = [each for each in self.decodes if each[1] != name] + [(register, name, initial)]

    def _decode(self, raw: str, name: str, initial: int, guard: Expr | None = None) -> None:
        when = f"@{guard.name} " if isinstance(guard, Reg) else ""
        decoded(self.code, raw, self.register(name), initial, when)


def _skips(statement: Statement, at: int, places: dict[str, int]) -> bool:
    """Whether a thread that comes to its end may have left out what follows."""
    return isinstance(statement, Exit) or (isinstance(statement, Branch) and places[statement.target] > at)
