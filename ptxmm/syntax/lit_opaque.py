"""Declarations of mbarriers and tensor maps: `.mbarrier m(2)`, an array `m[4](2)`, and `.tensormap D -> x box(64)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ptxmm import tensor_maps
from ptxmm.arith import Type
from ptxmm.errors import InputError, near
from ptxmm.program import Addr, Const, Object, Space, TensorMap
from ptxmm.syntax.lit_reader import Reader, constant
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, Node
from ptxmm.syntax.lit_values import Value
from ptxmm.tensor_maps import Shape

ELEMENTS = {".mbarrier": (Type("b", 64), 1), ".tensormap": (Type("b", 64), 16)}
"""How one object whose content only instructions of its own read lies in memory: its elements, and how many."""

LEAST, MOST = 1, (1 << 20) - 1
DIMENSIONS = 5
SIDES = {"dims": "a dimension", "box": "the size of a box", "strides": "a stride"}


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
    given, acquired = dict[str, tuple[int, ...]](), False
    for option in item.steps:
        word, where = str(option.words[0]), (option.start, option.end)
        if word == "acquired" and not option.exprs:
            acquired = True
        elif word in SIDES and option.exprs and word not in given:
            given[word] = tuple(constant(Reader(source, _no_names), node, SIDES[word]) for node in option.exprs)
        else:
            hint = "there are `dims(8, 4)`, `box(4, 2)`, `strides(32)` and `acquired`"
            raise source.error(f"unknown `{word}` of a tensor map", *where, hint)
    if "dims" in given:
        described = _shaped(source, at, target, found, given)
    elif "strides" in given or len(given.get("box", ())) > 1:
        raise source.error(f"how many elements has `{target}` in each dimension?", *at, "write `dims(8, 4)`")
    else:
        described = TensorMap(target, _box(source, item, found, given))
        if wrong := tensor_maps.shape(described, found.type.size, found.length).wrong:
            hint = "without `box`, it is the whole array" if "box" not in given else ""
            raise source.error(f"this tensor map {wrong}", *at, hint)
    described = replace(described, acquired=acquired)
    words = tensor_maps.words_of(described, found.type.size, found.length)
    rest = tuple(Const(words.get(at, 0)) for at in range(1, tensor_maps.WORDS))
    return replace(obj, init=(Addr(target), *rest), tensormap=described)


def _box(source: Source, item: Item, found: Object, given: dict[str, tuple[int, ...]]) -> int:
    if "box" not in given:
        return found.size
    (box,) = given["box"]
    node = next(option.exprs[0] for option in item.steps if str(option.words[0]) == "box")
    if not 0 < box <= found.size:
        message = f"a box of {box} bytes does not lie in `{found.name}`"
        raise source.error(message, node.start, node.end, f"`{found.name}` has {found.size} bytes")
    if box % found.type.size:
        hint = f"the elements of `{found.name}` have {found.type.size} bytes"
        raise source.error(f"a box of {box} bytes is no whole elements", node.start, node.end, hint)
    return box


def _shaped(source: Source, at: tuple[int, int], target: str, found: Object,
            given: dict[str, tuple[int, ...]]) -> TensorMap:  # fmt: skip
    """A map of so many dimensions: its box is the whole array unless one is given, and the strides leave no gaps."""
    dims, element = given["dims"], found.type.size
    box = given.get("box", dims)
    packed = tuple(element * prod(dims[: k + 1]) for k in range(len(dims) - 1))
    strides = given.get("strides", packed)
    if not 0 < len(dims) <= DIMENSIONS or min(dims) < 1:
        raise source.error("a tensor has 1 to 5 dimensions of at least one element", *at)
    if len(box) != len(dims) or len(strides) != len(dims) - 1:
        hint = f"`dims` has {len(dims)}: `box` has as many, `strides` one less"
        raise source.error("the dimensions of a tensor map do not fit together", *at, hint)
    if wrong := Shape(element, dims, box, strides).wrong:
        raise source.error(f"this tensor map {wrong}", *at)
    size = element * dims[0] + sum((d - 1) * s for d, s in zip(dims[1:], strides, strict=True))
    if size > found.size:
        message = f"a tensor of {size} bytes does not lie in `{found.name}`"
        raise source.error(message, *at, f"`{found.name}` has {found.size} bytes")
    return TensorMap(target, element * prod(box), False, dims, box, strides)


def _no_names(reader: Reader, node: Node) -> Value:
    raise _nameless(reader.source, node)


def _nameless(source: Source, node: Node) -> InputError:
    return source.error(f"`{node.text or '['}` is no number", node.start, node.end)
