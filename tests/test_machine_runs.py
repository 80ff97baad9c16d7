"""Kernels of `ptxmm run` on a machine without a GPU: what they count is what sequential consistency gives."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace

import pytest
from building import model
from machine.memory import Fault
from machine.runs import allowed, seen, states

from ptxmm.errors import Unsupported
from ptxmm.gpu import harness
from ptxmm.gpu.epochs import EPOCHS
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.source import kernel
from ptxmm.program import Addr, Program
from ptxmm.syntax.lit import read

MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x]; }
exists (B.r0 == 1 && B.r1 == 0)
"""
SB = """ptx SB
.global .u32 x; .global .u32 y;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; ld.weak.u32 r0, [y]; }
thread B @ d0.c0.b0 { st.weak.u32 [y], 1; ld.weak.u32 r1, [x]; }
exists (A.r0 == 0 && B.r1 == 0)
"""
COUNTED = """ptx counted
.global .u32 x = 5;
thread A @ d0.c0.b0 { atom.relaxed.gpu.global.add.u32 r0, [x], 1; }
thread B @ d0.c1.b1 { atom.relaxed.gpu.global.cas.b32 r0, [x], 6, 9; }
exists (x == 9)
"""
SHARED = """ptx shared
.shared @ d0.c0.b0 .u32 s = 3;
.global .u32 x;
thread A @ d0.c0.b0 { ld.weak.shared.u32 r0, [s]; st.weak.shared.u32 [s], 7; }
thread B @ d0.c0.b0 { ld.weak.shared.u32 r0, [s]; st.weak.global.u32 [x], r0; }
exists (x == 7 && s == 7)
"""
DISTRIBUTED = """ptx distributed
.shared @ d0.c0.* .u32 s;
thread A @ d0.c0.b0 { st.weak.shared::cluster.u32 [s@b1], 1; ld.weak.shared::cta.u32 r0, [s@b0]; }
thread B @ d0.c0.b1 { st.weak.shared::cluster.u32 [s@b0], 2; ld.weak.shared::cta.u32 r0, [s@b1]; }
exists (A.r0 == 0 && B.r0 == 0)
"""
LANES = """ptx lanes
.global .u32 x;
thread A @ d0.c0.b0.w0.l0 { st.weak.global.u32 [x], 1; bar.warp.sync 3; ld.weak.global.u32 r0, [x]; }
thread B @ d0.c0.b0.w0.l1 { bar.warp.sync 3; ld.weak.global.u32 r0, [x]; st.weak.global.u32 [x], 2; }
exists (A.r0 == 2)
"""
BARRIER = """ptx barrier
.shared @ d0.c0.b0 .u32 s;
thread A @ d0.c0.b0 { st.weak.shared.u32 [s], 1; bar.sync 0; ld.weak.shared.u32 r0, [s]; }
thread B @ d0.c0.b0 { ld.weak.shared.u32 r0, [s]; bar.sync 0; st.weak.shared.u32 [s], 2; }
exists (A.r0 == 2)
"""
WIDE = """ptx wide
.global .b128 w;
.global .u8 c[4] = {1, 2, 3, 4};
thread A @ d0.c0.b0 { st.relaxed.gpu.global.v2.u64 [w], {1, 2}; ld.weak.global.b32 r0, [c]; }
thread B @ d0.c1.b1 { st.weak.global.u8 [c[1]], 9; }
exists (A.r0 == 0x04030901)
"""
GUARDED = """ptx guarded
.global .u32 x; .global .u32 y;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.weak.u32 [y], 1; }
thread B @ d0.c1.b1 { ld.weak.u32 r0, [y]; if (r0 == 1) { ld.weak.u32 r1, [x]; } else { r1 = 4; } }
exists (B.r1 == 4)
"""
SMALL = {"MP": MP, "SB": SB, "counted": COUNTED, "shared": SHARED, "distributed": DISTRIBUTED, "lanes": LANES,
         "barrier": BARRIER, "wide": WIDE, "guarded": GUARDED}  # fmt: skip
WAIT = """ptx wait
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 {{ st.weak.u32 [x], 1; st.release.gpu.u32 [f], {told}; }}
thread B @ d0.c1.b1 {{ do {{ ld.acquire.gpu.u32 r0, [f]; }} while (r0 != 1); ld.weak.u32 r1, [x]; }}
exists (B.r1 == 1)
"""


def only(text: str) -> Program:
    (program,) = read(text, "test.lit")
    return program


@pytest.mark.parametrize("name", SMALL)
def test_every_interleaving_is_seen_and_nothing_else(name: str) -> None:
    program = only(SMALL[name])
    (counted,) = seen(program, passes=8, warps=2)
    assert states(counted) == allowed(program, model("sc"))
    assert counted.instances == counted.finished


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_counts_every_copy_once(profile: str) -> None:
    (counted,) = seen(only(MP), profile=PROFILES[profile], warps=2, passes=3)
    assert states(counted) <= {(0, 0), (0, 1), (1, 1)}
    assert counted.adds_up
    assert counted.holding == counted.squares == 0


def test_teams_units_and_rounds_multiply_and_partners_sit_in_different_ctas() -> None:
    (counted,) = seen(only(MP), multiprocessors=6, l2=200_000, warps=2, passes=2)
    units, teams, lanes = 3, 2, 32
    assert counted.instances % (units * teams * lanes * 2) == 0
    assert counted.instances > units * teams * lanes * 2
    assert states(counted) == {(0, 0), (0, 1), (1, 1)}


@pytest.mark.parametrize(("code", "found"), [("r1 = 5;", {(0, 5), (1, 5)}), ("r1 = r0;", {(0, 0), (1, 1)})])
def test_a_register_has_what_was_last_written_to_it_however_it_was_loaded_before(
    code: str, found: set[tuple[int, int]]
) -> None:
    (counted,) = seen(only(MP.replace("[x]; }\nexists", f"[x]; {code} }}\nexists")), warps=2)
    assert states(counted) == found


def test_launches_go_on_where_the_last_one_ended() -> None:
    (counted,) = seen(only(MP), launches=3, passes=2, warps=1)
    assert counted.instances == 3 * 2 * 32
    assert counted.finished == counted.instances


@pytest.mark.parametrize("first", [EPOCHS - 6, EPOCHS - 1])
def test_epochs_begin_anew_when_they_run_out_and_words_have_their_initial_values(first: int) -> None:
    text = MP.replace(".u32 x;", ".u32 x = 5;").replace("st.weak.u32 [x], 1;", "if (f0 == 1) { st.weak.u32 [x], 1; }")
    (counted,) = seen(only(text.replace("{ if", "{ f0 = 0; if")), first=first, launches=3, passes=3, warps=1)
    assert states(counted) <= {(0, 5), (1, 5)}
    assert counted.finished == counted.instances == 3 * 3 * 32


def test_a_wait_ends_when_it_is_told() -> None:
    (counted,) = seen(only(WAIT.format(told=1)), warps=2)
    assert (states(counted), counted.stuck) == ({(1,)}, 0)


def test_a_wait_that_nothing_ends_is_stuck_and_the_launch_ends() -> None:
    (counted,) = seen(only(WAIT.format(told=2)), warps=1)
    assert counted.stuck == counted.instances == 64
    assert not counted.outcomes


def test_a_stuck_copy_does_not_hide_the_others() -> None:
    early = "ld.weak.u32 r1, [x]; if (r0 != r1) { do { ld.weak.u32 r2, [x]; } while (r2 == 1); }"
    lost = only(MP.replace("ld.weak.u32 r1, [x];", early))
    (counted,) = seen(lost, warps=2, passes=4)
    assert 0 < counted.stuck < counted.instances
    assert states(counted) == {(0, 0), (1, 1)}


@pytest.mark.parametrize(("meeting", "places"), [("bar.sync 0;", ("", "")), ("bar.warp.sync 3;", (".w0.l0", ".w0.l1"))])
def test_nobody_waits_at_a_barrier_for_a_thread_of_the_test_that_has_ended(
    meeting: str, places: tuple[str, str]
) -> None:
    stays = f"thread A @ d0.c0.b0{places[0]} {{ {meeting} st.weak.global.u32 [x], 1; {meeting} }}"
    leaves = f"thread B @ d0.c0.b0{places[1]} {{ {meeting} ld.weak.global.u32 r0, [x]; }}"
    (counted,) = seen(only(f"ptx leaves\n.global .u32 x;\n{stays}\n{leaves}\nexists (B.r0 == 1)"), passes=8)
    assert states(counted) == {(0,), (1,)}


UNEVEN = """ptx uneven
.global .u32 x;
thread P @ d0.c0.b0 {{ {} }}
thread Q @ d0.c0.b1 {{ {} atom.relaxed.gpu.global.add.u32 r, [x], 1; }}
exists (x == 1 && Q.r == 0)
"""
HALVES = {"A": "barrier.cluster.arrive;", "W": "barrier.cluster.wait;"}


def uneven(first: str, second: str) -> Program:
    return only(UNEVEN.format(*(" ".join(HALVES[letter] for letter in letters) for letters in (first, second))))


@pytest.mark.parametrize(("first", "second"), [
    ("A", "AW"), ("AWA", "AWAW"), ("A", ""), ("AW", "A"), ("", "AW"), ("AW", ""), ("AW", "AWAW"), ("A", "AWAWA"),
])  # fmt: skip
def test_a_cluster_whose_threads_do_not_meet_equally_often_plays_one_round_a_launch(first: str, second: str) -> None:
    test = uneven(first, second)
    (counted,) = seen(test, passes=3, warps=1)
    assert kernel(test).layout.once
    assert counted.holding == counted.instances == 3 * 32


def test_a_control_that_ends_for_good_is_not_played_beside_a_test_that_does_not() -> None:
    with pytest.raises(Unsupported, match="its threads end for good"):
        kernel(uneven("AW", "A"), kernel(uneven("AW", "AW")).layout)


@pytest.mark.parametrize(("first", "second"), [("W", "W"), ("A", "AA"), ("AW", "WA")])
def test_a_wait_without_an_arrival_before_it_is_refused(first: str, second: str) -> None:
    with pytest.raises(Unsupported, match="waits at the barrier of its cluster before it arrives there, or arrives tw"):
        kernel(uneven(first, second))


EXITS = """ptx exits
.shared @ d0.c0.b0 .u32 s;
.global .u32 x;
thread A @ d0.c0.b0 { %s bar.sync 0; ld.weak.shared.u32 r, [s]; }
thread B @ d0.c0.b0 { %s exit; bar.sync 0; }
exists (A.r == 1 && %s)
"""
STORES = "st.weak.shared.u32 [s], 1;"


@pytest.mark.parametrize("shown", ["A.r == A.r", "s == 1", "B.q == 5"])
def test_a_barrier_of_a_cta_does_not_wait_for_a_thread_that_has_exited(shown: str) -> None:
    test = only(EXITS % (STORES, "q = 5;", shown))
    (counted,) = seen(test, passes=3)
    assert counted.holding == counted.instances > 0
    assert "barrier.cta.sync.aligned 0;" in kernel(test).text


def test_a_thread_that_exits_only_sometimes_meets_the_others_or_does_not() -> None:
    sometimes = "ld.relaxed.gpu.global.u32 q, [x]; if (q == 0) { exit; } st.weak.shared.u32 [s], 2;"
    test = only(EXITS.replace(" exit;", "") % ("st.relaxed.gpu.global.u32 [x], 1;", sometimes, "s == s"))
    (counted,) = seen(test, passes=24)
    assert {(0, 0), (2, 2)} == states(counted)


def test_shared_memory_that_a_thread_shows_which_exits_is_refused() -> None:
    test = only(EXITS.replace("thread A", "thread Z").replace("A.r", "Z.r") % (STORES, "q = 5;", "s == 1"))
    turned = replace(test, threads=test.threads[::-1])
    with pytest.raises(Unsupported, match="the thread that shows shared memory of its CTA exits"):
        kernel(turned)


@pytest.mark.parametrize("code", [
    "mov.u64 r, &s; add.u64 r, r, 4;",
    "mov.u64 q, &s; add.u64 r, q, 4;",
    "r = &s + 8;",
    "mov.u64 q, &s; st.weak.global.u64 [x], q; ld.weak.global.u64 r, [x];",
])  # fmt: skip
def test_a_final_value_that_was_computed_with_an_address_of_shared_memory_or_read_is_refused(code: str) -> None:
    text = f"ptx shown\n.shared @ d0.c0.b0 .u32 s[2];\n.global .u64 x;\nthread A @ d0.c0.b0 {{ {code} }}\n"
    with pytest.raises(Unsupported, match="address of shared memory"):
        seen(only(text + "exists (A.r == 1)"))
    assert seen(only(text + "exists (s[1] == 0)"), warps=1)[0].finished


@pytest.mark.parametrize(("code", "name", "offset"), [
    ("mov.u64 r, &s;", "s@b0", 0),
    ("r = &s + 4;", "s@b0", 4),
    ("mov.u64 r, &s@b1;", "s@b1", 0),
    ("mov.u64 q, &s@b1; r = q;", "s@b1", 0),
    ("mov.u64 r, &g[1];", "g", 4),
])  # fmt: skip
def test_an_address_of_shared_memory_is_shown_as_the_test_knows_it(code: str, name: str, offset: int) -> None:
    objects = ".shared @ d0.c0.* .u32 s[2];\n.global .u32 g[2];"
    threads = f"thread A @ d0.c0.b0 {{ {code} }}\nthread B @ d0.c0.b1 {{ mov.u64 r, &s; }}"
    test = only(f"ptx shown\n{objects}\n{threads}\nexists (A.r == 1 && B.r == 1)")
    (counted,) = seen(test, warps=1)
    assert states(counted) == {(test.address(Addr(name, offset)), test.address(Addr("s@b1")))}


@pytest.mark.parametrize("offset", [0, 128, 16, 64])
def test_a_tensor_copy_whose_shared_address_is_no_multiple_of_128_is_a_fault(offset: int) -> None:
    copy = f"cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [D, {{0}}], [s + {offset}];"
    ends = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    objects = ".global .u32 g[4];\n.global .tensormap D -> g acquired;\n.shared @ d0.c0.b0 .u32 s[36] = {0};"
    test = only(f"ptx out\n{objects}\nthread A @ d0.c0.b0 {{ {copy} {ends} }}\nexists (g[0] == 0)")
    with pytest.raises(Fault, match="no multiple of 128") if offset % 128 else nullcontext():
        assert states(seen(test, warps=1)[0]) == {(0,)}


@pytest.mark.parametrize("code", [
    "st.relaxed.gpu.global.u64 [p], &x;",
    "mov.u64 q, &x; st.relaxed.gpu.global.u64 [p], q;",
    "atom.exch.relaxed.gpu.global.b64 old, [p], &x;",
    "atom.cas.relaxed.gpu.global.b64 old, [p], 0, &x;",
])  # fmt: skip
def test_an_address_is_shown_as_the_test_knows_it_however_it_came_into_memory(code: str) -> None:
    reads = "ld.relaxed.gpu.global.u64 r, [p];"
    text = f"ptx points\n.global .u32 x;\n.global .u64 p;\nthread A @ d0.c0.b0 {{ {code} {reads} }}"
    test = only(f"{text}\nexists (A.r == &x)\nlocations [p]")
    at = test.address(Addr("x"))
    (counted,) = seen(test, warps=1)
    assert states(counted) == {(at, at)}
    assert counted.holding == counted.instances


@pytest.mark.parametrize(("code", "name", "offset"), [
    (".reg .u64 r = &x;", "x", 0),
    (".reg .u64 r = &w;", "w", 0),
    ("mov.u64 r, &w;", "w", 0),
    ("mov.u64 r, &x; add.u64 r, r, 4;", "x", 4),
])  # fmt: skip
def test_an_address_that_a_register_has_from_the_start_of_a_view_or_behind_an_object_is_shown_so(
    code: str, name: str, offset: int
) -> None:
    threads = f"thread A @ d0.c0.b0 {{ {code} }}\nthread B @ d0.c1.b1 {{ st.weak.u32 [x], 1; }}"
    test = only(f"ptx points\n.global .u32 x;\n.alias w = x;\n{threads}\nexists (A.r == 1)")
    assert states(seen(test, warps=1)[0]) == {(test.address(Addr(name, offset)),)}


@pytest.mark.parametrize("code", [
    "sub.u64 r, p, q;",
    ".reg .u32 r; cvt.u32.u64 r, p;",
    "cvt.u32.u64 l, p; st.weak.u32 [x], l; ld.weak.u32 r, [x];",
    "sub.u64 d, p, q; st.weak.u64 [z], d; ld.weak.u64 r, [z];",
])  # fmt: skip
def test_a_final_value_that_was_computed_from_addresses_of_global_memory_is_refused(code: str) -> None:
    thread = f"thread A @ d0.c0.b0 {{ mov.u64 p, &x; mov.u64 q, &y; {code} }}"
    with pytest.raises(Unsupported, match="computed from addresses"):
        kernel(only(f"ptx far\n.global .u32 x; .global .u32 y; .global .u64 z;\n{thread}\nexists (A.r == 1)"))
    compared = thread.replace(code, ".reg .pred r; setp.lt.u64 r, p, q; @r st.weak.u32 [x], 1;")
    assert kernel(only(f"ptx near\n.global .u32 x; .global .u32 y;\n{compared}\nexists (A.r == 1)"))


def test_a_thread_sleeps_as_long_as_a_number_a_register_or_an_expression_says() -> None:
    sleeps = "ns = 40; nanosleep.u32 ns; nanosleep.u32 20; .reg .pred p; setp.eq.u32 p, ns, 1; @p nanosleep.u32 999;"
    (counted,) = seen(only(MP.replace("{ st.weak", "{ " + sleeps + " st.weak")), warps=1)
    assert states(counted) <= {(0, 0), (0, 1), (1, 1)}


@pytest.mark.parametrize("clause", ["filter (B.r0 == 1)", "assume"])
def test_what_a_test_leaves_out_is_counted_apart(clause: str) -> None:
    text = MP.replace("exists", f"{clause}\nexists") if clause != "assume" else MP.replace(
        "[f]; ld", "[f]; assume(r0 == 1); ld")  # fmt: skip
    (counted,) = seen(only(text), warps=2, passes=4)
    assert counted.filtered > 0
    assert {values[0] for values in states(counted)} == {1}
    assert counted.filtered + counted.finished == counted.instances


def test_the_condition_is_counted_by_the_kernel_with_the_squares_of_each_warp() -> None:
    (counted,) = seen(only(MP.replace("B.r1 == 0", "B.r1 == 1")), warps=2, passes=4)
    assert 0 < counted.holding < counted.instances
    assert counted.holding**2 / counted.groups <= counted.squares <= 32 * counted.holding


def test_states_for_which_the_table_has_no_room_are_counted() -> None:
    orders = "\n".join(f"thread T{n} @ d0.c0.b0 {{ atom.relaxed.gpu.global.add.u32 r, [x], 1; }}" for n in range(6))
    shown = "; ".join(f"T{n}.r" for n in range(6))
    program = only(f"ptx orders\n.global .u32 x;\n{orders}\nlocations [{shown}]")
    (counted,) = seen(program, l2=2_000_000, passes=1)
    assert len(counted.outcomes) == harness.STATES < math.factorial(6)
    assert counted.unlisted > 0
    assert counted.adds_up


COUNTED_TOGETHER = """ptx counted-together
.shared @ d0.c0.b0 .u32 s;
thread A @ d0.c0.b0{} {{ p = 1 == 1; bar.red.popc.u32 c, 0, p; }}
thread B @ d0.c0.b0{} {{ p = 1 == 0; bar.red.popc.u32 c, 0, !p; d = 7; @p bar.red.popc.u32 d, 1, 64, p; }}
thread C @ d0.c0.b0{} {{ p = 1 == 0; bar.red.popc.u32 c, 0, p; }}
exists (A.c == B.c && B.c == C.c && B.d == 7)
"""


@pytest.mark.parametrize(("places", "found"), [(("", "", ""), 64), ((".w0.l0", ".w1.l5", ".w2.l31"), 2)])
def test_bar_red_popc_counts_all_lanes_of_a_thread_that_has_none(places: tuple[str, ...], found: int) -> None:
    test = only(COUNTED_TOGETHER.format(*places))
    (counted,) = seen(test, passes=2)
    assert states(counted) == allowed(test, model("ptx-9.4")) == {(found, found, found, 7)}


def test_bar_red_popc_of_lanes_and_whole_warps_is_refused() -> None:
    with pytest.raises(Unsupported, match="counts lanes and whole warps"):
        kernel(only(COUNTED_TOGETHER.format("", ".w1.l5", "")))


@pytest.mark.parametrize(("kind", "op", "words", "found"), [
    ("u64", "add", (1, 1 << 40), (2, (1 << 40) + 5)),
    ("s32", "max", (0xFFFFFFFF, 2), (1, 5)),
    ("f32", "add", (0x3F800000, 0), (0x3F800000, 0)),
    ("u8", "add", (255, 3), (0, 8)),
])  # fmt: skip
def test_a_bulk_reduction_is_an_operation_of_each_element(
    kind: str, op: str, words: tuple[int, int], found: tuple[int, int]
) -> None:
    size, length = int(kind[1:]) // 8, 48 * 8 // int(kind[1:])
    through = "cp.reduce.async.bulk.tensor.1d.global.shared::cta.{0}.tile.bulk_group [D, {{0}}], [s];"
    whole = "cp.reduce.async.bulk.global.shared::cta.bulk_group.{0}.{1} [g], [s], 48;"
    values = (0, 0) if kind == "f32" else (1, 5)
    test = f"""ptx reduction
        .global .{kind} g[{length}] = {{{hex(words[0])}, {hex(words[1])}}}; .global .tensormap D -> g acquired;
        .shared @ d0.c0.b0 .{kind} s[{length}] = {{{hex(values[0])}, {hex(values[1])}}};
        thread A @ d0.c0.b0 {{ %s cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; }}
        exists (g[0] == g[1])
        locations [g[0]; g[1]]"""
    assert size * length == 48
    for copy in (through, whole)[: 1 + (kind != "u8")]:
        (counted,) = seen(only(test % copy.format(op, kind)), warps=1)
        assert states(counted) == {found}


def test_an_atomic_operation_on_a_vector_is_one_of_each_element() -> None:
    test = only("""ptx vector
        .global .f32 x[4] = {1.0, 2.0, 3.0, 4.0};
        thread A @ d0.c0.b0 { .reg .f32 a; mov.f32 a, 1.0; red.relaxed.gpu.global.add.v4.f32 [x], {a, a, a, a};
            atom.relaxed.gpu.global.add.v2.f32 {b, c}, [x+8], {a, a}; }
        exists (x[0] == 2.0 && x[1] == 3.0 && x[2] == 5.0 && x[3] == 6.0 && A.b == 4.0 && A.c == 5.0)""")
    (counted,) = seen(test, warps=1)
    assert counted.holding == counted.instances > 0
