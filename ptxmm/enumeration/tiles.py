"""Copies through tensor maps: the words of a map that they read, and where each element of a box is.

What a store may write behind the last element of a row, the rest of 16 bytes, it writes or not (A29).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, product

from ptxmm.arith import signed, wrap
from ptxmm.enumeration.legs import WORD, Undefined, Value, leg, place, stays
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.pieces import Leg
from ptxmm.program import AsyncCopy, Program, TensorMap, Thread
from ptxmm.tensor_maps import INNER, Shape, fills, replaced, shape_of

TILE = 128
"""What an address in shared memory must be a multiple of: CUDA Programming Guide, alignment of bulk tensor copies."""


def looked_at(program: Program, at: Spot) -> dict[int, Spot]:
    """The words of the map at a spot that a copy reads: its address, and those that the test replaces."""
    return {word: replace(at, offset=at.offset + word * WORD) for word in (0, *replaced(program))}


@dataclass(frozen=True, slots=True)
class Rest:
    """What a store may write behind the last elements of a row, or not: the rest of 16 bytes, at an address."""

    source: Spot
    address: int

    def leg(self, program: Program, thread: Thread, item: AsyncCopy) -> Leg:
        """The way there."""
        try:
            target = place(program, thread, self.address, self.source.size, 1, writes=True)
        except Undefined as error:
            raise Undefined(f"may write behind the end of a row, to fill {INNER} bytes, and so {error}") from error
        return leg(program, item, self.source, target, self.source.size)


@dataclass(frozen=True, slots=True)
class Box:
    """The ways of a box, how many bytes it has in all, and what may be written besides."""

    bytes: int
    ways: list[Leg] = field(default_factory=list)
    rests: list[Rest] = field(default_factory=list)


def boxed(program: Program, thread: Thread, item: AsyncCopy, value: Value, declared: TensorMap,
          words: dict[int, int]) -> Box:  # fmt: skip
    """What is copied of a box whose map holds these words."""
    usual = shape_of(program, declared)
    shape = usual.changed(words)
    if shape != usual and shape.wrong:
        raise Undefined(shape.wrong)
    loads = item.destination is not None
    inside = item.destination if item.destination is not None else item.source
    assert inside is not None
    near = place(program, thread, value(inside), shape.bytes, TILE, writes=loads)
    first = corner(item, value, shape)
    if not loads and any(one < 0 for one in first):
        raise Undefined("stores a box that begins below 0 in a dimension")
    if any(one % INNER for one in (first[0] * shape.element, words[0])):
        raise Undefined(f"goes to a box that begins at no multiple of {INNER} bytes")
    box, at = Box(shape.bytes), 0
    for outside, run in groupby(runs(shape, first), lambda run: run[0] is None):
        for start, count in run:
            size = count * shape.element
            beside = replace(near, offset=near.offset + at, size=size)
            at += size
            if start is not None:
                far = place(program, thread, words[0] + start, size, 1, writes=not loads)
                source, target = (far, beside) if loads else (beside, far)
                stays(program, thread, item, source, target)
                box.ways.append(leg(program, item, source, target, size))
            elif loads:
                box.ways.append(leg(program, item, beside, beside, 0))
        if outside and loads and fills(program):
            raise GaveUp("this engine does not follow `.fill_mode`")
    if not loads:
        for number, start, count in behind(shape, first):
            source = replace(near, offset=near.offset + number * shape.element, size=count * shape.element)
            box.rests.append(Rest(source, words[0] + start))
    return box


def corner(item: AsyncCopy, value: Value, shape: Shape) -> tuple[int, ...]:
    """The first element of a box in each dimension."""
    numbers = [signed(wrap(value(one), 32), 32) for one in item.coordinates] or [0]
    if len(numbers) < len(shape.dims) or any(numbers[len(shape.dims) :]):
        raise GaveUp("this engine follows no copy with another number of coordinates than its map has dimensions")
    return tuple(numbers[: len(shape.dims)])


def runs(shape: Shape, first: tuple[int, ...]) -> Iterator[tuple[int | None, int]]:
    """Elements of a box that follow one another in the array too: where they start there, and how many they are."""
    start, count, following = None, 0, False
    for place_ in elements(shape, first):
        here = place_ is None if start is None else place_ == start + count * shape.element
        if following and here:
            count += 1
            continue
        if following:
            yield start, count
        start, count, following = place_, 1, True
    if following:
        yield start, count


def behind(shape: Shape, first: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """The elements of a box that share 16 bytes with the last one of a row of the array, and are behind it.

    For each row the number of the first of them in the box, its offset from the start of the array, and their count.

    >>> list(behind(Shape(4, (6, 2), (4, 2), (32,)), (4, 0)))
    [(2, 24, 2), (6, 56, 2)]
    """
    width, last = shape.box[0], shape.dims[0] - 1
    chunk = [
        at for at in range(width)
        if first[0] + at > last and (first[0] + at) * shape.element // INNER == last * shape.element // INNER
    ]  # fmt: skip
    for number, sides in enumerate(product(*(range(side) for side in reversed(shape.box[1:])))):
        where = [begin + side for begin, side in zip(first[1:], reversed(sides), strict=True)]
        if chunk and all(0 <= one < most for one, most in zip(where, shape.dims[1:], strict=True)):
            start = sum(one * step for one, step in zip(where, shape.strides, strict=True))
            yield number * width + chunk[0], start + (first[0] + chunk[0]) * shape.element, len(chunk)


def elements(shape: Shape, first: tuple[int, ...]) -> Iterator[int | None]:
    """The offset of each element of a box in the array, in the order of shared memory; None outside of it."""
    steps = (shape.element, *shape.strides)
    for sides in product(*(range(side) for side in reversed(shape.box))):
        where = [begin + side for begin, side in zip(first, reversed(sides), strict=True)]
        if all(0 <= one < most for one, most in zip(where, shape.dims, strict=True)):
            yield sum(one * step for one, step in zip(where, steps, strict=True))
        else:
            yield None
