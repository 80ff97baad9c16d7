"""Tensor maps of kernels: what the driver is asked for, and what copies through them move on the tests' machine."""

from __future__ import annotations

import pytest
from machine.runs import device, seen, states

from ptxmm.arith import Type
from ptxmm.enumeration.tiles import elements
from ptxmm.errors import Unsupported
from ptxmm.gpu.maps import MAP_BYTES, Described, described, encoded
from ptxmm.gpu.parameters import ROOM
from ptxmm.gpu.source import kernel
from ptxmm.program import Program
from ptxmm.syntax.lit import read
from ptxmm.tensor_maps import Shape

LOADED = """ptx loaded
.global .u32 a[48] = {%s};
.global .tensormap D -> a %s acquired;
.shared @ d0.c0.b0 .mbarrier m(1);
.shared @ d0.c0.b0 .u32 s[16] = {99};
thread A @ d0.c0.b0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], %d;
    cp.async.bulk.tensor.%dd.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [D, {%s}], [m];
    await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;
}
locations [%s]
"""
REDUCED = """ptx reduced
.global .%s a[8] = {5, 5, 5, 5, 5, 5, 5, 5};
.global .tensormap D -> a dims(4, 2) box(4, 1) acquired;
.shared @ d0.c0.b0 .%s s[4] = {-1, -1, -1, -1};
thread A @ d0.c0.b0 {
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group [D, {0, 1}], [s];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
}
locations [a[0]; a[4]]
"""
PADDED = """ptx padded
.global .u32 a[24];
.global .tensormap D -> a dims(5, 2) box(8, 2) strides(48) acquired;
.shared @ d0.c0.b0 .u32 s[16] = {1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0};
thread A @ d0.c0.b0 {
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {4, 0}], [s];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
}
locations [a[4]; a[5]; a[6]; a[7]; a[8]; a[16]; a[17]; a[18]; a[19]; a[20]]
"""
GIVEN = """ptx given
.global .u32 other;
.global .u32 a[4];
.param .tensormap P -> a;
.param .tensormap Q -> a;
.shared @ d0.c0.b0 .u32 s[4] = {1, 2, 3, 4};
thread A @ d0.c0.b0 { %s }
locations [a[0]; a[3]]
"""
STORED = """
    cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%s, {0}], [s];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
"""
BOXES = {
    "inside": (Shape(4, (8, 6), (4, 2), (32,)), (4, 1)),
    "over an edge": (Shape(4, (6, 3), (4, 2), (48,)), (4, 2)),
    "below 0": (Shape(4, (8, 3), (4, 3), (48,)), (0, -1)),
    "outside": (Shape(4, (8, 6), (4, 2), (32,)), (8, 0)),
    "three dimensions": (Shape(4, (4, 2, 3), (4, 2, 2), (16, 64)), (0, 1, 1)),
    "five dimensions": (Shape(4, (4, 2, 2, 1, 3), (4, 1, 2, 1, 2), (16, 32, 64, 64)), (0, 1, 1, 0, 1)),
}


def only(text: str) -> Program:
    (program,) = read(text, "test.lit")
    return program


def listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


@pytest.mark.parametrize("name", BOXES)
def test_a_box_is_loaded_row_by_row_with_zeros_for_what_lies_outside_the_array(name: str) -> None:
    shape, corner = BOXES[name]
    dims = f"dims({listed(shape.dims)}) box({listed(shape.box)}) strides({listed(shape.strides)})"
    count = shape.bytes // 4
    shown = "; ".join(f"s[{n}]" for n in range(count))
    text = LOADED % (listed(tuple(range(1, 49))), dims, shape.bytes, len(corner), listed(corner), shown)
    expected = tuple(0 if at is None else at // 4 + 1 for at in elements(shape, corner))
    assert states(seen(only(text), warps=1, passes=1)[0]) == {expected}


def test_a_store_fills_the_last_16_bytes_of_a_row_and_writes_nothing_behind_them() -> None:
    assert states(seen(only(PADDED), warps=1, passes=1)[0]) == {(1, 2, 3, 4, 0, 5, 6, 7, 8, 0)}


@pytest.mark.parametrize(("kind", "larger"), [("u32", 0xFFFFFFFF), ("s32", 5)])
def test_a_reduction_takes_elements_for_what_the_array_holds(kind: str, larger: int) -> None:
    assert states(seen(only(REDUCED % (kind, kind)), warps=1, passes=1)[0]) == {(5, larger)}


def test_each_copy_of_a_test_goes_through_a_kernel_parameter_of_its_own() -> None:
    test = only(GIVEN % (STORED % "P"))
    (counted,) = seen(test, multiprocessors=6, passes=2)
    assert states(counted) == {(1, 4)}
    assert 32 < counted.instances <= 2 * ROOM
    made = kernel(test)
    assert ".param .align 64 .b8 in0_parameter0[12288]" in made.text
    assert made.parameters == ((Described(2, Shape(4, (4,), (4,))), 1),)
    assert not made.maps


def test_a_control_has_parameters_of_its_own() -> None:
    test = only(GIVEN % (STORED % "P"))
    found = seen(test, only(GIVEN % (STORED % "P").replace("wait_group 0", "wait_group.read 0")), multiprocessors=6)
    assert [states(counted) for counted in found] == [{(1, 4)}, {(1, 4)}]


def test_a_control_that_goes_through_no_parameter_is_given_it_nevertheless() -> None:
    found = seen(only(GIVEN % (STORED % "P")), only(GIVEN % "st.weak.global.u32 [other], 1;"), multiprocessors=6)
    assert [states(counted) for counted in found] == [{(1, 4)}, {(0, 0)}]


@pytest.mark.parametrize(("code", "reason"), [
    (STORED % "P" + STORED % "Q", "several tensor maps that are kernel parameters"),
    ("ld.weak.param.u64 r, [P];", "uses kernel parameters otherwise"),
    ("mov.u64 r, &P;", "uses kernel parameters otherwise"),
])  # fmt: skip
def test_kernel_parameters_that_are_no_tensor_map_of_copies_are_refused(code: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        kernel(only(GIVEN % code))


def test_a_kernel_parameter_that_nothing_uses_is_none() -> None:
    assert (
        ".align"
        not in kernel(only(GIVEN % "st.weak.global.u32 [other], 1;")).text.split(".maxntid")[0].split("entry")[1]
    )


@pytest.mark.parametrize(("map_", "acquired"), [("[D, {0}]", 1), ("[d, {0}]", 2)])
def test_a_thread_acquires_before_each_round_every_map_that_it_may_go_through(map_: str, acquired: int) -> None:
    maps = ".global .tensormap D -> a acquired;\n.global .tensormap E -> a acquired;\nthread A"
    copy = f"mov.u64 d, &E; {STORED % 'D'}".replace("[D, {0}]", map_)
    made = kernel(only((GIVEN % copy).replace("thread A", maps)))
    before = made.text.split("ROLE0:")[1].split("MET_")[0]
    assert before.count("fence.proxy.tensormap::generic.acquire.gpu") == acquired


def test_a_map_is_encoded_with_all_its_dimensions_and_one_that_the_driver_refuses_is_a_failure_of_its_test() -> None:
    shape = Shape(4, (6, 2), (4, 2), (32,))
    with device():
        assert len(encoded(Described(2, shape), 0x7F0000000000)) == MAP_BYTES
        with pytest.raises(RuntimeError, match="the driver makes no tensor map"):
            encoded(Described(2, Shape(4, (6, 2), (3, 2), (32,))), 0x7F0000000000)


def test_elements_that_no_tensor_map_has_are_refused() -> None:
    test = only("ptx wide\n.global .b128 a[2];\n.global .tensormap D -> a;\nthread A @ d0.c0.b0 { }\nexists (0 == 0)")
    assert test.physical("a").type == Type("b", 128)
    with pytest.raises(Unsupported, match="elements of 16 bytes"):
        described(test, test.physical("D"))
