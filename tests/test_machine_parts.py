"""The machine that runs kernels: what it does at each instruction, and what it calls a fault or a hang."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from machine import mbarriers
from machine.device import Machine, Settings
from machine.memory import ALIAS, Fault, Memory
from machine.scheduler import Hang
from machine.text import Unknown, read_entry

from ptxmm.arith import Type, binary

HEAD = ".version 8.6\n.target sm_90\n.extern .shared .align 128 .b8 dynamic[];\n.visible .entry k(.param .u64 in_out)\n"
OUT = "{ .reg .b64 out, at; .reg .b32 t, a, b, c; .reg .pred p; ld.param.u64 out, [in_out]; mov.u32 t, %tid.x; "
STORED = "mad.wide.u32 at, t, 4, out; st.global.b32 [at], a; ret; }"


def ran(code: str, threads: int = 1, ctas: int = 1, dynamic: int = 0, tuning: str = "", seed: int = 0) -> list[int]:
    """What the threads of a small kernel store: each one word, from the register `a`."""
    machine = Machine(Settings(seed=seed, most=100_000))
    out = machine.memory.allocate(4 * threads)
    machine.launch(0, HEAD + tuning + OUT + code + STORED, (ctas, threads), ((out, 64),), dynamic)
    machine.synchronize()
    return [machine.memory.load(out + 4 * n, 32) for n in range(threads)]


# --- text ------------------------------------------------------------------------------------------------------------


def test_names_in_inner_braces_are_their_own_and_labels_are_found_outwards() -> None:
    entry = read_entry(HEAD + "{ .reg .b32 x; bra IN; IN: { .reg .b64 x; L: mov.u64 x, 1; bra L; } { L: bra IN; } }")
    assert entry.registers == {"x": 32, "x__1": 64}
    jumps = [item.operands for item in entry.code if not isinstance(item, str) and item.words == ("bra",)]
    assert jumps == [("IN",), ("L__1",), ("IN",)]


@pytest.mark.parametrize("line", ["frobnicate.u32 a, b;", "add.u32 a, b, nothing;", ".local .b32 z;"])
def test_what_the_machine_does_not_know_is_named(line: str) -> None:
    with pytest.raises(Unknown):
        ran(f"mov.u32 b, 0; {line} ")


# --- arithmetic ------------------------------------------------------------------------------------------------------

SYMBOLS = {"add": "+", "sub": "-", "mul.lo": "*", "div": "/", "rem": "%", "min": "min", "max": "max", "shr": ">>"}
BITS = {"and": "&", "or": "|", "xor": "^", "shl": "<<"}
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
WORDS = some.sampled_from((0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)) | some.integers(
    0, 0xFFFFFFFF
)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(WORDS, WORDS)
def test_integers_are_computed_as_the_engines_compute_them(left: int, right: int) -> None:
    computed = [(f"{op}.{kind}32 c, a, b;", symbol, kind) for op, symbol in SYMBOLS.items() for kind in "us"]
    computed += [(f"{op}.b32 c, a, b;", symbol, "u") for op, symbol in BITS.items()]
    for kind in "us":
        compared = {f"setp.{op}.{kind}32 p, a, b; selp.b32 c, 1, 0, p;": symbol for op, symbol in COMPARED.items()}
        computed += [(line, symbol, kind) for line, symbol in compared.items()]
    lines = [f"{line} st.global.b32 [out+{4 * place}], c;" for place, (line, _, _) in enumerate(computed)]
    machine = Machine(Settings())
    out = machine.memory.allocate(4 * len(lines))
    code = f"mov.u32 a, {left}; mov.u32 b, {right}; {' '.join(lines)} ret; }}"
    machine.launch(0, HEAD + OUT + code, (1, 1), ((out, 64),), 0)
    machine.synchronize()
    for place, (line, symbol, kind) in enumerate(computed):
        assert machine.memory.load(out + 4 * place, 32) == binary(symbol, left, right, Type(kind, 32)), line


# --- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ld.global.u32 a, [out+2];", "access of 4 bytes"),
        ("ld.global.u32 a, [out+4096];", "access of 4 bytes"),
        ("cvt.u32.u64 b, out; cvt.u64.u32 at, b; ld.global.u32 a, [at];", "access of 4 bytes"),
        ("mov.u64 at, dynamic; ld.shared.u32 a, [at+64];", "outside shared memory"),
        ("mov.u64 at, dynamic; cvta.shared.u64 at, at; ld.shared.u32 a, [at];", "generic address"),
        ("mov.u64 at, dynamic; ld.global.u32 a, [at];", "access of 4 bytes"),
        ("mov.u64 at, dynamic; mapa.shared::cluster.u64 at, at, 1; ld.shared::cluster.u32 a, [at];", "rank 1"),
        ("add.u32 a, b, 1;", "never written: .*r_b"),
    ],
)
def test_what_a_kernel_must_not_do_is_a_fault(line: str, why: str) -> None:
    with pytest.raises(Fault, match=why):
        ran(line + " mov.u32 a, 0; ", dynamic=64)


def test_memory_has_a_second_address_and_sizes_share_bytes() -> None:
    memory = Memory()
    place = memory.allocate(16)
    memory.store(place, 128, 0x0F0E0D0C_0B0A0908_07060504_03020100)
    assert [memory.load(place ^ ALIAS, bits) for bits in (8, 16, 32, 64)] == [0, 0x100, 0x3020100, 0x706050403020100]
    memory.store((place ^ ALIAS) + 5, 8, 0xFF)
    assert memory.load(place, 64) == 0x0706_FF04_03020100


def test_a_generic_address_of_shared_memory_reaches_the_same_word_as_its_offset() -> None:
    code = "mov.u64 at, dynamic; mov.u32 b, 7; st.shared.u32 [at], b; cvta.shared.u64 at, at; ld.u32 a, [at]; "
    assert ran(code, dynamic=16) == [7]


# --- threads ---------------------------------------------------------------------------------------------------------


def test_lanes_vote_and_match_with_those_of_their_mask() -> None:
    code = "and.b32 b, t, 3; setp.eq.u32 p, b, 1; vote.sync.ballot.b32 a, p, 0xffffffff; "
    assert ran(code, threads=32) == [0x22222222] * 32
    assert ran("and.b32 b, t, 1; match.any.sync.b32 a, b, 0xffffffff; ", threads=32) == [0x55555555, 0xAAAAAAAA] * 16


def test_a_lane_with_a_mask_without_itself_is_a_fault_and_one_that_has_exited_is_not_waited_for() -> None:
    with pytest.raises(Fault, match="a mask without itself"):
        ran("mov.u32 a, 0; bar.warp.sync 1; ", threads=2)
    assert ran("mov.u32 a, 1; setp.ge.u32 p, t, 2; @p ret; bar.warp.sync 0xffffffff; ", threads=4) == [1, 1, 0, 0]


def test_barriers_of_a_cta_wait_for_warps_and_reduce_predicates() -> None:
    code = "setp.lt.u32 p, t, 40; barrier.cta.red.popc.aligned.u32 a, 0, p; "
    assert ran(code, threads=96) == [40] * 96
    with pytest.raises(Fault, match="33 threads"):
        ran("mov.u32 a, 0; bar.sync 1, 33; ", threads=64)


def test_threads_that_wait_for_each_other_are_a_hang() -> None:
    with pytest.raises(Hang, match="agents wait"):
        ran("mov.u32 a, 0; bar.sync 0, 64; ", threads=32)
    with pytest.raises(Hang, match="steps"):
        ran("L: ld.global.u32 a, [out]; bra L; ", threads=1)


def test_a_cluster_meets_and_its_ctas_reach_each_others_memory() -> None:
    code = (
        "mov.u32 b, %cluster_ctarank; mov.u64 at, dynamic; add.u32 c, b, 5; st.shared.u32 [at], c; "
        "barrier.cluster.arrive; barrier.cluster.wait; xor.b32 c, b, 1; mapa.shared::cluster.u64 at, at, c; "
        "ld.shared::cluster.u32 a, [at]; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 t, b; "
    )
    tuning = ".explicitcluster .reqnctapercluster 2, 1, 1\n"
    machine_words = ran(code, ctas=2, dynamic=16, tuning=tuning)
    assert machine_words == [6]
    with pytest.raises(Fault, match="clusters of 2"):
        ran(code, ctas=3, dynamic=16, tuning=tuning)


def test_atomic_operations_are_one_step_and_plain_ones_are_not() -> None:
    assert max(ran("atom.global.add.u32 a, [out+12], 1; mov.u32 t, 0; ", threads=4)[3:]) == 4
    plain = "ld.global.u32 b, [out+12]; add.u32 b, b, 1; st.global.u32 [out+12], b; mov.u32 a, 0; mov.u32 t, 0; "
    assert len({ran(plain, threads=4, seed=seed)[3] for seed in range(20)} - {4}) > 0


def test_the_clock_goes_on_and_a_seed_decides_everything() -> None:
    code = "cvt.u32.u64 a, out; mov.u64 at, %clock64; cvt.u32.u64 a, at; "
    first = ran(code, threads=32, seed=1)
    assert first == ran(code, threads=32, seed=1) != ran(code, threads=32, seed=2)
    twice = ran("mov.u64 at, %clock64; cvt.u32.u64 b, at; mov.u64 at, %clock64; cvt.u32.u64 a, at; sub.u32 a, a, b; ")
    assert twice[0] > 0


# --- mbarriers, streams ----------------------------------------------------------------------------------------------

STEPS: list[tuple[str, Callable[[Memory, int], object]]] = [
    ("more arrivals", lambda m, at: mbarriers.arrive(m, at, 3)),
    ("no mbarrier", lambda m, at: mbarriers.arrive(m, at + 8)),
    ("expects no arrivals", lambda m, at: mbarriers.arrive(m, at, 2, drop=True)),
    ("ends a phase", lambda m, at: mbarriers.arrive(m, at, 2, ends=False)),
    ("pending bytes", lambda m, at: mbarriers.expect(m, at, 1 << 20)),
]


@pytest.mark.parametrize(("what", "step"), STEPS)
def test_an_mbarrier_used_wrongly_is_a_fault(what: str, step: Callable[[Memory, int], object]) -> None:
    memory = Memory()
    place = memory.allocate(16)
    mbarriers.init(memory, place, 2)
    with pytest.raises(Fault):
        step(memory, place)


def test_a_phase_ends_when_arrivals_and_bytes_are_complete_and_an_old_token_is_a_fault() -> None:
    memory = Memory()
    place = memory.allocate(8)
    mbarriers.init(memory, place, 1)
    token = mbarriers.arrive(memory, place, expect=32)
    assert mbarriers.pending(token) == 1
    assert not mbarriers.over(memory, place, token)
    mbarriers.complete(memory, place, 32)
    assert mbarriers.over(memory, place, token)
    assert mbarriers.over_parity(memory, place, 0)
    mbarriers.arrive(memory, place)
    with pytest.raises(Fault, match="not the last"):
        mbarriers.over(memory, place, token)


ORDERED = "mov.u32 a, 1; ld.global.u32 b, [out]; setp.eq.u32 p, b, 0; @p bra FIRST; mov.u32 a, 2; FIRST: "


@pytest.mark.parametrize(("trigger", "wait", "words"), [
    ("", "", {(2,)}),
    ("griddepcontrol.launch_dependents; ", "griddepcontrol.wait; ", {(2,)}),
    ("griddepcontrol.launch_dependents; ", "", {(1,), (2,)}),
])  # fmt: skip
def test_a_dependent_launch_starts_when_it_may_and_waits_when_it_says_so(
    trigger: str, wait: str, words: set[tuple[int]]
) -> None:
    found = set()
    for seed in range(12):
        machine = Machine(Settings(seed=seed))
        out = machine.memory.allocate(4)
        for code, dependent in ((trigger, False), (wait, True)):
            machine.launch(0, HEAD + OUT + code + ORDERED + STORED, (1, 1), ((out, 64),), 0, dependent=dependent)
        machine.synchronize()
        found.add((machine.memory.load(out, 32),))
    assert found == words


def test_streams_run_beside_each_other_and_each_in_order() -> None:
    counted = "L: ld.global.u32 b, [out]; setp.ne.u32 p, b, {n}; @p bra L; add.u32 a, b, 1; "
    machine = Machine(Settings(most=100_000))
    out = machine.memory.allocate(4)
    for stream, number in ((0, 0), (1, 1), (0, 2)):
        machine.launch(stream, HEAD + OUT + counted.format(n=number) + STORED, (1, 1), ((out, 64),), 0)
    machine.synchronize()
    assert machine.memory.load(out, 32) == 3
