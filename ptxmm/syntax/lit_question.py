"""What a test asks: conditions and locations over final states, notes for the hardware, launches, conventions."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace

from ptxmm.arith import U64, Type
from ptxmm.errors import InputError, near, near_or_all
from ptxmm.program import (
    Addr,
    Condition,
    Conventions,
    Expr,
    FinalMem,
    FinalReg,
    Hardware,
    Quantifier,
    Thread,
)
from ptxmm.syntax.lit_memory import Memory, address, unknown
from ptxmm.syntax.lit_reader import Reader, constant
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, Node
from ptxmm.syntax.lit_values import TYPES, Value

KINDS = {q.value: q for q in Quantifier}
DARTAGNAN = Conventions(True, True, True, True)
CONVENTIONS = {f.name.replace("_", "-"): f.name for f in fields(Conventions)}


@dataclass(frozen=True, slots=True)
class Finals:
    """Reads expressions over final states."""

    source: Source
    memory: Memory
    threads: dict[str, Thread]

    def reader(self) -> Reader:
        """A reader in which names are final registers and memory."""
        return Reader(self.source, self._leaf, final=True)

    def condition(self, item: Item) -> Condition:
        """`exists`, `~exists` or `forall`."""
        return Condition(KINDS[item.kind], self.formula(item.exprs[0]))

    def formula(self, node: Node) -> Expr:
        """A formula: a value that is zero or not."""
        reader = self.reader()
        return reader.truth(reader.value(node))

    def location(self, node: Node) -> FinalReg | FinalMem:
        """A register or memory, for `locations`."""
        expr = self._leaf(self.reader(), node).expr if node.kind in ("name", "final", "index", "memory") else None
        if not isinstance(expr, FinalReg | FinalMem):
            raise self.source.error("this is no location", node.start, node.end, "write `x`, `a[1]` or `A.r0`")
        return expr

    def _leaf(self, reader: Reader, node: Node) -> Value:
        match node.kind:
            case "unary":
                if node.args[0].kind not in ("name", "index"):
                    raise self.source.error("`&` takes the address of declared memory", node.start, node.end)
                return Value(address(self.memory, reader, node.args[0], None), U64)
            case "memory":
                return self._memory(reader, node)
            case "index":
                return self._at(node, address(self.memory, reader, node, None), None)
            case "final":
                thread, _, register = node.text.partition(":")
                return self._register(node, thread, register)
        if "." in node.text:
            thread, _, register = node.text.partition(".")
            return self._register(node, thread, register)
        if self.memory.seen(node.text, None) is None:
            writers = [name for name, thread in self.threads.items() if node.text in thread.types]
            if writers and node.text not in self.memory.families:
                message = f"`{node.text}` is a register: whose?"
                raise self.source.error(message, node.start, node.end, f"write `{writers[0]}.{node.text}`")
        return self._at(node, address(self.memory, reader, node, None), None)

    def _register(self, node: Node, name: str, register: str) -> Value:
        register = register.removeprefix("%")
        thread = self.threads.get(name)
        if thread is None:
            hint = near_or_all(name, self.threads, "threads of this test")
            raise self.source.error(f"no thread `{name}`", node.start, node.end, hint)
        if register not in thread.types:
            hint = near_or_all(register, thread.types, f"registers of {name}") if thread.types else ""
            raise self.source.error(
                f"nothing writes register `{register}` in thread {name}", node.start, node.end, hint
            )
        return Value(FinalReg(name, register), thread.types[register])

    def _memory(self, reader: Reader, node: Node) -> Value:
        """`[x+4]`, or `.u16 [x+2]` for a type of its own."""
        if len(node.args) != 1:
            raise self.source.error("an address is one expression", node.start, node.end)
        type_ = TYPES.get(node.text[1:]) if node.text else None
        if node.text and (type_ is None or node.text == ".pred"):
            raise self.source.error(f"unknown type `{node.text}`", node.start, node.end, near(node.text[1:], TYPES))
        inner = node.args[0]
        where = Reader(self.source, self._address).value(inner).expr
        if not isinstance(where, Addr):
            raise self.source.error("this is no address", inner.start, inner.end, "write `[x+4]`")
        return self._at(node, where, type_)

    def _address(self, reader: Reader, node: Node) -> Value:
        inner = node.args[0] if node.kind == "unary" else node
        if inner.kind not in ("name", "index"):
            raise self.source.error("this is no address", node.start, node.end, "write `[x+4]`")
        return Value(address(self.memory, reader, inner, None), U64)

    def _at(self, node: Node, where: Addr, type_: Type | None) -> Value:
        obj = self.memory.object(where.name)
        if obj.mbarrier is not None:
            hint = "ask about a register that `mbarrier.test_wait` or `mbarrier.pending_count` writes"
            raise self.source.error("the content of an mbarrier has no meaning", node.start, node.end, hint)
        type_ = type_ or obj.type
        if where.offset < 0 or where.offset + type_.size > obj.size:
            size = f"{obj.length} element{'s' * (obj.length > 1)}, {obj.size} bytes"
            raise self.source.error(f"this is outside of `{where.name}`", node.start, node.end, f"it has {size}")
        return Value(FinalMem(obj.name, where.offset, type_), type_)


# --- notes ------------------------------------------------------------------------------------------------------------


def conventions(source: Source, items: list[Item]) -> Conventions:
    """`dialect dartagnan;`, or single conventions by name."""
    found = Conventions()
    for item in items:
        for token in item.words:
            word, start, end = str(token), token.start_pos or 0, token.end_pos or 0
            if word == "dartagnan":
                found = DARTAGNAN
            elif word in CONVENTIONS:
                found = replace(found, **{CONVENTIONS[word]: True})
            else:
                hint = near(word, [*CONVENTIONS, "dartagnan"]) or f"one of dartagnan, {', '.join(CONVENTIONS)}"
                raise source.error(f"unknown dialect `{word}`", start, end, hint)
    return found


def launches(source: Source, items: list[Item], kernels: set[int]) -> tuple[tuple[int, str, int], ...]:
    """`launch k1 with k0;` and `launch k1 dependent k0;`."""
    found = []
    for item in items:
        one, how, other = (str(token) for token in item.words)
        numbers = []
        for token in (item.words[0], item.words[2]):
            start, end = token.start_pos or 0, token.end_pos or 0
            kernel = int(token[1:]) if re.fullmatch(r"k\d{1,6}", token) else None
            if kernel not in kernels or kernel is None:
                known = ", ".join(f"k{k}" for k in sorted(kernels))
                raise source.error(f"no thread runs in kernel `{token}`", start, end, f"kernels of this test: {known}")
            numbers.append(kernel)
        if how not in ("with", "dependent"):
            at = item.words[1]
            hint = "write `launch k1 with k0;` or `launch k1 dependent k0;`"
            raise source.error(f"unknown launch `{how}`", at.start_pos or 0, at.end_pos or 0, hint)
        if one == other:
            raise source.error("a kernel cannot be launched with itself", item.start, item.end)
        found.append((numbers[0], how, numbers[1]))
    return tuple(found)


def hardware(source: Source, items: list[Item], memory: Memory, threads: dict[str, Thread]) -> Hardware:
    """The notes for a run on a GPU."""
    found = Hardware()
    for note in (step for item in items for step in item.steps):
        words = [str(token) for token in note.words]
        if note.kind == "require":
            if not re.fullmatch(r"sm_\d{2,3}[af]?", words[0]):
                raise source.error(f"`{words[0]}` is no target", note.start, note.end, "write `require sm_90a;`")
            found = replace(found, require=words[0])
        elif note.kind == "skip":
            if not unquoted(words[0]).strip():
                raise source.error("`skip` says why", note.start, note.end, 'write `skip "needs two GPUs";`')
            found = replace(found, skip=unquoted(words[0]))
        else:
            found = _of_thread(source, note, words, memory, threads, found)
    return found


def _of_thread(
    source: Source, note: Item, words: list[str], memory: Memory, threads: dict[str, Thread], found: Hardware
) -> Hardware:
    if words[0] not in threads:
        hint = near_or_all(words[0], threads, "threads of this test")
        raise source.error(f"no thread `{words[0]}`", note.start, note.end, hint)
    if note.kind == "busy":
        node = Node("number", words[1], (), note.words[1].start_pos or 0, note.words[1].end_pos or 0)
        count = constant(Reader(source, _no_names), node, "how many stores")
        if count > BUSIEST:
            message = f"a launch does not end soon with {count:,} stores before each round"
            raise source.error(message, node.start, node.end, f"there are at most {BUSIEST:,}")
        return replace(found, busy=(*found.busy, (words[0], count)))
    for token in note.words[1:]:
        if memory.seen(str(token), threads[words[0]].place) is None:
            raise unknown(memory, Node("name", str(token), (), token.start_pos or 0, token.end_pos or 0), None)
    return replace(found, preload=(*found.preload, (words[0], tuple(words[1:]))))


def _no_names(reader: Reader, node: Node) -> Value:
    raise _no_number(reader, node)


def _no_number(reader: Reader, node: Node) -> InputError:
    return reader.source.error(f"`{node.text}` is no number", node.start, node.end)


BUSIEST = 1 << 16
"""The most unrelated stores that a note for the hardware asks for."""

ESCAPES = {"n": "\n", "t": "\t"}


def unquoted(text: str) -> str:
    """What a string in quotes says, without the quotes and with its escapes replaced."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), text[1:-1])
