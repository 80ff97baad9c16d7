"""The words of a thread's code: which are registers, which are memory, and what operands mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ptxmm.arith import PRED, U32, U64, Type
from ptxmm.errors import InputError, near
from ptxmm.isa import Operand
from ptxmm.program import Addr, Binary, Const, Expr, Place, Reg, Space, registers
from ptxmm.syntax.lit_memory import Memory, address, unknown
from ptxmm.syntax.lit_reader import Reader
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node
from ptxmm.syntax.lit_types import Registers
from ptxmm.syntax.lit_values import TYPES, Value, bits_of, extended, settle

COPIES = "cp."
"""How the instructions start whose type is that of the elements that they copy."""

PAIRED = "elect.sync"
"""The instruction with a pair of results, `r0|p`."""

SHARED = "shared"
SPACES = re.compile(r"global|shared(::(cta|cluster))?")
"""The words of a mnemonic that are state spaces of its addresses, in the order of these."""


@lru_cache(maxsize=4096)
def is_short(mnemonic: str, place: int) -> bool:
    """Whether the address number `place` of an instruction is of shared memory by name, so that 32 bits hold it.

    >>> is_short("ld.shared.u32", 0), is_short("ld.u32", 0), is_short("mbarrier.arrive.b64", 0)
    (True, False, True)
    >>> [is_short("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", place) for place in range(3)]
    [True, False, True]
    """
    words = mnemonic.split(".")
    spaces = [word for word in words if SPACES.fullmatch(word)]
    if place < len(spaces):
        return spaces[place].startswith(SHARED)
    return bool(spaces) or "mbarrier" in words[:3]


@dataclass(slots=True)
class Operands:
    """Reads operands for one thread; `lenient` while the types of its registers are not known."""

    source: Source
    memory: Memory
    name: str
    place: Place
    registers: Registers
    lenient: bool = True

    def operands(self, nodes: Sequence[Node], mnemonic: str) -> tuple[Operand, ...]:
        """The operands of an instruction."""
        found: list[Operand] = []
        for node in nodes:
            place = sum(operand.kind == "mem" for operand in found)
            found.append(self.operand(node, mnemonic, is_short(mnemonic, place)))
        return tuple(found)

    def operand(self, node: Node, mnemonic: str, short: bool = False) -> Operand:
        """One operand; `short` says that an address in 32 bits will do."""
        at = self.source.span(node.start, node.end)
        match node.kind:
            case "name" if node.text == "_":
                return Operand("sink", None, (), at)
            case "vector":
                return Operand("vector", None, tuple(self.operand(item, mnemonic) for item in node.args), at)
            case "memory":
                return Operand("mem", self._address(node, short), self._coordinates(node, mnemonic), at)
            case "binary" if node.text == "|" and mnemonic.startswith(PAIRED):
                return Operand("vector", None, tuple(self.operand(item, mnemonic) for item in node.args), at)
            case "name" if self.memory.seen(node.text, self.place) is None:
                if self.lenient:
                    if node.text in self.memory.families or "@" in node.text:
                        raise unknown(self.memory, node, self.place)
                    return Operand("reg", Reg(self.register(node.text, node.start, node.end)), (), at)
                name = node.text.removeprefix("%")
                return Operand("reg", Reg(name), (), at, self.registers.types.get(name))
            case "name" | "index":
                return Operand("expr", self._reach(node), (), at, U64)
        value = self.reader().value(node)
        type_ = None if self.lenient else value.type
        return Operand("expr", self._number(value, node, mnemonic), (), at, type_)

    def _coordinates(self, node: Node, mnemonic: str) -> tuple[Operand, ...]:
        """What stands behind the name of a tensor map: `[D, {x, y}]`."""
        if len(node.args) == 2 and node.args[1].kind == "vector":
            return self.operand(node.args[1], mnemonic).items
        return ()

    def _number(self, value: Value, node: Node, mnemonic: str) -> Expr:
        """A number takes the floating type that the mnemonic names, except where it counts bytes."""
        if value.type is not None or (mnemonic.startswith(COPIES) and value.fraction is None):
            return value.expr
        type_ = next((t for w in reversed(mnemonic.split(".")) if (t := TYPES.get(w)) is not None), None)
        if value.fraction is not None or (type_ is not None and type_.floating):
            return settle(self.source, value, type_ or U32, node)
        return value.expr

    def _address(self, node: Node, short: bool) -> Expr:
        if node.text:
            message = "the type of an access stands in the instruction"
            raise self.source.error(message, node.start, node.start + len(node.text))
        if len(node.args) > 2 or (len(node.args) == 2 and node.args[1].kind != "vector"):
            raise self.source.error("an address is one expression", node.start, node.end)
        inner = node.args[0]
        reader = replace(self.reader(), address=True)
        if inner.kind == "name" and not self._is_register(inner.text):
            name = inner.text.removeprefix("%")
            guess = self.lenient and name in self.registers.perhaps
            return Reg(name) if guess and self.memory.seen(inner.text, self.place) is None else self._reach(inner)
        value = reader.value(inner)
        if value.type is not None and not self.lenient and not _holds(value.type, short):
            raise self._narrow(value.type, inner)
        return settle(self.source, value, U64, inner)

    def type_of(self, node: Node) -> Type | None:
        """The type of an operand's value, None for a number."""
        if node.kind in ("name", "index") and not self._is_register(node.text):
            return U64
        return self.reader().value(node).type

    def pointer(self, node: Node, short: bool) -> None:
        """Insist that a name in brackets is memory, or a register that holds an address: in 32 bits, where `short`."""
        if not self._is_register(node.text):
            self._reach(node)
        type_ = self.registers.types.get(node.text.removeprefix("%")) if self._is_register(node.text) else None
        if type_ is not None and not _holds(type_, short):
            raise self._narrow(type_, node)

    def _narrow(self, type_: Type, node: Node) -> InputError:
        message = f"width mismatch: an address has 64 bits, this has {bits_of(type_)}"
        hint = "" if type_ == PRED else f"load it as `.u64`, or widen it with `cvt.u64.u{type_.bits}`"
        if type_.bits == U32.bits:
            hint += "; 32 bits are for shared memory, with `.shared` in the instruction"
        return self.source.error(message, node.start, node.end, hint)

    def _is_register(self, text: str) -> bool:
        name = text.removeprefix("%")
        return name in self.registers.readable or name in self.registers.declared

    def register(self, text: str, start: int, end: int) -> str:
        name = text.removeprefix("%")
        if not name or "." in name or "::" in name or "@" in name:
            raise self.source.error(f"`{text}` cannot be a register here", start, end)
        if self.memory.seen(name, self.place) is not None:
            hint = f"store to it: `st.weak.u32 [{name}], 1;`, or name the register differently"
            raise self.source.error(f"`{name}` is memory, not a register", start, end, hint)
        return name

    def reader(self) -> Reader:
        return Reader(self.source, self._leaf, lenient=self.lenient)

    def _leaf(self, reader: Reader, node: Node) -> Value:
        match node.kind:
            case "unary":
                inner = node.args[0]
                inner = inner.args[0] if inner.kind == "memory" and len(inner.args) == 1 else inner
                if inner.kind not in ("name", "index"):
                    raise self.source.error("`&` takes the address of declared memory", node.start, node.end)
                return self._element(reader, inner)
            case "memory":
                raise self.source.error(
                    "memory cannot stand here", node.start, node.end, "load it into a register first"
                )
            case "final":
                hint = "a thread sees its own registers; put spaces around `:` in `a ? b : c`"
                raise self.source.error(f"`{node.text}` cannot stand in code", node.start, node.end, hint)
            case "index" if reader.address:
                return self._element(reader, node)
        name = node.text.removeprefix("%")
        if node.kind == "name" and name in (self.registers.types if self.lenient else self.registers.readable):
            return Value(Reg(name), self.registers.types[name])
        if node.kind == "name" and self.lenient and self.memory.seen(node.text, self.place) is None:
            return Value(Reg(name), None)
        if reader.address and node.kind == "name":
            return Value(self._reach(node), U64)
        if self.memory.seen(node.text, self.place) is not None:
            hint = f"load it first: `ld.weak.u32 r0, [{node.text}];`, or write `&{node.text}` for its address"
            raise self.source.error(f"`{node.text}` is memory, not a register", node.start, node.end, hint)
        raise self.never(node)

    def never(self, node: Node) -> InputError:
        name = node.text.removeprefix("%")
        if "@" in node.text or node.text in self.memory.families:
            return unknown(self.memory, node, self.place)
        if "." in name:
            hint = "if it is a special register, write the number that this thread reads from it"
            return self.source.error(f"`{node.text}` is no register that ptxmm knows", node.start, node.end, hint)
        known = [*self.registers.types, *self.memory.names()]
        hint = near(name, known) or "write it first, as in `ld.weak.u32 r0, [x];`, or `.reg .u32 r0 = 0;`"
        return self.source.error(f"nothing writes register `{name}` in thread {self.name}", node.start, node.end, hint)

    def named_address(self, node: Node, bits: int = U64.bits) -> Value | None:
        """The address that a bare name denotes to `mov`; 32 bits hold that of shared memory."""
        head = node.args[0] if node.kind == "binary" else node
        name = self.memory.seen(head.text, self.place) if head.kind == "name" else None
        if name is None or self._is_register(head.text):
            return None
        value = replace(self.reader(), address=True).value(node)
        short = bits == U32.bits and self.memory.object(name).space is Space.SHARED
        return value._replace(type=U32) if short else value

    def _reach(self, node: Node) -> Addr:
        """The address of a name or element, which this thread must be able to reach."""
        if node.kind == "name" and self.memory.seen(node.text, self.place) is None:
            if "@" not in node.text and node.text not in self.memory.families and self._looks_like_register(node.text):
                raise self.never(node)
            raise unknown(self.memory, node, self.place)
        found = address(self.memory, self.reader(), node, self.place)
        stranger = self.memory.stranger(found.name, self.place)
        if stranger:
            hint = "only threads of the same cluster reach shared memory"
            raise self.source.error(stranger, node.start, node.end, hint)
        return found

    def _looks_like_register(self, text: str) -> bool:
        return text[0] == "%" or re.fullmatch(r"(r|rd|p|f|fd|rs)\d+", text) is not None

    def _element(self, reader: Reader, node: Node) -> Value:
        """The address of `x`, `a[1]` or `a[r0]`."""
        base = self._reach(node._replace(kind="name", args=()))
        if node.kind == "name":
            return Value(base, U64)
        size = self.memory.object(base.name).type.size
        inner = replace(self.reader(), address=True)
        index = inner.value(node.args[0])
        at = node._replace(kind="binary", text="*", args=(node.args[0], Node("number", str(size), (), 0, 0)))
        wide = Value(settle(self.source, index, U64, node.args[0]), index.type)
        if index.type is None and not registers(index.expr):
            scaled = inner.binary(at, index, inner.value(at.args[1]))
        else:
            scaled = Value(_scaled(inner, at, wide, size), U64)
        whole = node._replace(kind="binary", text="+", args=(node, node))
        return inner.binary(whole, Value(base, U64), scaled)


def _holds(type_: Type, short: bool) -> bool:
    """Whether a register of a type can hold an address."""
    return type_.bits == U64.bits or (short and type_.bits == U32.bits)


def _scaled(reader: Reader, node: Node, index: Value, size: int) -> Expr:
    expr = extended(index.expr, index.type, U64) if index.type is not None else index.expr
    return Binary("*", expr, Const(size), U64) if size > 1 else expr
