"""`.reg` declarations inside a thread."""

from __future__ import annotations

from functools import partial

from ptxmm.errors import near
from ptxmm.program import Addr, Const
from ptxmm.syntax.lit_memory import Memory, leaf
from ptxmm.syntax.lit_reader import Reader
from ptxmm.syntax.lit_tree import Item
from ptxmm.syntax.lit_types import Registers
from ptxmm.syntax.lit_values import TYPES, settle

MOST = 4096


def declare(registers: Registers, memory: Memory, items: list[Item]) -> None:
    """Note the registers that `.reg` declares, with their types and first values."""
    for item in items:
        _declaration(registers, memory, item)


def _declaration(registers: Registers, memory: Memory, item: Item) -> None:
    source, head = registers.source, item.words[0]
    if head != ".reg":
        raise source.error(
            f"`{head}` cannot stand in a thread", item.start, item.end, "declare memory before the threads"
        )
    dotted = [p for p in item.steps if p.kind == "dotted"]
    word = str(dotted[0].words[0])[1:] if dotted else ""
    if len(dotted) != 1 or len(item.steps) != 1 + sum(p.kind == "declarator" for p in item.steps):
        raise source.error("`.reg` needs one type", item.start, item.end, "write `.reg .u32 r0, r1;`")
    if word not in TYPES:
        raise source.error(f"unknown type `.{word}`", dotted[0].start, dotted[0].end, near(word, TYPES))
    for declarator in item.steps:
        if declarator.kind == "declarator":
            _register(registers, memory, declarator, word)


def _register(registers: Registers, memory: Memory, item: Item, word: str) -> None:
    source, type_ = registers.source, TYPES[word]
    name = str(item.words[0]).removeprefix("%")
    if "." in name or "::" in name:
        raise source.error(f"`{name}` cannot be a register", item.start, item.end)
    kinds = [part.kind for part in item.steps]
    names = [name]
    if kinds == ["numbered"]:
        count = int(str(item.steps[0].words[0])) if str(item.steps[0].words[0]).isdigit() else MOST + 1
        if count > MOST:
            raise source.error(f"at most {MOST} registers", item.start, item.end)
        names = [f"{name}{i}" for i in range(count)]
    elif kinds not in ([], ["scalar"]):
        raise source.error(f"`{name}` is no register", item.start, item.end, "write `.reg .u32 r0, r1;`")
    if len(registers.declared) + len(names) > 4 * MOST:
        raise source.error(f"at most {4 * MOST} registers", item.start, item.end)
    for each in names:
        if registers.declared.setdefault(each, type_) != type_:
            raise source.error(f"`{each}` is already declared `.{registers.declared[each]}`", item.start, item.end)
    if kinds != ["numbered"]:
        registers.listed.add(name)
    if kinds == ["scalar"]:
        node = item.steps[0].exprs[0]
        reader = Reader(source, partial(leaf, memory))
        expr = settle(source, reader.value(node), type_, node)
        if not isinstance(expr, Const | Addr):
            raise source.error("the first value of a register is a number or an address", node.start, node.end)
        registers.init[name] = expr
        registers.readable.add(name)
