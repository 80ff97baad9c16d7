"""How much of a test fits in one place on a GPU, and where addresses of its memory come from."""

from __future__ import annotations

import pytest
from machine.runs import seen, states

from ptxmm.errors import Unsupported
from ptxmm.gpu.layout import MOST_SHARED, WARP, layout
from ptxmm.gpu.source import kernel
from ptxmm.program import Addr, Program
from ptxmm.syntax.lit import read


def only(text: str) -> Program:
    (program,) = read(text, "t.lit")
    return program


def adders(places: list[str], objects: str = "") -> Program:
    """A test in which a thread at each place adds to a word."""
    threads = "\n".join(
        f"thread T{n} @ {at} {{ red.relaxed.gpu.global.add.u32 [x], 1; }}" for n, at in enumerate(places)
    )
    return only(f"ptx adders\n.global .u32 x; {objects}\n{threads}\nforall (x == {len(places)})")


@pytest.mark.parametrize(("places", "reason"), [
    (["d0.c0.b0"] * 33, r"a CTA of 1,056 threads, .* and a GPU has 1,024"),
    ([f"d0.c0.b{n}" for n in range(9)], "a cluster of 9 CTAs, and every GPU with clusters takes 8"),
])  # fmt: skip
def test_what_no_gpu_has_in_one_place_is_unsupported(places: list[str], reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        layout(adders(places))
    assert layout(adders(places[1:])).warps <= 32


@pytest.mark.parametrize(("size", "packed", "teams"), [
    (16, True, 8), (896, True, 8), (1024, True, 7), (6 << 10, True, 1), (8 << 10, False, 8), (64 << 10, False, 3),
    (227 << 10, False, 1),
])  # fmt: skip
def test_as_many_copies_lie_side_by_side_as_shared_memory_has_room_for(size: int, packed: bool, teams: int) -> None:
    found = layout(adders(["d0.c0.b0"], f".shared @ d0.c0.b0 .u64 s[{size // 8}];"))
    assert (found.packed, found.teams) == (packed, teams)
    assert found.slot <= MOST_SHARED < found.slot + found.shared_size * (WARP if packed else 1) or teams == 8


def test_more_shared_memory_than_a_cta_has_is_unsupported() -> None:
    objects = " ".join(f".shared @ d0.c0.b0 .u64 s{n}[10000];" for n in range(3))
    with pytest.raises(Unsupported, match="a CTA with 240,000 bytes of shared memory, and a GPU has 232,448"):
        layout(adders(["d0.c0.b0"], objects))


def test_a_test_with_much_shared_memory_is_played_one_copy_at_a_time() -> None:
    test = only("""ptx much
        .shared @ d0.c0.b0 .u64 s[2000] = {3};
        thread A @ d0.c0.b0 { ld.weak.shared.u64 r, [s]; st.weak.shared.u64 [s[1999]], r; }
        exists (A.r == 3 && s[1999] == 3)""")
    (counted,) = seen(test, passes=1)
    assert counted.holding == counted.instances > 0


POINTS = """ptx points
.global .u32 x[4] = {{1, 2, 3, 4}}; .alias y = x; {objects}
thread A @ d0.c0.b0 {{ {code} }}
exists (A.p == &y && A.r == 2)
"""


@pytest.mark.parametrize("objects", [".global .u64 q = &y;", ".shared @ d0.c0.b0 .u64 q[2] = {&y, &x};"])
def test_a_pointer_that_memory_holds_at_first_is_to_the_address_that_it_names(objects: str) -> None:
    test = only(POINTS.format(objects=objects, code="ld.weak.u64 p, [q]; ld.weak.u32 r, [p+4];"))
    assert states(seen(test, warps=1)[0]) == {(test.address(Addr("y")), 2)}


MAPPED = "{space} .tensormap D -> y; .shared @ d0.c0.b0 .u32 s[4]; .shared @ d0.c0.b0 .mbarrier m(1);"
COPIED = """mbarrier.arrive.expect_tx _, [m], 16; p = &y;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [D, {0}], [m];
    await mbarrier.try_wait.parity [m], 0; ld.weak.shared.u32 r, [s+4];"""


def test_a_tensor_map_may_point_to_the_second_address_of_its_array() -> None:
    test = only(POINTS.format(objects=MAPPED.format(space=".global").replace("-> y", "-> y acquired"), code=COPIED))
    assert states(seen(test, warps=1)[0]) == {(test.address(Addr("y")), 2)}


def test_a_tensor_map_that_is_a_parameter_points_to_the_first_address_of_its_array() -> None:
    with pytest.raises(Unsupported, match="as a kernel parameter that points to the second address of its array"):
        kernel(only(POINTS.format(objects=MAPPED.format(space=".param"), code=COPIED)))
