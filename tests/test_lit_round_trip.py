"""A printed test reads back as the same test, whatever dialect it came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmm.arith import PRED, U32, U64, Type
from ptxmm.program import Assign, Binary, Conventions, Expr, Reg, Select, Thread, Unary
from ptxmm.resources import litmus_dir
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read
from ptxmm.syntax.print_lit import to_lit

PEERS = Path(__file__).parents[1].parent / "shared" / "peers"
MEMORY = """
.global .u32 x = 7; .global .s32 n; .global .u64 q = &a + 4; .global .u8 c = 255; .global .u32 a[4] = {0, 2};
.global .f32 f = 1.5; .const .u16 k = 3; .global .b128 w; .alias y = x; .texref t = x; .surfref u = x; .constref v = x;
.global .u32 far @ d1; .shared @ d0.c0.* .u32 s[4]; .shared @ d0.c0.b0 .u32 m;
"""
SAMPLES = [
    "ld.weak.global.u32 r0, [x]; st.release.gpu [x], r0; st.weak.u32 [x], r0 + 1;",
    "ld.acquire.cluster.s32 r0, [n]; st.volatile.u32 [x], 1; ld.mmio.relaxed.sys.global.u32 r1, [x];",
    "ld.global.v2.u32 {r0, _}, [a]; st.global.v4.u32 [a], {r0, 1, 2, 3}; ld.global.nc.u32 r1, [x];",
    "ld.u8 r0, [c]; ld.s8 r1, [c]; st.u8 [c], r0; ld.u16 r2, [k];",
    "ld.u64 p1, [q]; ld.u32 r0, [p1]; ld.u32 r1, [p1+4]; ld.u32 r2, [p1 - 4]; st.u32 [a[r0]], 1;",
    "ld.u32 r3, [a[r0]+4]; ld.u32 r0, [r1]; r1 = &x; ld.s32 r2, [n]; ld.u32 r4, [a[r2]]; ld.u32 r5, [a[r0 + 1]];",
    "atom.acq_rel.gpu.global.add.u32 r0, [x], 1; red.release.sys.min.s32 [n], -1; atom.cas.b32 r1, [x], 0, r0;",
    "atom.exch.b32 r0, [x], 5; atom.inc.u32 _, [x], 5; red.or.b32 [x], 3; red.global.add.f32 [f], 1.5;",
    "fence.sc.gpu; fence.acq_rel.cta; fence.acquire.cluster; fence.release.sys; membar.gl; fence.proxy.alias;",
    "fence.proxy.alias.release.sys; fence.proxy.alias.acquire.sys;",
    "fence.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster;",
    "tld.u32 r0, [t]; suld.u32 r1, [u]; sust.u32 [u], r1; ldc.u32 r2, [v]; fence.proxy.texture; fence.proxy.surface;",
    "bar.sync 0; barrier.cta.sync 1, 64; bar.arrive 2, 64; barrier.sync.aligned 3;",
    "bar.sync 1; bar.red.popc.u32 r0, 4, p; p = 1 == r0;",
    "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive.relaxed.aligned;",
    "barrier.cluster.arrive.release; barrier.cluster.wait.acquire.aligned;",
    "bar.warp.sync; bar.warp.sync 3; nanosleep.u32 20; prefetch.global.L1 [x];",
    "st.shared.u32 [s], 1; st.shared::cluster.u32 [s@b1], 2; ld.shared::cluster.u32 r0, [s@b1[2]]; st.u32 [m], 1;",
    "ld.u32 r0, [x]; if (r0 == 1) { st.u32 [x], 2; } else if (r0 > 2 || !r0) { exit; } while (r0) { r0 = r0 - 1; }",
    "ld.u32 r0, [x]; do { r0 = r0 << 1; } while (r0 < 100); repeat (2) { L: @p bra L; } p = r0 == 3; assume (p);",
    "setp.lt.and.s32 p, r0, 3, p1; setp.ne.u32 p1, 1, 2; @!p add.s32 r0, r0, 1; selp.u32 r1, 1, r2, p; mov.u32 r2, 9;",
    "ld.s32 r0, [n]; r1 = -r0; r2 = ~r0; r3 = r0 * 2 + 1; p = !(r0 < 0 && r1 >= 3); r4 = p ? r0 : r1; r5 = r0 >> 1;",
    "mul.wide.u32 w1, r0, 3; mul.wide.s32 w2, r0, 3; mad.lo.u32 r1, r0, 2, 1; popc.b64 r2, w1; abs.s32 r3, r0; r0 = 1;",
    "cvt.u64.u32 w1, r0; cvt.s64.s32 w2, r0; cvt.u32.u64 r1, w1; cvt.u32.u8 r2, h; ld.u8 h, [c]; mov.u32 r0, 1;",
    "mov.f32 r0, 1.5; add.f32 r1, r0, 2.0; p = r1 < 3.5; r2 = r0 + 0f3F800000; st.f32 [f], 2.5; r3 = min(r0, r1);",
    ".reg .u64 r0 = 5; .reg .s32 r1 = -3; .reg .u64 r2 = &x; r0 = r0 + 1; r1 = r1; p = r2 == &x;",
    "r1 = &x; r2 = &a + 8; r3 = &a - 4; ld.u32 r0, [r1]; p = r1 == &x; r4 = r1 + 4;",
    "p = lt.s32(r0, 0); r1 = add.u32(1, 2); r2 = max(r0, 3); r0 = 1; r3 = p + 1; r4 = (r0 == 1) + (r0 == 2);",
    "mov.u32 r0, 1; r1 = r0 && r0 || !r0; r2 = (r0 | 1) ^ 3 & r0; r3 = r0 - (r0 - 1) - 1; r4 = r0 % 3 / 2;",
    "$L__BB0_1: bra $L__BB0_1;",
    "ld.b128 r0, [w]; ld.f32 r1, [f]; st.f32 [f], r1;",
]
TAILS = [
    "exists (x == 1 && A.r0 != 2 || !(a[1] < 3))",
    "~exists (.u16 [x + 2] == 1) filter (c = 3) locations [x; a[2]; A.r0] expect forbidden; expect allowed under sc;",
    "forall (x + n == 3 || s@b1[1] == 2 || (x & 1) == 1) expect holds, race on x, a, hang[obe];",
    'expect no race; hardware { require sm_90a; preload A: x, a; busy A: 32; skip "because \\"so\\""; }',
]


def shows(text: str) -> None:
    for program in read(text, "t.lit"):
        assert read(to_lit(program), "t.lit") == (program,)


@pytest.mark.parametrize("body", SAMPLES)
def test_every_statement_reads_back_as_it_was_printed(body: str) -> None:
    shows(f'ptx t+1.x "a \\"b\\" c" {MEMORY} thread A @ d0.c0.b0 {{ {body} }} thread B @ d0.c0.b1.w1.l3 {{ exit; }}')


@pytest.mark.parametrize("tail", TAILS)
def test_every_question_reads_back_as_it_was_printed(tail: str) -> None:
    code = "thread A @ k1.d0.c0.b0 after B { ld.u32 r0, [x]; } thread B @ k1.d0.c0.b1 { } thread C @ d1.b7 { }"
    shows(f"ptx t {MEMORY} {code} launch k1 dependent k0; {tail}")


def test_a_variant_reads_back_with_its_name() -> None:
    shows("ptx t .global .u32 x;\nthread A @ d0.b0 { $A; }\nvariants\nname | A\nv-1 | st.u32 [x], 1\nw | exit\nend")


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 9])
def test_each_shipped_test_reads_back_as_it_was_printed(every: int) -> None:
    files = sorted(litmus_dir().rglob("*.lit"))
    assert files
    for file in files[::every]:
        for program in read_programs(file):
            assert read(to_lit(program), program.path) == (program,)


@pytest.mark.parametrize("ending", ["litmus", "test"])
def test_the_tests_of_other_tools_read_back_as_they_were_printed(ending: str) -> None:
    files = sorted(PEERS.rglob(f"*.{ending}"))
    if not files:
        pytest.skip(f"no {ending} files at {PEERS}")
    for file in files[:: max(1, len(files) // 60)]:
        for program in read_programs(file):
            assert read(to_lit(program), program.path) == (program,)


def test_what_cannot_be_said_is_refused_with_the_reason() -> None:
    (program,) = read("ptx t thread A @ d0.b0 { exit; }", "")
    odd = Thread("A", program.threads[0].place, (Assign(dst="r0", value=Reg("r9")),), {"r0": U32})
    object.__setattr__(program, "threads", (odd,))
    with pytest.raises(ValueError, match="cannot be written"):
        to_lit(program)


def test_single_conventions_have_names() -> None:
    (program,) = read("ptx t dialect reductions-read, named-instances; thread A @ d0.b0 { }", "t.lit")
    assert program.conventions == Conventions(reductions_read=True, named_instances=True)
    shows("ptx t dialect reductions-read, named-instances; thread A @ d0.b0 { barrier.cta.sync 7, _; }")
    shows("ptx t dialect dartagnan; .global .s64 x; thread A @ d0.b0 { atom.acq_rel.gpu.sub.s64 r0, [x], 1; }")


# --- expressions ------------------------------------------------------------------------------------------------------

REGISTERS = {"a1": U32, "b1": Type("s", 32), "w1": U64, "p1": PRED, "f1": Type("f", 32)}
OPS = ["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "min", "max", "==", "<", ">=", "&&", "||"]
TYPES = [U32, Type("s", 32), U64, PRED]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Expr:
    kind = draw(st.integers(0, 6)) if depth else 0
    below: st.SearchStrategy[Expr] = expressions(depth=depth - 1) if depth else st.nothing()
    if kind <= 1:
        return draw(st.sampled_from([Reg(name) for name in REGISTERS if name != "f1"]))
    if kind == 2:
        return Unary(draw(st.sampled_from("-~!")), draw(below), draw(st.sampled_from(TYPES)))
    if kind == 3:
        return Select(draw(below), draw(below), draw(below))
    return Binary(draw(st.sampled_from(OPS)), draw(below), draw(below), draw(st.sampled_from(TYPES)))


@given(expressions())
def test_a_printed_expression_reads_back_or_is_refused(value: Expr) -> None:
    declared = " ".join(f".reg .{type_} {name} = 0;" for name, type_ in REGISTERS.items())
    (program,) = read(f"ptx t thread A @ d0.b0 {{ {declared} r = a1; }}", "t.lit")
    thread = program.threads[0]
    body = (Assign(dst="r", value=value),)
    object.__setattr__(program, "threads", (Thread("A", thread.place, body, thread.types, thread.init),))
    try:
        text = to_lit(program)
    except ValueError:
        return
    assert read(text, "t.lit") == (program,)


CONDITIONS = st.sampled_from(["a1", "b1 + 1", "w1 == 3", "p1"])


@given(st.recursive(CONDITIONS, lambda part: st.tuples(part, st.sampled_from(["&&", "||"]), part)))
def test_a_condition_of_any_shape_is_printed(shape: object) -> None:
    def text(part: object) -> str:
        return part if isinstance(part, str) else f"({text(part[0])} {part[1]} {text(part[2])})"  # type: ignore[index]

    registers = "a1 = 1; mov.s32 b1, 2; mov.u64 w1, 1; p1 = a1 == 1;"
    shows(f"ptx t thread A @ d0.b0 {{ {registers} if ({text(shape)}) {{ exit; }} }}")


def test_a_long_chain_keeps_its_shape() -> None:
    for op in ("&&", "||"):
        long = f" {op} ".join(["x == 1"] * 200)
        shows(f"ptx t .global .u32 x; exists ({long})")
        left = "x == 1"
        for _ in range(90):
            left = f"({left} {op} x == 1)"
        shows(f"ptx t .global .u32 x; exists ({left})")
