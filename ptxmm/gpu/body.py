"""What a thread of a test does in one round, as PTX: its registers, its pointers, its instructions, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import Unsupported
from ptxmm.gpu.code import PREDICATE, Code, Operand, width
from ptxmm.gpu.epochs import VALUES, Initial
from ptxmm.gpu.layout import Layout, cta_of
from ptxmm.isa import requirement
from ptxmm.isa_form import Requirement
from ptxmm.isa_text import ptx
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    AsyncCopy,
    AsyncStore,
    Atomic,
    Binary,
    Branch,
    Const,
    CopyArrive,
    Exit,
    Expr,
    Label,
    Load,
    MbarrierArrive,
    MbarrierInit,
    Nop,
    Program,
    ProxyFence,
    Reg,
    Select,
    Space,
    Statement,
    Store,
    TensormapCopy,
    TensormapReplace,
    Unary,
    leaves,
    registers,
)

FINISHED, STUCK, FILTERED = 0, 1, 2
"""How a thread ended a round."""

OPAQUE = 6
"""How many zeros there are that the assembler does not know to be zeros."""

SETTLE = 4000
"""Nanoseconds for copies that nobody waited for."""

ADDRESSES = ("address", "destination", "source", "mbarrier", "map")
SHARED = ("shared::cta", "shared::cluster")
COPIES = (AsyncCopy, AsyncStore, CopyArrive)


@dataclass(slots=True)
class Body:
    """One thread while it is written into `code`; `pre` is what comes before the threads meet, `after` what follows."""

    program: Program
    layout: Layout
    number: int
    code: Code
    initial: Initial | None
    pre: list[str] = field(default_factory=list)
    main: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    needs: Requirement = ((7, 0), 70)
    specific: bool = False
    uses: dict[str, int] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    reads: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.thread = self.program.threads[self.number]

    thread: Any = None

    # --- the parts ---------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all parts."""
        body = self.thread.body
        labels = {s.name: at for at, s in enumerate(body) if isinstance(s, Label)}
        self.loops = any(isinstance(s, Branch) and labels[s.target] <= at for at, s in enumerate(body))
        self.judged = self.loops or any(isinstance(s, Assume) for s in body)
        self.forks = any(isinstance(s, Branch | Exit | Assume) or s.guard is not None for s in body)
        self.read_inside = frozenset[str]().union(*(_read(s) for s in body))
        with self.into(self.pre):
            self._start()
        with self.into(self.main):
            if self.loops:
                self.code.add(f"mov.u64 {self.code.register(f'begun{self.number}', 64)}, %clock64")
            for at, statement in enumerate(body):
                self._statement(statement, at, labels)
        with self.into(self.after):
            self._end()

    loops: bool = False
    judged: bool = False
    forks: bool = False
    read_inside: frozenset[str] = frozenset()
    decodes: list[tuple[str, str, int]] = field(default_factory=list)

    @contextmanager
    def into(self, lines: list[str]) -> Iterator[None]:
        before, self.code.lines = self.code.lines, lines
        try:
            yield
        finally:
            self.code.lines = before

    def _start(self) -> None:
        for name in self.thread.types:
            bits = width(self.type_of(name))
            first = self.thread.init.get(name, Const(0))
            if bits == PREDICATE:
                self.code.add(f"setp.ne.u32 {self.register(name)}, 0, {int(first != Const(0))}")
            else:
                value = self.code.value(first, bits, self.leaf)
                self.code.add(f"mov.b{bits} {self.register(name)}, {value}")
        if self.judged:
            self.code.add(f"mov.b32 {self.code.register(f'status{self.number}', 32)}, {FINISHED}")

    def _end(self) -> None:
        add = self.code.add
        if self.loops:
            add(f"bra DONE{self.number}", f"STUCK{self.number}:")
            add(f"max.u32 status{self.number}, status{self.number}, {STUCK}")
        add(f"DONE{self.number}:")
        if any(isinstance(s, COPIES) for s in self.thread.body):
            add("cp.async.wait_all", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group 0")
            add(f"nanosleep.u32 {SETTLE}")
        for raw, name, initial in self.decodes:
            self._decode(raw, name, initial)

    # --- names -------------------------------------------------------------------------------------------------------

    def type_of(self, name: str) -> Type:
        found: Type = self.thread.types.get(name, U32)
        return found

    def register(self, name: str) -> str:
        """The PTX register of one of the thread's registers."""
        numbers = list(dict.fromkeys([*self.thread.types, name]))
        return self.code.register(f"t{self.number}_{numbers.index(name)}", width(self.type_of(name)))

    def leaf(self, expr: Expr) -> Operand:
        """Registers, and addresses as values: generic ones."""
        match expr:
            case Reg(name):
                return self.register(name), width(self.type_of(name))
            case Addr(name, offset):
                return self._moved(self.pointer(name, ""), offset), 64
        raise Unsupported("a final value in the code of a thread")

    def _windowed(self, space: str) -> Any:
        """Leaves of an address in a state space."""

        def leaf(expr: Expr) -> Operand:
            if isinstance(expr, Addr):
                return self._moved(self.pointer(expr.name, space), expr.offset), 64
            return self.leaf(expr)

        return leaf

    def _moved(self, pointer: str, offset: int) -> str:
        if not offset:
            return pointer
        made = self.code.fresh(64)
        self.code.add(f"add.s64 {made}, {pointer}, {offset}")
        return made

    def space_of(self, name: str) -> str:
        """The state space of an object as this thread sees it."""
        item = self.program.physical(name)
        if item.owner is None:
            return "global"
        return SHARED[cta_of(item.owner) != cta_of(self.thread.place)]

    def pointer(self, name: str, space: str) -> str:
        """The address of an object for one more access; from the second on, the assembler cannot see that it is."""
        kind = "generic" if space not in SHARED and self.space_of(name) in SHARED else "window"
        item = self.program.physical(name)
        base = f"p{self.number}_{self.program.objects.index(item)}_{'a' if name != item.name else kind[0]}"
        count = self.uses[base] = self.uses.get(base, -1) + 1
        if not count:
            self.order.append(base)
            self.pre[:0] = self._address(self.code.register(base, 64), name, kind)
            return base
        made = self.code.register(f"{base}{count}", 64)
        self.pre.append(f"    add.s64 {made}, {base}, zero{(count - 1) % OPAQUE};")
        return made

    def _address(self, register: str, name: str, kind: str) -> list[str]:
        item = self.program.physical(name)
        if item.space is Space.GLOBAL:
            place = [o.name for o in self.program.objects if o.space is Space.GLOBAL].index(item.name)
            other = [f"    add.s64 {register}, {register}, alias;"] if name != item.name else []
            return [f"    mad.lo.s64 {register}, array, {place}, here;", *other]
        lines = [f"    add.s64 {register}, shared_here, {self.layout.shared[item.name]};"]
        assert item.owner is not None
        if kind == "generic":
            lines.append(f"    cvta.shared.u64 {register}, {register};")
        if cta_of(item.owner) != cta_of(self.thread.place):
            window = "" if kind == "generic" else ".shared::cluster"
            lines.append(f"    mapa{window}.u64 {register}, {register}, {self.rank(item.owner)};")
        return lines

    def rank(self, owner: Any) -> int:
        """The rank of a CTA in its cluster."""
        for thread, seat in zip(self.program.threads, self.layout.seats, strict=True):
            if cta_of(thread.place) == cta_of(owner):
                return seat.rank
        raise Unsupported("a CTA in which no thread runs has shared memory")

    # --- statements --------------------------------------------------------------------------------------------------

    def _statement(self, statement: Statement, at: int, labels: dict[str, int]) -> None:
        add, code = self.code.add, self.code
        guard = code.value(statement.guard, PREDICATE, self.leaf) if statement.guard is not None else ""
        when = f"@{guard} " if guard else ""
        match statement:
            case Label(name=name):
                add(f"T{self.number}_{labels[name]}:")
            case Branch(target=target):
                if labels[target] <= at:
                    self._bounded()
                add(f"{when}bra T{self.number}_{labels[target]}")
            case Exit():
                add(f"{when}bra DONE{self.number}")
            case Assume(cond=cond):
                holds = code.value(cond, PREDICATE, self.leaf)
                add(f"@!{holds} mov.b32 status{self.number}, {FILTERED}")
            case Assign(dst=dst, value=value):
                bits = width(self.type_of(dst))
                kind = "pred" if bits == PREDICATE else f"b{bits}"
                add(f"{when}mov.{kind} {self.register(dst)}, {code.value(value, bits, self.leaf)}")
            case Nop(text=text):
                if text.startswith("nanosleep.u32"):
                    add(text.rstrip(";"))
            case _:
                self._instruction(statement, Reg(guard) if guard else None)

    def _bounded(self) -> None:
        now, late = self.code.fresh(64), self.code.fresh(PREDICATE)
        self.code.add(f"mov.u64 {now}, %clock64", f"sub.s64 {now}, {now}, begun{self.number}")
        self.code.add(f"setp.gt.u64 {late}, {now}, patience", f"@{late} bra STUCK{self.number}")

    def _instruction(self, statement: Statement, guard: Expr | None) -> None:
        space = self._space(statement)
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
                changes[each.name] = self._operand_address(old, self._window(statement, each.name, space))
            elif each.name == "dst":
                changes["dst"] = self._results(statement, old)
            elif each.name == "pred" and isinstance(old, str):
                changes["pred"] = self.register(old)
            elif isinstance(old, tuple) and old and not isinstance(old[0], str):
                changes[each.name] = tuple(self._operand(statement, each.name, one) for one in old)
            elif not isinstance(old, str | int | bool | tuple) and _is_expr(old):
                changes[each.name] = self._operand(statement, each.name, old)
        if self.initial is not None and isinstance(statement, Store):
            changes["values"] = tuple(Reg(self._stamped(value)) for value in statement.values)
        sink = self._sink(statement)
        self.code.add(ptx(replace(statement, **changes), space=space, sink=sink))
        if self.initial is not None and isinstance(statement, Load):
            self._loaded(statement, changes["dst"], guard)

    def _space(self, statement: Statement) -> str:
        """The state space to name: that of the object whose address it is, none for an address out of a register."""
        address = getattr(statement, "address", None)
        if address is None or isinstance(statement, ProxyFence):
            return ""
        if getattr(statement, "remote", False):
            return SHARED[1]
        names = {leaf.name for leaf in leaves(address) if isinstance(leaf, Addr)}
        found = {self.space_of(name) for name in names}
        return found.pop() if len(found) == 1 else ""

    def _window(self, statement: Statement, name: str, space: str) -> str:
        """The state space in which an operand of an instruction is an address."""
        match statement:
            case AsyncCopy(spaces=spaces, mbarrier=mbarrier, multicast=multicast, bulk=bulk):
                into, out_of = spaces or (SHARED[0] if mbarrier is not None or not bulk else "global", "")
                out_of = out_of or ("global" if mbarrier is not None or not bulk else SHARED[0])
                into = SHARED[1] if multicast is not None else into
                return {"destination": into, "source": out_of, "mbarrier": into}.get(name, "")
            case AsyncStore(mbarrier=mbarrier):
                return SHARED[1] if mbarrier is not None else "global"
            case TensormapCopy():
                return {"destination": "global", "source": SHARED[0]}[name]
        return space

    def _operand_address(self, address: Expr, space: str) -> Expr:
        match address:
            case Addr(name, offset):
                return _at(self.pointer(name, space), offset)
            case Binary("+", Addr(name, start), Const(offset)):
                return _at(self.pointer(name, space), start + offset)
            case Binary("+", Reg() as base, Const(offset)) if space not in SHARED:
                return _at(self.code.into_register(base, 64, self.leaf), offset)
        objects = any(isinstance(leaf, Addr) for leaf in leaves(address))
        leaf = self._windowed(space) if objects else self.leaf
        found = self.code.into_register(address, 64, leaf)
        if space in SHARED and not objects:
            cast = self.code.fresh(64)
            self.code.add(f"cvta.to.{space}.u64 {cast}, {found}")
            found = cast
        return Reg(found)

    def _operand(self, statement: Statement, name: str, value: Expr) -> Expr:
        """A register or a number for an operand."""
        if name in ("pred",):
            return Reg(self.code.into_register(value, PREDICATE, self.leaf))
        if isinstance(value, Select) and name == "read":
            return replace(value, cond=Reg(self.code.value(value.cond, PREDICATE, self.leaf)))
        type_ = self._operand_type(statement, name)
        if isinstance(value, Const) and not type_.floating and type_.bits not in (16, 128):
            return value
        return Reg(self.code.into_register(value, width(type_), self.leaf))

    def _operand_type(self, statement: Statement, name: str) -> Type:
        match statement, name:
            case ((Store() | Atomic() | AsyncStore()), _):
                return statement.type
            case AsyncCopy(), "multicast":
                return Type("b", 16)
            case TensormapReplace(field=part), _:
                return Type("b", 64 if part in ("global_address", "global_stride") else 32)
            case _, "token":
                return Type("b", 64)
        return U32

    def _results(self, statement: Statement, old: Any) -> Any:
        if self.initial is not None and isinstance(statement, Load):
            return tuple(self.code.fresh(32) if name is not None else None for name in old)
        if isinstance(old, tuple):
            return tuple(self.register(name) if name is not None else None for name in old)
        return self.register(old)

    def _sink(self, statement: Statement) -> str:
        match statement:
            case Load(type=type_) | Atomic(type=type_):
                bits = width(type_)
            case MbarrierArrive() | MbarrierInit():
                return "_"
            case _:
                bits = width(PRED)
        return self.code.register(f"sink{bits}", bits)

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
            if self.forks or name in self.read_inside:
                self._decode(register, name, initial, guard)
            else:
                self.decodes = [each for each in self.decodes if each[1] != name] + [(register, name, initial)]

    def _decode(self, raw: str, name: str, initial: int, guard: Expr | None = None) -> None:
        when = f"@{guard.name} " if isinstance(guard, Reg) else ""
        decoded(self.code, raw, self.register(name), initial, when)


def decoded(code: Code, raw: str, register: str, initial: int, when: str = "") -> None:
    """Write what turns a word of memory into the value that it has in this epoch."""
    value, now = code.fresh(32), code.fresh(PREDICATE)
    code.add(f"sub.u32 {value}, {raw}, epoch", f"setp.lt.u32 {now}, {value}, {VALUES}")
    code.add(f"{when}selp.b32 {register}, {value}, {initial % (1 << 32)}, {now}")


def _at(register: str, offset: int) -> Expr:
    return Binary("+", Reg(register), Const(offset), Type("u", 64)) if offset else Reg(register)


def _is_expr(value: object) -> bool:
    return isinstance(value, Const | Reg | Addr | Unary | Binary | Select)


def _read(statement: Statement) -> frozenset[str]:
    """The registers that an instruction reads."""
    found: frozenset[str] = frozenset()
    for each in fields(statement):
        value = getattr(statement, each.name)
        for one in value if isinstance(value, tuple) else (value,):
            if _is_expr(one):
                found |= registers(one)
    return found
