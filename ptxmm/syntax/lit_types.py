"""The type of each register of a thread: from the instructions that write it, else from what is assigned to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ptxmm.arith import PRED, U32, U64, Type
from ptxmm.program import Addr, Const
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node, Step
from ptxmm.syntax.lit_values import Value, bits_of

SMALL = 16


@dataclass(frozen=True, slots=True)
class Write:
    """An instruction gives a register a value of a type; `loaded` says from memory, which decides the sign.

    `extends` is for loads, whose value is extended where the register is wider.
    """

    register: str
    type: Type
    loaded: bool
    start: int
    end: int
    extends: bool = False


@dataclass(slots=True)
class Registers:
    """What is known of the registers of a thread."""

    source: Source
    declared: dict[str, Type] = field(default_factory=dict)
    init: dict[str, Const | Addr] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    readable: set[str] = field(default_factory=set)
    perhaps: set[str] = field(default_factory=set)
    writes: dict[str, list[Write]] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)

    def write(self, write: Write) -> None:
        """Note a write by an instruction."""
        self.writes.setdefault(write.register, []).append(write)
        self.readable.add(write.register)

    def use(self, name: str, bits: int) -> None:
        """Note that an instruction reads a register as a value of so many bits."""
        self.uses[name] = max(bits, self.uses.get(name, 0))

    def extended(self, name: str) -> bool:
        """Whether only loads write a register, so that it may be wider than they are."""
        return name not in self.declared and all(write.extends for write in self.writes.get(name, ()))

    def decide(self) -> None:
        """Give each register that an instruction writes its type; an error where two widths conflict."""
        for name, writes in self.writes.items():
            declared = self.declared.get(name)
            widest = max(writes, key=lambda write: write.type.bits)
            for write in writes:
                self._fits(name, write, declared, widest)
            needed = self.uses.get(name, 0) if self.extended(name) and widest.type.bits <= SMALL else 0
            self.types[name] = declared or _common(writes, max(needed, widest.type.bits))
        for name, type_ in self.declared.items():
            if name in self.listed:
                self.types.setdefault(name, type_)

    def _fits(self, name: str, write: Write, declared: Type | None, widest: Write) -> None:
        wanted = declared or widest.type
        whole = wanted.floating and (declared is not None or not widest.extends)
        narrow = write.extends and write.type.bits < wanted.bits and not whole
        if (write.type.bits == wanted.bits and (write.type == PRED) == (wanted == PRED)) or narrow:
            return
        before = f"is declared `.{declared}`" if declared else f"is written as `.{widest.type}`"
        message = f"width mismatch: `{name}` {before}, here it gets {bits_of(write.type)}"
        raise self.source.error(message, write.start, write.end, "use another register, or convert with `cvt`")


def _common(writes: list[Write], bits: int) -> Type:
    """The type of a register: signed where it is loaded as signed, or computed as signed throughout."""
    loads = [w.type for w in writes if w.loaded]
    types = loads or [w.type for w in writes]
    first = types[0]
    if any(t.kind != first.kind or t.lanes != first.lanes for t in types):
        kinds = {t.kind for t in types} - {"b"}
        signed = "s" in kinds and (bool(loads) or kinds == {"s"})
        floating = next((t for t in types if t.floating), None)
        if floating is not None and kinds == {floating.kind} and floating.bits == bits:
            return floating
        return Type("s" if signed else "u", bits)
    if first.bits == bits:
        return first
    return Type("u" if first.floating or first.lanes > 1 else first.kind, bits)


@dataclass(frozen=True, slots=True)
class Assigned:
    """A sugar assignment: the register, and a function that reads its value with the types known so far."""

    register: str
    step: Step
    reads: frozenset[str]


def infer(registers: Registers, assigned: list[Assigned], value: Callable[[Node], Value]) -> None:
    """Types for registers that only assignments write: those of their operands, else PRED, else U32."""
    known = registers.types
    waiting: dict[str, list[int]] = {}
    for index, item in enumerate(assigned):
        for name in item.reads:
            waiting.setdefault(name, []).append(index)
        if item.register in registers.declared:
            known.setdefault(item.register, registers.declared[item.register])
    open_ = [i for i, item in enumerate(assigned) if item.register not in known]
    _spread(known, assigned, open_, waiting, lambda node: _integer(value(node)))
    _spread(known, assigned, open_, waiting, lambda node: PRED if value(node).type == PRED else None)
    for index in open_:
        known.setdefault(assigned[index].register, U32)


def _spread(
    known: dict[str, Type],
    assigned: list[Assigned],
    start: Iterable[int],
    waiting: dict[str, list[int]],
    type_of: Callable[[Node], Type | None],
) -> None:
    queue = deque(start)
    while queue:
        item = assigned[queue.popleft()]
        if item.register in known:
            continue
        found = type_of(item.step.exprs[0])
        if found is not None:
            known[item.register] = found
            queue.extend(waiting.get(item.register, ()))


def _integer(value: Value) -> Type | None:
    if value.type is None:
        wide = isinstance(value.expr, Const) and not -(1 << 31) <= value.expr.value < 1 << 32
        return U64 if wide else None
    return value.type if value.type != PRED else None
