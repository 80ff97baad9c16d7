"""Where the bytes of a box lie, and what a changed tensor map says of it."""

from __future__ import annotations

from itertools import pairwise, product
from types import ModuleType

import pytest
from building import model
from hypothesis import given
from hypothesis import strategies as some

from ptxmm import check, enumeration
from ptxmm.boxes import stretches
from ptxmm.enumeration.tiles import behind, elements
from ptxmm.errors import InputError
from ptxmm.options import Options
from ptxmm.program import Program
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


@given(boxes())
def test_a_store_may_reach_what_shares_16_bytes_with_the_end_of_a_row(box: tuple[Shape, tuple[int, ...]]) -> None:
    shape, (first, *others) = box
    corner = (first - first % 4, *others)
    found = stretches(shape, corner, stores=True)
    padding = [(one.at // 4, one.there, one.bytes // 4) for one in found if one.padding]
    assert padding == list(behind(shape, corner))
    inside = [None if one.there is None or one.padding else one.there + k for one in found for k in range(one.bytes)]
    assert inside == [at if at is None else at + k for at in elements(shape, corner) for k in range(4)]


def test_a_store_reaches_nothing_else_where_rows_end_at_a_multiple_of_16_bytes() -> None:
    assert not any(one.padding for one in stretches(Shape(4, (8, 4), (8, 2), (32,)), (4, 3), stores=True))
    assert not any(one.padding for one in stretches(Shape(4, (6, 4), (4, 2), (32,)), (0, 0), stores=True))
    assert not any(one.padding for one in stretches(Shape(4, (6, 4), (4, 2), (32,)), (8, 0), stores=True))


PADDED = """ptx padded
.global .%s a[%d] = {%s};
.global .tensormap D -> a dims(%s) box(%s)%s acquired;
.shared @ d0.c0.b0 .%s s[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
thread A @ d0.c0.b0 {
    %s.shared::cta%s.tile.bulk_group [D, {%s}], [s];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
}
locations [%s]
"""
STORE, ADD = ("cp.async.bulk.tensor.%dd.global", ""), ("cp.reduce.async.bulk.tensor.%dd.global", ".add")
CHECKED = Options(frozenset({"race", "undefined"}))
ENGINES = pytest.mark.parametrize("engine", [check, enumeration], ids=["solver", "enumeration"])


def padded(copy: tuple[str, str], dims: str, box: str, corner: str, shown: str, size: int, strides: str = "",
           kind: str = "u32") -> Program:  # fmt: skip
    """A store or a reduction of a box, and some elements of the array afterwards, which are 100 before."""
    name, op = copy
    (program,) = read(PADDED % (kind, size, ", ".join(["100"] * size), dims, box, strides, kind,
                                name % (corner.count(",") + 1), op, corner, shown), "padded.lit")  # fmt: skip
    return program


def finals(engine: ModuleType, program: Program) -> set[tuple[int, ...]]:
    found = engine.outcomes(program, model("ptx-9.4"), Options())
    assert found.complete
    return {state.values for state in found.states}


@ENGINES
@pytest.mark.parametrize(("copy", "rows"), [
    (STORE, ({(2, 3, 4), (100, 100, 100)}, {(10, 11, 12), (100, 100, 100)})),
    (ADD, ({(102, 103, 104), (100, 100, 100)}, {(110, 111, 112), (100, 100, 100)})),
], ids=["store", "reduction"])  # fmt: skip
def test_each_row_may_be_written_up_to_16_bytes_or_end_where_the_array_does(
    engine: ModuleType, copy: tuple[str, str], rows: tuple[set[tuple[int, ...]], ...]
) -> None:
    program = padded(copy, "5, 2", "8, 2", "4, 0", "a[5]; a[6]; a[7]; a[17]; a[18]; a[19]", 24, " strides(48)")
    assert finals(engine, program) == {one + other for one, other in product(*rows)}


@ENGINES
def test_bytes_fill_16_bytes_as_larger_elements_do(engine: ModuleType) -> None:
    program = padded(STORE, "18", "32", "0", "a[17]; a[18]; a[31]", 32, kind="u8")
    assert finals(engine, program) == {(0, 0, 0), (0, 100, 100)}


@ENGINES
@pytest.mark.parametrize(("size", "undefined"), [(7, "yes"), (8, "no")])
def test_a_store_that_may_write_behind_an_object_is_undefined(engine: ModuleType, size: int, undefined: str) -> None:
    program = padded(STORE, "5", "8", "0", "a[4]", size)
    result = engine.check(program, model("ptx-9.4"), CHECKED)
    assert result.undefined.verdict == undefined
    if size == 7:
        assert "may write behind the end of a row, to fill 16 bytes" in result.undefined.why
    assert finals(engine, program) == {(5,)}


REPLACED = """ptx replaced
.global .u32 a[16]; .global .u32 b[16];
.global .tensormap D -> a dims(8, 2) box(4, 1) strides(32);
.shared @ d0.c0.b0 .u32 s[4] = {1, 2, 3, 4};
thread A @ d0.c0.b0 {
    st.weak.global.u64 [D], b;
    tensormap.replace.tile.global_dim.global.b1024.b32 [D], 0, 6;
    ld.weak.global.u64 r, [D];
    fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [D], 128;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {4, 0}], [s];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
}
thread B @ d0.c0.b0 { %s }
locations [A.r; b[5]; b[6]]
"""


@ENGINES
def test_a_replacement_writes_the_rest_of_its_map_as_it_was(engine: ModuleType) -> None:
    (program,) = read(REPLACED % "", "replaced.lit")
    address = program.addresses["b"]
    assert finals(engine, program) == {(address, 2, 0), (address, 2, 3)}
    result = engine.check(program, model("ptx-9.4"), CHECKED)
    assert result.race.verdict == "no"


@ENGINES
@pytest.mark.parametrize("other", [
    "tensormap.replace.tile.global_address.global.b1024.b64 [D], a;",
    "tensormap.replace.tile.box_dim.global.b1024.b32 [D], 1, 1;", "ld.weak.global.u64 q, [D+40];",
])  # fmt: skip
def test_replacements_are_accesses_of_whole_maps(engine: ModuleType, other: str) -> None:
    (program,) = read(REPLACED % other, "replaced.lit")
    assert engine.check(program, model("ptx-9.4"), CHECKED).race.verdict == "yes"


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


@pytest.mark.parametrize(("shape", "wrong"), [
    (Shape(4, (8, 4), (4, 2), (16,)), "a stride of 16 bytes over a part of 32 bytes"),
    (Shape(4, (4, 2, 2), (4, 2, 2), (16, 16)), "a stride of 16 bytes over a part of 32 bytes"),
    (Shape(4, (4, 2, 2), (4, 2, 2), (0, 32)), "a stride of 0 bytes over a part of 16 bytes"),
    (Shape(4, (4, 2, 3), (4, 2, 2), (48, 16)), ""),
    (Shape(4, (8, 1), (4, 1), (16,)), ""),
    (Shape(4, (4, 4, 2), (4, 2, 2), (16, 64)), ""),
])  # fmt: skip
def test_elements_of_a_map_do_not_overlap_in_whatever_order_its_dimensions_are(shape: Shape, wrong: str) -> None:
    assert shape.wrong == (f"has {wrong}, so that elements overlap" if wrong else "")


SHORTENED = """ptx shortened
.global .u32 a[16] = {1, 2, 3, 4, 5, 6, 7, 8}; .shared @ d0.c0.b0 .u32 s[8]; .shared @ d0.c0.b0 .mbarrier m(1);
.global .tensormap D -> a dims(8, 2) box(4, 2) strides(%s) acquired;
thread A @ d0.c0.b0 {
    tensormap.replace.tile.global_stride.global.b1024.b64 [D], 0, %s;
    fence.proxy.tensormap::generic.release.cta; fence.proxy.tensormap::generic.acquire.cta [D], 128;
    mbarrier.arrive.expect_tx _, [m], 32;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [D, {0, 0}], [m];
    await mbarrier.try_wait.parity [m], 0;
    ld.weak.shared::cta.u32 r, [s+16];
}
exists (A.r == 5)
"""


@ENGINES
@pytest.mark.parametrize(("stride", "undefined"), [("16", "yes"), ("32", "no")])
def test_a_copy_through_a_map_whose_rows_were_made_to_overlap_is_undefined(
    engine: ModuleType, stride: str, undefined: str
) -> None:
    (program,) = read(SHORTENED % ("32", stride), "t.lit")
    assert engine.check(program, model("ptx-9.4"), CHECKED).undefined.verdict == undefined


def test_a_map_that_is_declared_with_rows_that_overlap_is_an_error() -> None:
    with pytest.raises(InputError, match="has a stride of 16 bytes over a part of 32 bytes, so that elements overlap"):
        read(SHORTENED % ("16", "32"), "t.lit")
