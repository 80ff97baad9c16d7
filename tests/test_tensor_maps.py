"""Where the bytes of a box lie, and what a changed tensor map says of it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from ptxmm.boxes import stretches
from ptxmm.enumeration.tiles import elements
from ptxmm.syntax.lit import read
from ptxmm.tensor_maps import FIRST, WORDS, Shape, shape_of

INNER = some.sampled_from((4, 8))


@some.composite
def boxes(draw: some.DrawFn) -> tuple[Shape, tuple[int, ...]]:
    """A shape of up to three dimensions, with or without gaps between rows, and the corner of a box."""
    rank = draw(some.integers(1, 3))
    dims = tuple(draw(some.integers(1, 9)) for _ in range(rank))
    box = (draw(INNER), *(draw(some.integers(1, 3)) for _ in range(rank - 1)))
    strides, size = [], 4 * dims[0]
    for side in dims[1:]:
        strides.append(-(-size // 16) * 16 + 16 * draw(some.integers(0, 1)))
        size = side * strides[-1]
    corner = tuple(draw(some.integers(-4, 9)) for _ in range(rank))
    return Shape(4, dims, box, tuple(strides)), corner


@given(boxes())
def test_the_stretches_of_a_box_are_its_elements_in_order(box: tuple[Shape, tuple[int, ...]]) -> None:
    shape, corner = box
    found = [
        None if one.there is None else one.there + step
        for one in stretches(shape, corner)
        for step in range(0, one.bytes, shape.element)
    ]
    assert found == list(elements(shape, corner))
    assert len(found) * shape.element == shape.bytes


@given(boxes())
def test_stretches_are_as_long_as_they_may_be_and_leave_no_gap(box: tuple[Shape, tuple[int, ...]]) -> None:
    found = stretches(*box)
    assert [one.at for one in found] == [sum(o.bytes for o in found[:n]) for n in range(len(found))]
    for one, other in pairwise(found):
        assert other.there != (None if one.there is None else one.there + one.bytes)


def test_every_field_of_every_dimension_has_a_word_of_its_own() -> None:
    shape = Shape(4, (8, 4, 2, 2, 2), (4, 2, 1, 1, 1), (32, 128, 256, 512))
    words = shape.words()
    assert len(words) == 14
    assert set(words) == set(range(1, WORDS - 1))
    assert FIRST["global_address"] not in words


def test_a_copy_finds_the_shape_whose_words_it_reads() -> None:
    shape = Shape(4, (8, 4), (4, 2), (32,))
    assert shape.changed({}) == shape
    assert shape.changed({FIRST["box_dim"] + 1: 4}) == Shape(4, (8, 4), (4, 4), (32,))
    assert shape.changed({FIRST["global_dim"]: 6, FIRST["global_stride"]: 64}) == Shape(4, (6, 4), (4, 2), (64,))


def test_a_map_without_dimensions_has_one() -> None:
    text = "ptx t .global .u32 x[8]; .global .tensormap D -> x box(16); thread A @ d0.c0.b0 { } exists (x == 0)"
    (program,) = read(text, "")
    described = program.physical("D").tensormap
    assert described is not None
    assert shape_of(program, described) == Shape(4, (8,), (4,))


def test_what_no_map_may_be_is_told() -> None:
    assert Shape(4, (8, 4), (0, 2), (32,)).wrong == "has a box of 0 by 2 elements, and each side is 1 to 256"
    assert Shape(4, (8,), (3,)).wrong == "has a box of 12 bytes in its first dimension, no multiple of 16"
    assert Shape(4, (8, 4), (4, 2), (20,)).wrong == "has a stride that is no multiple of 16"
    assert not Shape(4, (8, 4), (4, 2), (32,)).wrong
