"""Declarations of mbarriers and tensor maps: `.mbarrier m(2)`, an array `m[4](2)`, and `.tensormap D -> x box(64)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ptxmm.arith import Type
from ptxmm.errors import InputError, near
from ptxmm.program import Addr, Object, Space, TensorMap
from ptxmm.syntax.lit_reader import Reader, constant
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, Node
from ptxmm.syntax.lit_values import Value

ELEMENTS = {".mbarrier": (Type("b", 64), 1), ".tensormap": (Type("b", 64), 16)}
"""How one object whose content only instructions of its own read lies in memory: its elements, and how many."""

LEAST, MOST = 1, (1 << 20) - 1


def kind_of(declaration: Item) -> str | None:
    """`.mbarrier` or `.tensormap`, where a declaration declares these."""
    words = (str(part.words[0]) for part in declaration.steps if part.kind == "dotted")
    return next((word for word in words if word in ELEMENTS), None)


def arrivals(source: Source, head: str, item: Item) -> int:
    """How many arrivals a declared mbarrier expects a phase."""
    name = item.words[0]
    if head != ".shared":
        hint = f"write `.shared @ d0.c0.b0 .mbarrier {name}(1);`"
        raise source.error("an mbarrier is in shared memory", item.start, item.end, hint)
    counts = [part for part in item.steps if part.kind == "count"]
    if len(counts) != 1:
        hint = f"write `.mbarrier {name}(1)`"
        raise source.error(f"how many arrivals does `{name}` expect?", item.start, item.end, hint)
    node = counts[0].exprs[0]
    count = constant(Reader(source, _no_names), node, "the count of an mbarrier")
    if not LEAST <= count <= MOST:
        message = f"an mbarrier cannot count {count} arrivals"
        raise source.error(message, node.start, node.end, "a number from 1 to 2^20-1")
    return count


def alone(source: Source, kind: str, item: Item) -> None:
    """Insist that a tensor map is declared by itself with what it maps, and that an mbarrier has no first value."""
    name = item.words[0]
    if kind == ".tensormap" and not any(part.kind == "mapped" for part in item.steps):
        raise source.error(f"what does `{name}` map?", item.start, item.end, f"write `.tensormap {name} -> x;`")
    allowed = {"placed", "mapped"} if kind == ".tensormap" else {"placed", "count", "length"}
    for part in item.steps:
        if part.kind in allowed:
            continue
        message, hint = f"a `{kind}` has no first value", f"write `.mbarrier {name}(1)`"
        if kind == ".tensormap":
            message, hint = "a `.tensormap` is no array", "declare each one by its name"
        raise source.error(message, item.start, item.end, hint)


def mapped(source: Source, obj: Object, item: Item, held: Callable[[str], Object | None], names: set[str]) -> Object:
    """A tensor map with what it maps: all of an object in global memory, or a box from its start."""
    token = item.words[0]
    target, at = str(token), (item.start, item.end)
    found = held(target)
    if found is None:
        hint = near(target, names) or f"declare it: `.global .u32 {target}[4];`"
        raise source.error(f"unknown location `{target}`", *at, hint)
    if found.space is not Space.GLOBAL:
        hint = f"`{target}` is declared `.{found.space}`"
        raise source.error("a tensor map points to global memory", *at, hint)
    box, acquired = found.size, False
    for option in item.steps:
        word, where = str(option.words[0]), (option.start, option.end)
        if word == "acquired" and not option.exprs:
            acquired = True
        elif word == "box" and option.exprs:
            box = _box(source, target, found, option)
        else:
            raise source.error(f"unknown `{word}` of a tensor map", *where, "there are `box(64)` and `acquired`")
    first = (Addr(target), *obj.init[1:])
    return replace(obj, init=first, tensormap=TensorMap(target, box, acquired))


def _box(source: Source, target: str, found: Object, option: Item) -> int:
    node = option.exprs[0]
    box = constant(Reader(source, _no_names), node, "the size of a box")
    if not 0 < box <= found.size:
        message = f"a box of {box} bytes does not lie in `{target}`"
        raise source.error(message, node.start, node.end, f"`{target}` has {found.size} bytes")
    return box


def _no_names(reader: Reader, node: Node) -> Value:
    raise _nameless(reader.source, node)


def _nameless(source: Source, node: Node) -> InputError:
    return source.error(f"`{node.text or '['}` is no number", node.start, node.end)
