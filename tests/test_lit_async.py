"""Mbarriers, asynchronous copies and tensor maps in `.lit` tests: what they mean, how they print, what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from isa_forms import forms, lines

from ptxmm import isa_table_copies, isa_table_mbarrier, isa_table_proxies
from ptxmm.arith import PRED, U32, U64, Type
from ptxmm.cat import read_model
from ptxmm.check import check
from ptxmm.errors import InputError
from ptxmm.isa_form import Row
from ptxmm.options import Options
from ptxmm.program import (
    Addr,
    Assign,
    AsyncCopy,
    AsyncStore,
    Branch,
    Commit,
    Const,
    Elect,
    Fence,
    Foreign,
    GridDependency,
    Label,
    MbarrierArrive,
    MbarrierTx,
    MbarrierWait,
    Nop,
    Object,
    Order,
    Program,
    ProxyFence,
    Reg,
    Scope,
    Select,
    Space,
    Statement,
    Store,
    TensorMap,
    TensormapCopy,
    TensormapReplace,
    Unary,
    WaitGroup,
)
from ptxmm.spins import waiting
from ptxmm.syntax.lit import read
from ptxmm.syntax.print_lit import to_lit

GOLDEN = Path(__file__).parent / "golden" / "async_errors.txt"
TABLE = (*isa_table_mbarrier.ROWS, *isa_table_copies.ROWS, *isa_table_proxies.ROWS)
B64 = Type("b", 64)
MEMORY = """.global .u32 g[16]; .global .u32 x; .global .tensormap D -> g; .shared @ d0.c0.* .u32 s[16];
.shared @ d0.c0.* .mbarrier m(2); .shared @ d0.c0.b0 .b64 w; .shared @ d0.c0.b0 .tensormap E -> g;
"""
SMALL = ".global .u32 g[4]; .shared @ d0.c0.b0 .u32 s[4];\n"
M, S, G, D, E = Addr("m@b0"), Addr("s@b0"), Addr("g"), Addr("D"), Addr("E")
FAR, THERE = Addr("m@b1"), Addr("s@b1")


def written(line: str) -> str:
    return f"ptx t\n{MEMORY}thread A @ d0.c0.b0 {{\n    {line}\n}}\nthread B @ d0.c0.b1 {{ }}\n"


def program_of(line: str) -> Program:
    (program,) = read(written(line), "t.lit")
    return program


def body(line: str) -> tuple[Statement, ...]:
    return program_of(line).thread("A").body


def one(line: str) -> Statement:
    return body(line)[-1]


def declared(text: str, name: str) -> Object:
    (program,) = read(f"ptx t {text} thread A @ d0.c0.b0 {{ }} thread B @ d0.c0.b1 {{ }}", "t.lit")
    return next(obj for obj in program.objects if obj.name == name)


# --- memory ----------------------------------------------------------------------------------------------------------


def test_an_mbarrier_is_eight_bytes_of_shared_memory_with_a_count() -> None:
    found = declared(".shared @ d0.c0.b0 .mbarrier m(3);", "m")
    assert (found.type, found.size, found.space, found.mbarrier) == (B64, 8, Space.SHARED, 3)


def test_an_array_of_mbarriers_has_one_count_and_eight_bytes_for_each() -> None:
    found = declared(".shared @ d0.c0.b0 .mbarrier m[3](2);", "m")
    assert (found.size, found.length, found.mbarrier) == (24, 3, 2)
    (program,) = read("ptx t .shared @ d0.c0.b0 .mbarrier m[3](2); thread A @ d0.c0.b0 { }", "t.lit")
    assert ".mbarrier m[3](2);" in to_lit(program)


def test_each_cta_of_a_cluster_has_its_own_object_of_a_family() -> None:
    text = ".shared @ d0.c0.* .mbarrier m(1);"
    found = [declared(text, f"m@b{cta}") for cta in (0, 1)]
    assert [(o.family, o.mbarrier, o.owner and o.owner.cta) for o in found] == [("m", 1, 0), ("m", 1, 1)]
    assert declared(".shared @ d0.c0.b0 .u32 s;", "s").family is None


def test_a_tensor_map_is_128_bytes_that_start_with_the_address_of_what_it_maps() -> None:
    found = declared(".global .u32 x[8]; .global .tensormap D -> x;", "D")
    assert (found.size, found.init[0], found.init[1:3]) == (128, Addr("x"), (Const(8), Const(0)))
    assert found.tensormap == TensorMap("x", 32)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".global .tensormap D -> x box(16);", TensorMap("x", 16)),
        (".global .tensormap D -> x acquired;", TensorMap("x", 32, True)),
        (".param .tensormap D -> x box(16) acquired;", TensorMap("x", 16, True)),
        (".shared @ d0.c0.b0 .tensormap D -> x;", TensorMap("x", 32)),
        (".global .tensormap D -> x dims(4, 2);", TensorMap("x", 32, False, (4, 2), (4, 2), (16,))),
        (".global .tensormap D -> x dims(4, 2) box(4, 1) acquired;", TensorMap("x", 16, True, (4, 2), (4, 1), (16,))),
        (
            ".global .tensormap D -> x dims(3, 2) box(4, 1) strides(16);",
            TensorMap("x", 16, False, (3, 2), (4, 1), (16,)),
        ),
        (".alias y = x; .global .tensormap D -> y;", TensorMap("y", 32)),
    ],
)
def test_a_tensor_map_has_a_box_and_may_be_acquired(text: str, expected: TensorMap) -> None:
    assert declared(f".global .u32 x[8]; {text}", "D").tensormap == expected


# --- instructions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mbarrier.arrive [m];", MbarrierArrive(address=M)),
        ("mbarrier.arrive.release.cta.shared::cta.b64 t, [m], 2;", MbarrierArrive(address=M, count=Const(2), dst="t")),
        ("mbarrier.arrive.noComplete t, [m], 1;", MbarrierArrive(address=M, dst="t", completes=False)),
        (
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [m@b1];",
            MbarrierArrive(address=FAR, scope=Scope.CLUSTER),
        ),
        (
            "mbarrier.arrive_drop.expect_tx.relaxed.cluster _, [m], 32;",
            MbarrierArrive(address=M, expect=Const(32), drop=True, order=Order.RELAXED, scope=Scope.CLUSTER),
        ),
        ("mbarrier.expect_tx.relaxed.cta [m], 16;", MbarrierTx(address=M, bytes=Const(16), complete=False)),
        (
            "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [m@b1], 16;",
            MbarrierTx(address=FAR, bytes=Const(16), complete=True, scope=Scope.CLUSTER),
        ),
        ("mbarrier.test_wait.parity p, [m], 1;", MbarrierWait(dst="p", address=M, parity=Const(1), tries=False)),
        (
            "mbarrier.arrive t, [m]; mbarrier.try_wait.relaxed.cluster.b64 p, [m], t, 100;",
            MbarrierWait(dst="p", address=M, token=Reg("t"), order=Order.RELAXED, scope=Scope.CLUSTER),
        ),
    ],
)
def test_mbarrier_operations_release_and_acquire_in_the_cta_by_default(line: str, expected: Statement) -> None:
    assert one(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cp.async.ca.shared.global [s], [g], 8;", AsyncCopy(destination=S, source=G, size=Const(8), bulk=False)),
        (
            "cp.async.cg.shared.global [s], [g], 16, 4;",
            AsyncCopy(destination=S, source=G, size=Const(16), bulk=False, read=Const(4)),
        ),
        (
            "setp.eq.u32 p, 1, 1; cp.async.ca.shared.global [s], [g], 8, p;",
            AsyncCopy(
                destination=S, source=G, size=Const(8), bulk=False, read=Select(Reg("p"), Const(0), Const(8))
            ),
        ),
        (
            "cp.async.bulk.shared::cta.global.mbarrier [s], [g], 16, [m];",
            AsyncCopy(destination=S, source=G, size=Const(16), mbarrier=M),
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [g+16], [s], 32;",
            AsyncCopy(destination=Addr("g", 16), source=S, size=Const(32)),
        ),
        (
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s@b1], [s], 16, [m@b1];",
            AsyncCopy(destination=THERE, source=S, size=Const(16), mbarrier=FAR),
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier.multicast::cluster [s], [g], 16, [m], 3;",
            AsyncCopy(destination=S, source=G, size=Const(16), mbarrier=M, multicast=Const(3)),
        ),
        (
            "cp.async.bulk.relaxed.sys.global.shared::cta.bulk_group.b128 [g], [s], 16;",
            AsyncCopy(destination=G, source=S, size=Const(16), order=Order.RELAXED, scope=Scope.SYS),
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier [s], [D, {4}], [m];",
            AsyncCopy(destination=S, source=None, size=None, mbarrier=M, map=D, coordinates=(Const(4),)),
        ),
        (
            "cp.async.bulk.tensor.shared::cta.global.tile.mbarrier [s], [D], [m];",
            AsyncCopy(destination=S, source=None, size=None, mbarrier=M, map=D, coordinates=(Const(0),)),
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {0, 1}], [s];",
            AsyncCopy(destination=None, source=S, size=None, map=D, coordinates=(Const(0), Const(1))),
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [s], 16;",
            AsyncCopy(
                destination=G, source=S, size=Const(16), reduce="add", type=U32, order=Order.RELAXED, scope=Scope.SYS
            ),
        ),
        (
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile.bulk_group [D, {0}], [s];",
            AsyncCopy(
                destination=None, source=S, size=None, map=D, coordinates=(Const(0),), reduce="min",
                order=Order.RELAXED, scope=Scope.GPU,
            ),
        ),
        (
            "st.async.shared::cluster.mbarrier.u32 [s@b1], 7, [m@b1];",
            AsyncStore(values=(Const(7),), address=THERE, type=U32, mbarrier=FAR),
        ),
        (
            "st.async.release.gpu.global.u32 [x], 7;",
            AsyncStore(values=(Const(7),), address=Addr("x"), type=U32, order=Order.RELEASE, scope=Scope.GPU),
        ),
        (
            "red.async.relaxed.cluster.shared::cluster.mbarrier.add.u32 [s@b1], 1, [m@b1];",
            AsyncStore(
                values=(Const(1),), address=THERE, type=U32, mbarrier=FAR, op="add",
                order=Order.RELAXED, scope=Scope.CLUSTER,
            ),
        ),
        ("cp.async.bulk.commit_group;", Commit()),
        ("cp.async.commit_group;", Commit(bulk=False)),
        ("cp.async.bulk.wait_group.read 2;", WaitGroup(pending=2, read=True)),
        ("cp.async.wait_group 0;", WaitGroup(pending=0, bulk=False)),
        ("cp.async.wait_all;", WaitGroup(pending=None, bulk=False)),
    ],
)  # fmt: skip
def test_copies_go_where_their_spaces_say_and_complete_as_they_name(line: str, expected: Statement) -> None:
    assert one(line) == expected


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("[s], [g], 16, [m]", "shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m]"),
        ("[g], [s], 16", "global.shared::cta.bulk_group [g], [s], 16"),
        ("[s@b1], [s], 16, [m@b1]", "shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s@b1], [s], 16, [m@b1]"),
    ],
)
def test_the_spaces_of_a_bulk_copy_follow_from_the_declarations(short: str, whole: str) -> None:
    assert one(f"cp.async.bulk {short};") == one(f"cp.async.bulk.{whole};")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fence.proxy.async;", ProxyFence(kind="async")),
        ("fence.proxy.async.shared::cta;", ProxyFence(kind="async", space="shared::cta")),
        ("membar.proxy.async.global;", ProxyFence(kind="async", space="global")),
        (
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
            ProxyFence(kind="async", order=Order.RELEASE, scope=Scope.CLUSTER, window="shared::cta"),
        ),
        (
            "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;",
            ProxyFence(kind="async", order=Order.RELEASE, scope=Scope.CLUSTER, window="shared::cluster::read"),
        ),
        (
            "fence.proxy.tensormap::generic.release.gpu;",
            ProxyFence(kind="tensormap", order=Order.RELEASE, scope=Scope.GPU),
        ),
        (
            "fence.proxy.tensormap::generic.acquire.sys [D], 128;",
            ProxyFence(kind="tensormap", order=Order.ACQUIRE, scope=Scope.SYS, address=D),
        ),
        (
            "fence.mbarrier_init.release.cluster;",
            Fence(order=Order.RELEASE, scope=Scope.CLUSTER, window="mbarrier_init"),
        ),
        ("tensormap.replace.tile.global_address.shared::cta [E], x;", TensormapReplace(address=E, value=Addr("x"))),
        (
            "tensormap.replace.tile.box_dim.global.b1024.b32 [D], 1, 4;",
            TensormapReplace(address=D, value=Const(4), field="box_dim", ordinal=1),
        ),
        (
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [D], [E], 128;",
            TensormapCopy(destination=D, source=E, scope=Scope.GPU),
        ),
        ("elect.sync r0|p, 0xffffffff;", Elect(dst="r0", pred="p", mask=Const(0xFFFFFFFF))),
        ("elect.sync _|p;", Elect(dst=None, pred="p")),
        ("griddepcontrol.wait;", GridDependency(wait=True)),
        ("griddepcontrol.launch_dependents;", GridDependency(wait=False)),
        ("prefetch.tensormap [D];", Nop()),
        ("cp.async.bulk.prefetch.L2.global [g], 16;", Nop()),
        ("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [D, {0}];", Nop()),
    ],
)
def test_fences_of_proxies_tensor_maps_and_hints(line: str, expected: Statement) -> None:
    assert one(line) == expected


def test_results_are_tokens_predicates_and_lanes() -> None:
    line = "mbarrier.arrive t, [m]; mbarrier.test_wait p, [m], t; mbarrier.pending_count r, t; elect.sync l|e, -1;"
    expected = {"t": B64, "p": PRED, "r": U32, "l": U32, "e": PRED}
    assert program_of(line).thread("A").types == expected


def test_mapa_gives_the_address_in_the_cta_of_a_rank() -> None:
    assert one("mapa.shared::cluster.u64 r, s, 1;") == Assign(dst="r", value=THERE)
    assert one("mapa.u64 r, s + 4, 0;") == Assign(dst="r", value=Addr("s@b0", 4))
    assert one("ld.u32 k, [x]; mapa.u64 r, m, k; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r];") == (
        MbarrierArrive(address=Reg("r"), scope=Scope.CLUSTER)
    )
    assert program_of("mapa.u64 r, s, 1;").thread("A").types == {"r": U64}


# --- waits -----------------------------------------------------------------------------------------------------------


def test_an_await_is_a_loop_that_only_waits() -> None:
    label, test, back = body("await mbarrier.try_wait.parity.acquire.cta [m], 0;")
    assert isinstance(label, Label)
    assert isinstance(test, MbarrierWait)
    assert back == Branch(target=label.name, guard=Unary("!", Reg(str(test.dst)), PRED))
    assert waiting((label, test, back), {label.name: 0})
    assert "await" not in test.text
    assert back.text == "await mbarrier.try_wait.parity.acquire.cta [m], 0"


def test_an_await_may_name_its_predicate_and_have_a_guard() -> None:
    assert MbarrierWait(dst="q", address=M, parity=Const(0)) in body("await mbarrier.try_wait.parity q, [m], 0;")
    skip, *_, over = body("p = 1 == 1; @p await mbarrier.test_wait.parity [m], 0;")[1:]
    assert isinstance(skip, Branch)
    assert isinstance(over, Label)
    assert skip.target == over.name


def test_the_hidden_predicate_of_an_await_is_no_register_of_the_test() -> None:
    program = program_of("ld.u32 awaited_1, [x]; await mbarrier.try_wait.parity [m], 0;")
    assert program.thread("A").types["awaited_1"] == U32
    assert [t for name, t in program.thread("A").types.items() if name != "awaited_1"] == [PRED]


def test_a_loop_over_a_test_of_an_mbarrier_is_the_same_wait() -> None:
    loop = body("do { mbarrier.try_wait.parity.acquire.cta p, [m], 0; } while (!p);")
    awaited = body("await mbarrier.try_wait.parity.acquire.cta p, [m], 0;")
    assert [type(s) for s in loop] == [type(s) for s in awaited]
    assert loop[1] == awaited[1]
    labels = {loop[0].name: 0} if isinstance(loop[0], Label) else {}
    assert waiting(loop, labels)


@pytest.mark.parametrize("step", ["mbarrier.arrive _, [m];", "cp.async.bulk [g], [s], 16;", "griddepcontrol.wait;"])
def test_a_loop_that_arrives_or_copies_does_more_than_wait(step: str) -> None:
    loop = body(f"do {{ {step} mbarrier.try_wait.parity p, [m], 0; }} while (!p);")
    labels = {s.name: pc for pc, s in enumerate(loop) if isinstance(s, Label)}
    assert not waiting(loop, labels)


@pytest.mark.parametrize(("earlier", "waits"), [("[q], 128", False), ("[D], 128", True)])
def test_a_loop_that_leaves_the_map_of_its_next_fence_in_a_register_does_more_than_wait(
    earlier: str, waits: bool
) -> None:
    fence = f"fence.proxy.tensormap::generic.acquire.gpu {earlier};"
    code = body(f"mov.u64 q, D; do {{ {fence} mov.u64 q, E; mbarrier.try_wait.parity p, [m], 0; }} while (!p);")
    labels = {s.name: pc for pc, s in enumerate(code) if isinstance(s, Label)}
    assert bool(waiting(code, labels, frozenset())) is waits


# --- what no model has -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "dst"),
    [
        ("wgmma.fence.sync.aligned;", ()),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0, d1}, da, db, 1, 1, 1, 0, 0;", ("d0", "d1")),
        ("tcgen05.mma.cta_group::1.kind::f16 [t], a, b, i, p;", ()),
        ("multimem.ld_reduce.relaxed.sys.global.add.u32 r0, [x];", ("r0",)),
        ("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s], [m];", ()),
        ("mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [m], k;", ()),
        ("fence.proxy.generic::fabric.alias.release.sys;", ()),
        ("shfl.sync.idx.b32 r0|p, r1, 0, 31, -1;", ("r0", "p")),
        ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [g], [s], 16, h;", ()),
        ("cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier [s], [D, {0, 0, 0}], [m], {o};", ()),
    ],
)  # fmt: skip
def test_what_no_model_has_is_read_with_the_reason(line: str, dst: tuple[str, ...]) -> None:
    found = one(line)
    assert isinstance(found, Foreign)
    assert f"{found.mnemonic} {found.operands}".strip() + ";" == line
    assert found.dst == dst
    assert found.reason


def test_registers_that_such_an_instruction_writes_may_be_asked_about() -> None:
    code = "multimem.ld_reduce.relaxed.sys.global.add.u64 r0, [x];"
    (program,) = read(
        f"ptx t {MEMORY} thread A @ d0.c0.b0 {{ {code} }} thread B @ d0.c0.b1 {{ }} exists (A.r0 == 1)", ""
    )
    assert program.thread("A").types == {"r0": U64}


# --- there and back --------------------------------------------------------------------------------------------------

BODIES = [
    "mbarrier.init.shared::cta.b64 [w], 1; mbarrier.inval [w]; mbarrier.arrive t, [m]; mbarrier.arrive [m], 2;",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [m@b1], 2; mbarrier.expect_tx.relaxed.cluster [m@b1], 16;",
    "mbarrier.arrive.noComplete t, [m], 1; mbarrier.pending_count r0, t; mbarrier.arrive_drop.expect_tx _, [m], r0;",
    "mbarrier.arrive t, [m]; mbarrier.test_wait p, [m], t; await mbarrier.try_wait.relaxed.cta [m], t;",
    "do { mbarrier.try_wait.parity.acquire.cta p, [m], 0; } while (!p); @p await mbarrier.test_wait.parity [m], 1;",
    "ld.u32 r0, [x]; p = r0 == 1; cp.async.ca.shared.global [s], [g], 8, p;",
    "ld.u32 r0, [x]; cp.async.cg.shared::cta.global [s], [g], 16, r0; cp.async.commit_group; cp.async.wait_group 1;",
    "cp.async.mbarrier.arrive.noinc [m]; cp.async.mbarrier.arrive.b64 [m];",
    "cp.async.bulk [s], [g], 16, [m]; cp.async.bulk [g], [s], 16; cp.async.bulk [s@b1], [s], 16, [m@b1];",
    "ld.u32 r0, [x]; cp.async.bulk.shared::cluster.global.mbarrier.multicast::cluster [s], [g], r0, [m], 3;",
    "a = &s + 16; b = &g; cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier.b128 [a], [b], 16, [m];",
    "ld.u32 r0, [x]; cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier [s@b1], [D, {r0, 0}], [m@b1];",
    "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [D, {4}], [s]; cp.async.bulk.wait_group.read 0;",
    "cp.reduce.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.add.noftz.f16 [g], [s], 16;",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier.max.s32 [s@b1], [s], 16, [m@b1];",
    "st.async.shared::cluster.mbarrier.v2.u32 [s@b1], {1, 2}, [m@b1]; red.async.release.sys.global.add.u32 [x], 1;",
    "tensormap.replace.tile.global_address.shared::cta [E], x; tensormap.replace.tile.rank.global [D], 1;",
    "tensormap.cp_fenceproxy.gpu [D], [E], 128; fence.proxy.tensormap::generic.acquire.gpu [D], 128; st.u64 [D], &x;",
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; fence.mbarrier_init.release.cluster;",
    "elect.sync r0|p, 3; elect.sync _|p; griddepcontrol.wait; fence.proxy.async.global; prefetch.tensormap [D];",
    "ld.u32 r0, [x]; mapa.u64 a, m, r0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a];",
    "@p shfl.sync.idx.b32 r0, r1, 0, 31, -1; p = r0 == 1; wgmma.wait_group.sync.aligned 0;",
]  # fmt: skip


@pytest.mark.parametrize("line", BODIES)
def test_a_printed_test_reads_back_as_the_same(line: str) -> None:
    program = program_of(line)
    text = to_lit(program)
    assert read(text, "t.lit") == (program,)
    assert to_lit(*read(text, "t.lit")) == text


FORMS = """.global .b8 gx[1024]; .shared @ d0.c0.* .b8 sx[1024]; .shared @ d0.c0.b0 .mbarrier mx(1);
.global .tensormap dx -> gx box(256); .shared @ d0.c0.b0 .tensormap ex -> gx box(256);
thread B @ d0.c0.b1 { }
thread A @ d0.c0.b0 {
    .reg .b8 %b<4>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<16>; .reg .pred %p<4>;
    .reg .f32 %f<8>; .reg .f64 %g<8>; .reg .b64 %a0 = &dx; .reg .b64 %a1 = &ex;
"""
NAMED = re.compile(r"%[a-z]+\d+")


def in_a_test(lines: tuple[str, ...]) -> str:
    """The lines in a test in which all their registers are written, remote copies going to the other CTA."""
    far = [re.sub(r"^(\S*shared::cluster\.shared::cta\S* )\[sx\]", r"\1[sx@b1]", line) for line in lines]
    used = {name for line in far for name in NAMED.findall(line)} - {"%a0", "%a1"}
    first = "".join(f"    {name} = 1;\n" for name in sorted(used) if name[1] not in "fgp")
    first += "".join(f"    mov.{kind} {name}, 1.0;\n" for name in sorted(used) for c, kind in FLOATS if name[1] == c)
    first += "".join(f"    setp.eq.u32 {name}, 1, 1;\n" for name in sorted(used) if name[1] == "p")
    return f"ptx t {FORMS}{first}{''.join(f'    {line};{chr(10)}' for line in far)}}}\n"


FLOATS = (("f", "f32"), ("g", "f64"))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_form_of_the_table_reads_in_a_test_and_prints_back(row: Row) -> None:
    spelled = tuple(line for mnemonic in forms(row, 1) for line in lines(mnemonic))
    (program,) = read(in_a_test(spelled), "t.lit")
    assert read(to_lit(program), "t.lit") == (program,)


def test_maps_and_mbarriers_read_back_with_what_was_declared() -> None:
    text = """ptx t .global .u32 x[8]; .alias y = x; .global .tensormap D -> y box(16) acquired;
    .param .tensormap P -> x; .shared @ d0.c0.b0 .tensormap E -> x; .shared @ d0.c0.* .mbarrier m(5);
    thread A @ k1.d0.c0.b0 { } thread B @ k1.d0.c0.b1 { } thread C @ d0.b7 { } launch k1 dependent k0;"""
    (program,) = read(text, "t.lit")
    assert program.launches == ((1, "dependent", 0),)
    assert read(to_lit(program), "t.lit") == (program,)


# --- mistakes --------------------------------------------------------------------------------------------------------


def mistakes() -> list[tuple[str, str]]:
    blocks = (block.partition("\n---\n") for block in GOLDEN.read_text(encoding="utf-8").strip().split("\n===\n"))
    return [(head, message) for head, _, message in blocks]


@pytest.mark.parametrize(("head", "message"), mistakes(), ids=lambda part: part.partition("\n")[0])
def test_each_mistake_is_told_with_its_place_and_a_remedy(head: str, message: str) -> None:
    kind, _, line = head.partition(" ")
    text = written(line) if kind == "@code" else f"ptx t\n{SMALL}{line}\nthread A @ d0.c0.b0 {{ }}\n"
    with pytest.raises(InputError) as caught:
        read(text, "t.lit")
    assert str(caught.value) == message


def test_the_content_of_an_mbarrier_is_not_asked_about() -> None:
    with pytest.raises(InputError, match="the content of an mbarrier has no meaning"):
        read(f"{written('')}exists (m@b0 == 0)", "t.lit")
    assert read(f"{written('')}exists (D == &g)", "t.lit")


def test_a_misaligned_bulk_copy_is_no_mistake_of_the_text() -> None:
    assert isinstance(one("cp.async.bulk [s+4], [g], 16, [m];"), AsyncCopy)


def test_an_address_of_a_map_is_a_value_like_another() -> None:
    assert one("st.weak.global.u64 [D], &x;") == Store(values=(Addr("x"),), address=D, type=U64)


# --- addresses in 32 bits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        "mov.u32 r1, s; st.shared.u32 [r1], 5;",
        "mov.b32 r1, s + 4; st.shared::cta.u32 [r1 - 4], 5;",
        "mov.u64 rd, s; cvta.to.shared.u64 rd2, rd; cvt.u32.u64 r1, rd2; st.shared.u32 [r1], 5;",
        "mov.u32 r1, s; mapa.shared::cluster.u32 r2, r1, 0; st.shared::cluster.u32 [r2], 5;",
        "i = 8; mov.u32 r1, s + 8; add.u32 r1, r1, 4; sub.u32 r1, r1, 12; atom.shared.exch.b32 _, [r1], 5;",
        "mov.u32 r1, m; mov.u32 r2, s; st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [r2], 5, [r1];",
        "mov.u32 r1, m; mov.u32 r2, s; mov.u64 rd, g; mbarrier.arrive.expect_tx.b64 _, [r1], 16; "
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [r2], [rd], 16, [r1];",
    ],
)
def test_32_bits_hold_an_address_of_shared_memory(lines: str) -> None:
    text = (
        "ptx t .shared @ d0.c0.* .u32 s[4]; .shared @ d0.c0.* .mbarrier m(1); .global .u32 g[4] = {5};\n"
        f"thread A @ d0.c0.b0 {{ {lines} }} thread B @ d0.c0.b1 {{ }}\nexists (s@b0[0] == 5)\n"
    )
    (program,) = read(text, "t.lit")
    result = check(program, read_model("ptx-9.4"), Options(properties=frozenset({"outcome"})))
    assert result.verdict == "allowed"
    assert read(to_lit(program), "t.lit") == (program,)


def test_mapa_finds_the_same_place_in_a_peer_for_an_address_in_a_register() -> None:
    text = (
        "ptx t .shared @ d0.c0.* .u32 a[4]; .shared @ d0.c0.* .u32 s[4];\nthread A @ d0.c0.b0 {\n"
        "mov.u32 r1, s + 8; mapa.shared::cluster.u32 r2, r1, 1; st.shared::cluster.u32 [r2 + 4], 5; }\n"
        "thread B @ d0.c0.b1 { }\nforall (s@b1[3] == 5 && s@b0[3] == 0 && a@b1[3] == 0)\n"
    )
    (program,) = read(text, "t.lit")
    result = check(program, read_model("ptx-9.4"), Options(properties=frozenset({"outcome"})))
    assert result.verdict == "holds"


# --- braces ----------------------------------------------------------------------------------------------------------


def test_statements_in_braces_have_labels_of_their_own() -> None:
    wait = "{ AGAIN: mbarrier.try_wait.parity.shared::cta.b64 q, [m], 0; @!q bra AGAIN; }"
    labels = [item.name for item in body(f"{wait} {wait}") if isinstance(item, Label)]
    assert len(labels) == len(set(labels)) == 2
    with pytest.raises(InputError, match="no label `AGAIN`"):
        body(f"{wait} bra AGAIN;")


@pytest.mark.parametrize(
    "code",
    [
        "r = 5; { .reg .u32 r; mov.u32 r, 7; } st.global.u32 [x], r;",
        "r = 5; { .reg .u64 %r; mov.u64 %r, 7; } { .reg .pred r; r = 1 == 1; } st.global.u32 [x], r;",
        "{ .reg .u32 r, q; mov.u32 q, 5; { .reg .u32 q; mov.u32 q, 7; } mov.u32 r, q; st.global.u32 [x], r; }",
        "repeat (2) { .reg .b32 q<3>; mov.u32 q2, 5; st.global.u32 [x], q2; }",
        "q2 = 5; { .reg .b32 q<3>; mov.u32 q2, 7; if (q2 == 7) { q2 = 8; } } st.global.u32 [x], q2;",
    ],
)
def test_registers_that_are_declared_in_braces_are_their_own(code: str) -> None:
    text = f"ptx t .global .u32 x; thread A @ d0.c0.b0 {{ {code} }} forall (x == 5)"
    (program,) = read(text, "t.lit")
    assert check(program, read_model("ptx-9.4"), Options(properties=frozenset({"outcome"}))).verdict == "holds"


def test_inline_assembly_that_waits_may_stand_twice() -> None:
    wait = """{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [m], 0;
        @P1 bra DONE; bra LAB_WAIT; DONE: }"""
    predicates = [item.dst for item in body(f"{wait} {wait}") if isinstance(item, MbarrierWait)]
    assert len(set(predicates)) == 2


def test_a_register_with_a_first_value_is_declared_outside_of_braces() -> None:
    with pytest.raises(InputError, match="declared at the start of a thread"):
        body("{ .reg .b32 r = 5; }")
