"""What the instruction table makes of PTX: defaults, types, results, and the way back to text."""

from __future__ import annotations

import pytest
from isa_forms import MEMORY, forms, lines, read, turned

from ptxmm.arith import ATOMICS, PRED, U32, Type
from ptxmm.errors import Unsupported
from ptxmm.isa import BUILDERS, ROWS, Operand, decode, form_of, ptx, requirement, writes
from ptxmm.isa_foreign import OPCODES
from ptxmm.isa_form import Requirement, Row, type_of
from ptxmm.isa_table import QUALIFIERS
from ptxmm.program import (
    NOWHERE,
    Addr,
    Assign,
    Atomic,
    Bar,
    Barrier,
    ClusterBarrier,
    Const,
    Fence,
    Label,
    Load,
    Nop,
    Object,
    Order,
    Proxy,
    ProxyFence,
    Reg,
    Scope,
    Space,
    Statement,
    Store,
    Unary,
    View,
    WarpSync,
)

X = Addr("gx")
REAL = [row for row in ROWS if row.real]


def mem(name: str) -> Operand:
    return Operand("mem", Reg(name) if name.startswith("r") else Addr(name), (), NOWHERE)


def reg(name: str) -> Operand:
    return Operand("reg", Reg(name), (), NOWHERE)


def number(value: int) -> Operand:
    return Operand("expr", Const(value), (), NOWHERE)


def spelled(mnemonic: str, *operands: Operand, **objects: Object | View) -> Statement:
    return decode(mnemonic, operands, at=NOWHERE, declared=objects.get)


# --- defaults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "order", "scope"),
    [
        ("ld.u32 %r0, [gx]", Order.WEAK, None),
        ("ld.weak.u32 %r0, [gx]", Order.WEAK, None),
        ("ld.relaxed.cluster.u32 %r0, [gx]", Order.RELAXED, Scope.CLUSTER),
        ("ld.acquire.cta.u32 %r0, [gx]", Order.ACQUIRE, Scope.CTA),
        ("ld.volatile.u32 %r0, [gx]", Order.RELAXED, Scope.SYS),
        ("ld.mmio.relaxed.sys.u32 %r0, [gx]", Order.RELAXED, Scope.SYS),
        ("ld.mmio.acquire.sys.u32 %r0, [gx]", Order.ACQUIRE, Scope.SYS),
        ("ld.global.nc.u32 %r0, [gx]", Order.WEAK, None),
        ("st.global.cg.u32 [gx], 1", Order.WEAK, None),
        ("st.release.gpu.u32 [gx], 1", Order.RELEASE, Scope.GPU),
        ("st.volatile.u32 [gx], 1", Order.RELAXED, Scope.SYS),
        ("atom.add.u32 %r0, [gx], 1", Order.RELAXED, Scope.GPU),
        ("atom.acq_rel.add.u32 %r0, [gx], 1", Order.ACQ_REL, Scope.GPU),
        ("atom.sys.add.u32 %r0, [gx], 1", Order.RELAXED, Scope.SYS),
        ("red.release.cta.add.u32 [gx], 1", Order.RELEASE, Scope.CTA),
        ("fence.gpu", Order.ACQ_REL, Scope.GPU),
        ("fence.sc.cluster", Order.SC, Scope.CLUSTER),
        ("fence.acquire.sys", Order.ACQUIRE, Scope.SYS),
        ("membar.cta", Order.SC, Scope.CTA),
        ("membar.gl", Order.SC, Scope.GPU),
        ("membar.sys", Order.SC, Scope.SYS),
    ],
)
def test_an_instruction_has_the_order_and_scope_it_names_or_the_isas_default(
    line: str, order: Order, scope: Scope | None
) -> None:
    statement = read(line)
    assert isinstance(statement, Load | Store | Atomic | Fence)
    assert (statement.order, statement.scope) == (order, scope)


def test_only_non_coherent_loads_are_read_only() -> None:
    assert read("ld.global.nc.u32 %r0, [gx]") == Load(dst=("%r0",), address=X, type=U32, readonly=True)
    assert read("ld.global.ca.u32 %r0, [gx]") == Load(dst=("%r0",), address=X, type=U32)


def test_hints_and_cache_policies_change_nothing() -> None:
    plain = read("st.relaxed.gpu.global.u32 [gx], %r1")
    assert read("st.relaxed.gpu.global.L1::evict_last.L2::cache_hint.u32 [gx], %r1, %d0") == plain
    assert read("ld.global.L2::128B.u32 %r0, [gx]") == read("ld.u32 %r0, [gx]")


def test_a_compare_and_swap_takes_the_old_and_the_new_value() -> None:
    expected = Atomic(op="cas", dst=("%r0",), address=X, operands=(Const(0), Reg("%r1")), type=Type("b", 32))
    assert read("atom.cas.b32 %r0, [gx], 0, %r1") == expected


def test_a_reduction_has_no_result() -> None:
    expected = Atomic(op="add", dst=(None,), address=X, operands=(Const(1),), type=U32, reduction=True)
    assert read("red.add.u32 [gx], 1") == expected


def test_an_unwanted_result_goes_nowhere() -> None:
    statement = read("atom.add.u32 _, [gx], 1")
    assert isinstance(statement, Atomic)
    assert (statement.dst, statement.reduction) == ((None,), False)


def test_a_vector_has_one_entry_an_element() -> None:
    expected = Atomic(
        op="add",
        dst=("%f0", "%f1"),
        address=X,
        operands=(Reg("%f2"), Reg("%f3")),
        type=Type("f", 32),
        order=Order.RELEASE,
        scope=Scope.GPU,
    )
    assert read("atom.release.gpu.global.add.v2.f32 {%f0, %f1}, [gx], {%f2, %f3}") == expected
    assert read("ld.v2.u32 {%r0, _}, [gx]") == Load(dst=("%r0", None), address=X, type=U32)
    assert read("st.v2.u32 [gx], {%r0, 7}") == Store(values=(Reg("%r0"), Const(7)), address=X, type=U32)


def test_a_packed_type_keeps_its_lanes() -> None:
    statement = read("red.add.noftz.f16x2 [gx], %r0")
    assert isinstance(statement, Atomic)
    assert statement.type == Type("f", 32, 2)


def test_fences_of_a_window_say_which() -> None:
    assert read("fence.release.sync_restrict::shared::cta.cluster") == Fence(
        order=Order.RELEASE, scope=Scope.CLUSTER, window="shared::cta"
    )
    assert read("fence.acquire.sync_restrict::shared::cluster.cluster") == Fence(
        order=Order.ACQUIRE, scope=Scope.CLUSTER, window="shared::cluster"
    )


def test_proxy_fences_name_their_proxy() -> None:
    assert read("fence.proxy.alias") == read("membar.proxy.alias") == ProxyFence(kind="alias")
    assert read("fence.proxy.texture") == ProxyFence(kind="texture")


def test_the_halves_of_the_alias_fence_have_the_scope_of_the_system() -> None:
    for order in (Order.RELEASE, Order.ACQUIRE):
        half = ProxyFence(kind="alias", order=order, scope=Scope.SYS)
        assert read(f"fence.proxy.alias.{order}.sys") == half
        assert ptx(half) == f"fence.proxy.alias.{order}.sys"


def test_barriers_of_a_cta() -> None:
    assert read("bar.sync 0") == Barrier(kind=Bar.SYNC, id=Const(0))
    assert read("bar.sync 0") == read("barrier.cta.sync.aligned 0")
    assert read("barrier.sync 0") == Barrier(kind=Bar.SYNC, id=Const(0), aligned=False)
    assert read("bar.arrive 1, 64") == Barrier(kind=Bar.ARRIVE, id=Const(1), count=Const(64))
    assert read("bar.red.popc.u32 %r0, 2, %p1") == Barrier(
        kind=Bar.RED, id=Const(2), op="popc", pred=Reg("%p1"), dst="%r0"
    )
    assert read("bar.red.or.pred %p0, 2, 64, !%p1") == Barrier(
        kind=Bar.RED, id=Const(2), count=Const(64), op="or", pred=Unary("!", Reg("%p1"), PRED), dst="%p0"
    )


def test_barriers_of_a_cluster_release_and_acquire_by_default() -> None:
    assert read("barrier.cluster.arrive") == ClusterBarrier(wait=False, order=Order.RELEASE)
    assert read("barrier.cluster.arrive.relaxed.aligned") == ClusterBarrier(
        wait=False, order=Order.RELAXED, aligned=True
    )
    assert read("barrier.cluster.wait") == ClusterBarrier(wait=True, order=Order.ACQUIRE)


def test_a_warp_synchronises_all_of_its_threads_without_a_mask() -> None:
    assert read("bar.warp.sync") == WarpSync()
    assert read("bar.warp.sync 0x3") == WarpSync(mask=Const(3))


def test_sleeping_and_prefetching_do_nothing() -> None:
    assert read("nanosleep.u32 20") == read("prefetch.global.L2 [gx]") == Nop()


def test_views_are_read_and_written_through_their_proxy() -> None:
    assert read("tld.u32 %r0, [tx]") == Load(dst=("%r0",), address=Addr("tx"), type=U32, proxy=Proxy.TEXTURE)
    assert read("ldc.weak.u32 %r0, [cx]") == Load(dst=("%r0",), address=Addr("cx"), type=U32, proxy=Proxy.CONSTANT)
    assert read("sust.u32 [ux], 1") == Store(values=(Const(1),), address=Addr("ux"), type=U32, proxy=Proxy.SURFACE)


def test_the_guard_and_the_text_are_kept() -> None:
    statement = decode("fence.gpu", (), at=NOWHERE, declared=MEMORY.get, guard=Reg("p"), text="@p fence.gpu")
    assert (statement.guard, statement.text) == (Reg("p"), "@p fence.gpu")


# --- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", ["b8", "u16", "s32", "u64", "f32", "b128"])
def test_an_access_without_a_type_has_the_declared_one(declared: str) -> None:
    x = Object("x", type_of(declared))
    loaded = spelled("ld.relaxed.gpu", reg("r0"), mem("x"), x=x)
    stored = spelled("st", mem("y"), number(1), x=x, y=View("y", "x"))
    assert isinstance(loaded, Load)
    assert isinstance(stored, Store)
    assert loaded.type == stored.type == x.type


@pytest.mark.parametrize(
    ("op", "declared", "taken"),
    [
        ("add", "u32", "u32"),
        ("add", "s32", "s32"),
        ("add", "s64", "u64"),
        ("inc", "s32", "u32"),
        ("min", "s64", "s64"),
        ("exch", "u32", "b32"),
        ("exch", "f64", "b64"),
        ("and", "s64", "b64"),
        ("add", "f32", "f32"),
    ],
)
def test_an_atomic_without_a_type_has_the_declared_one_or_its_bits(op: str, declared: str, taken: str) -> None:
    statement = spelled(f"atom.{op}", reg("r0"), mem("x"), number(1), x=Object("x", type_of(declared)))
    assert isinstance(statement, Atomic)
    assert statement.type == type_of(taken)


def test_results_have_the_type_of_the_access_and_at_least_16_bits() -> None:
    assert writes(read("ld.s8 %h0, [gx]")) == (("%h0", Type("s", 16)),)
    assert writes(read("ld.v2.u64 {%d0, _}, [gx]")) == (("%d0", Type("u", 64)),)
    assert writes(read("atom.exch.b32 %r0, [gx], 1")) == (("%r0", Type("b", 32)),)
    assert writes(read("bar.red.popc.u32 %r0, 0, %p0")) == (("%r0", U32),)
    assert writes(read("bar.red.and.pred %p1, 0, %p0")) == (("%p1", PRED),)


@pytest.mark.parametrize("line", ["st.u32 [gx], 1", "red.add.u32 [gx], 1", "atom.add.u32 _, [gx], 1", "bar.sync 0"])
def test_instructions_without_a_result_write_no_register(line: str) -> None:
    assert writes(read(line)) == ()
    assert writes(Assign(dst="r0", value=Const(1))) == ()


# --- all rows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_form_of_a_row_says_what_it_spells(row: Row) -> None:
    for mnemonic in forms(row, depth=1):
        form = form_of(mnemonic)
        for line in lines(mnemonic):
            statement = read(line)
            if isinstance(statement, Load | Store | Atomic) and form.type is not None:
                assert statement.type == form.type, line
            for slot, enum in (("order", Order), ("scope", Scope)):
                word = form.get(slot)
                if word in tuple(enum) and hasattr(statement, slot):
                    assert getattr(statement, slot) == word, line
            if isinstance(statement, Atomic):
                assert statement.op == form.get("operation"), line
                assert len(statement.operands) == len(statement.dst) * (2 if statement.op == "cas" else 1), line


@pytest.mark.parametrize("row", [row for row in ROWS if row.any_order], ids=lambda row: row.name)
def test_the_order_of_qualifiers_changes_nothing_where_kernels_write_any(row: Row) -> None:
    words = [word for slot in row.slots for word in slot.words]
    assert len(words) == len(set(words)), "a word could stand for two things"
    for mnemonic in forms(row, depth=1):
        for line in lines(turned(mnemonic, row)):
            statement = read(line)
            assert statement == read(line.replace(turned(mnemonic, row), mnemonic)), line
            assert ptx(statement) == ptx(read(line.replace(turned(mnemonic, row), mnemonic))), line


@pytest.mark.parametrize("row", REAL, ids=lambda row: row.name)
def test_what_is_written_back_is_read_as_the_same(row: Row) -> None:
    for mnemonic in forms(row, depth=1):
        space = form_of(mnemonic).get("space") or ""
        for line in lines(mnemonic):
            statement = read(line)
            text = ptx(statement, space=space)
            assert text == "" if isinstance(statement, Nop) else read(text) == statement, line


def test_registers_objects_and_unwanted_results_are_renamed() -> None:
    text = ptx(read("ld.v2.u32 {%r0, _}, [gx+8]"), sink="t", register=lambda r: r[1:], symbol=lambda s: f"m_{s}")
    assert text == "ld.weak.v2.u32 {r0, t}, [m_gx+8]"
    guarded = decode("fence.sc.gpu", (), at=NOWHERE, declared=MEMORY.get, guard=Unary("!", Reg("p"), PRED))
    assert ptx(guarded) == "@!p fence.sc.gpu"


def test_a_space_is_named_on_request_and_counts_for_the_target() -> None:
    load = Load(dst=("r0",), address=Addr("s"), type=U32)
    assert ptx(load, space="shared::cluster") == "ld.weak.shared::cluster.u32 r0, [s]"
    assert requirement(load) == requirement(Label(name="l")) == ((6, 0), 70)
    assert requirement(load, "shared::cluster") == ((7, 8), 90)


@pytest.mark.parametrize(
    "statement",
    [
        Atomic(op="sub", dst=("r0",), address=X, operands=(Const(1),), type=U32),
        Load(dst=("r0",), address=Addr("tx"), type=U32, proxy=Proxy.TEXTURE),
        ProxyFence(kind="surface"),
    ],
)
def test_what_ptx_does_not_have_needs_no_version(statement: Statement) -> None:
    with pytest.raises(Unsupported, match="PTX has no"):
        requirement(statement)


@pytest.mark.parametrize(
    ("line", "need"),
    [
        ("mbarrier.init.shared.b64 [mx], 1", ((7, 0), 80)),
        ("mbarrier.arrive.b64 _, [mx]", ((8, 0), 80)),
        ("mbarrier.arrive.b64 %d0, [mx], 2", ((8, 0), 90)),
        ("mbarrier.arrive.relaxed.cta.b64 %d0, [mx]", ((8, 6), 90)),
        ("mbarrier.try_wait.parity.b64 %p0, [mx], 0", ((8, 0), 90)),
        ("cp.async.ca.shared.global [sx], [gx], 4", ((7, 0), 80)),
        ("cp.async.ca.shared.global [sx], [gx], 4, %p1", ((7, 5), 80)),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sx], [gx], 16, [mx]", ((8, 6), 90)),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sx], [gx], 16, [mx]", ((8, 0), 90)),
        ("cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [gx], [sx], 16", ((9, 3), 90)),
        ("red.async.release.gpu.global.add.u32 [%a0], 1", ((8, 7), 100)),
        ("tensormap.replace.tile.rank.b1024.b32 [%a0], 1", ((8, 3), 90)),
        ("fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster", ((9, 4), 90)),
        ("fence.proxy.alias.release.sys", ((9, 4), 90)),
        ("fence.proxy.alias", ((7, 5), 70)),
    ],
)
def test_asynchronous_instructions_need_the_version_and_target_that_the_isa_names(line: str, need: Requirement) -> None:
    assert requirement(read(line)) == need


def test_what_no_model_has_is_written_as_it_was_and_needs_no_version() -> None:
    found = read("wgmma.wait_group.sync.aligned 0")
    assert ptx(found) == "wgmma.wait_group.sync.aligned 0"
    with pytest.raises(Unsupported, match="tensor core"):
        requirement(found)


def test_short_spellings_mean_the_whole_ones() -> None:
    short = "cp.async.bulk.shared::cta.global.mbarrier [sx], [gx], 16, [mx]"
    assert ptx(read(short)) == short.replace("mbarrier", "mbarrier::complete_tx::bytes")
    assert ptx(read("mbarrier.arrive [mx]")) == "mbarrier.arrive.release.cta.b64 _, [mx]"


def test_an_mbarrier_of_another_cta_is_written_as_it_was_named() -> None:
    line = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%a0]"
    assert ptx(read(line)) == line


def test_copies_between_registers_are_written_with_their_spaces() -> None:
    line = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%a0], [%a1], %r1, [mx]"
    assert ptx(read(line)) == line


def test_tokens_predicates_and_lanes_are_what_mbarriers_and_elect_write() -> None:
    assert writes(read("mbarrier.arrive.b64 %d0, [mx]")) == (("%d0", Type("b", 64)),)
    assert writes(read("mbarrier.test_wait.parity.b64 %p0, [mx], 1")) == (("%p0", PRED),)
    assert writes(read("mbarrier.pending_count.b64 %r0, %d0")) == (("%r0", U32),)
    assert writes(read("elect.sync %r0|%p0, 3")) == (("%r0", U32), ("%p0", PRED))
    assert writes(read("elect.sync _|%p0, 3")) == (("%p0", PRED),)
    assert writes(read("mbarrier.arrive.b64 _, [mx]")) == ()


def test_arithmetic_is_not_written_here() -> None:
    with pytest.raises(Unsupported, match="no memory or synchronisation instruction"):
        ptx(Assign(dst="r0", value=Const(1)))


def test_the_table_is_whole() -> None:
    assert {row.builds for row in ROWS} == set(BUILDERS)
    assert len({row.opcode for row in ROWS}) == len(ROWS)
    assert not {row.opcode for row in ROWS} & set(OPCODES)
    operations = {
        w for row in ROWS if row.name == "atom" for slot in row.slots if slot.name == "operation" for w in slot.words
    }
    assert operations == ATOMICS - {"sub"}
    assert {space.value for space in Space} <= set(QUALIFIERS)
    for row in ROWS:
        for slot in row.slots:
            assert len(set(slot.words)) == len(slot.words), (row.name, slot.name)
            assert {full for _, full in slot.short} <= set(slot.words), (row.name, slot.name)


def test_every_need_is_one_of_some_row() -> None:
    words = {row.opcode: {word for slot in row.slots for word in slot.words} for row in ROWS}
    met = {need for row in ROWS for need in row.needs if need.words <= words[row.opcode]}
    assert {need for row in ROWS for need in row.needs} == met
