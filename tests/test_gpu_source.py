"""Kernels from litmus tests: where threads and memory go, which instructions stand there; an assembler takes them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ptxmm.errors import Unsupported
from ptxmm.gpu.columns import column_name, columns
from ptxmm.gpu.epochs import epochs
from ptxmm.gpu.kernel import Kernel
from ptxmm.gpu.layout import Seat, layout
from ptxmm.gpu.source import kernel
from ptxmm.program import Program
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read

LIBRARY = sorted((Path(__file__).parent.parent / "litmus").rglob("*.lit"))
PTXAS = shutil.which("ptxas")
NEWEST = (9, 0)

MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x]; }
exists (B.r0 == 1 && B.r1 == 0)
"""


def only(text: str) -> Program:
    (program,) = read(text, "test.lit")
    return program


def body(made: Kernel, number: int) -> str:
    """What a role does between meeting and handing over."""
    role = made.text.split(f"ROLE{number}:")[1]
    return re.split(rf"\nDONE{number}:", re.split(r"\nMET_\d+:", role, maxsplit=1)[1])[0]


def assemble(text: str, tmp_path: Path) -> str:
    """What the assembler complains about."""
    assert PTXAS is not None
    source = tmp_path / "kernel.ptx"
    source.write_text(text, encoding="utf-8")
    command = [PTXAS, "-arch=sm_90a", "-O1", "-o", str(tmp_path / "kernel.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_threads_of_different_ctas_are_warps_of_different_ctas_with_32_copies_side_by_side() -> None:
    shape = layout(only(MP))
    assert shape.seats == (Seat(0, 0, 0, 0), Seat(1, 0, 0, 0))
    assert (shape.packed, shape.clusters, shape.cluster_size, shape.teams, shape.threads) == (True, 2, 1, 8, 256)


def test_threads_of_one_cta_are_warps_of_one_cta() -> None:
    shape = layout(only(MP.replace("d0.c1.b1", "d0.c0.b0")))
    assert shape.seats == (Seat(0, 0, 0, 0), Seat(0, 0, 1, 0))
    assert (shape.clusters, shape.warps, shape.teams) == (1, 2, 4)


def test_ctas_of_one_cluster_are_launched_as_a_cluster() -> None:
    made = kernel(only(MP.replace("d0.c1.b1", "d0.c0.b1")))
    assert (made.layout.clusters, made.layout.cluster_size) == (1, 2)
    assert ".reqnctapercluster 2, 1, 1" in made.text


def test_lanes_of_one_warp_play_one_copy_and_the_other_lanes_leave() -> None:
    shape = layout(only(MP.replace("d0.c0.b0", "d0.c0.b0.w0.l0").replace("d0.c1.b1", "d0.c0.b0.w0.l5")))
    assert shape.seats == (Seat(0, 0, 0, 0), Seat(0, 0, 0, 5))
    assert (shape.packed, shape.copies) == (False, 1)


def test_a_barrier_that_all_threads_reach_keeps_32_copies_and_one_in_a_branch_does_not() -> None:
    meeting = "thread A @ d0.c0.b0 { bar.sync 0; } thread B @ d0.c0.b0 { %s } exists (true)"
    assert layout(only("ptx t " + meeting.replace("(true)", "(0 == 0)") % "bar.sync 0;")).packed
    branching = "ld.u32 r, [x]; if (r == 0) { bar.sync 0; } else { bar.sync 0; }"
    shape = layout(only("ptx t .global .u32 x; " + meeting.replace("(true)", "(0 == 0)") % branching))
    assert (shape.packed, shape.teams) == (False, 1)


def test_the_instructions_are_those_of_the_test_with_registers_for_addresses() -> None:
    made = kernel(only(MP))
    assert re.search(
        r"st\.weak\.global\.u32 \[\w+\], \w+;\s+st\.release\.gpu\.global\.u32 \[\w+\], \w+;", body(made, 0)
    )
    assert re.search(
        r"ld\.acquire\.gpu\.global\.u32 \w+, \[\w+\];\s+ld\.weak\.global\.u32 \w+, \[\w+\];", body(made, 1)
    )


def test_no_fence_stands_between_the_meeting_and_the_test() -> None:
    made = kernel(only(MP.replace("release.gpu", "relaxed.gpu").replace("acquire.gpu", "relaxed.gpu")))
    for number in (0, 1):
        start = made.text.split(f"ROLE{number}:")[1].split("PLAYED")[0]
        assert "fence" not in start
        assert "acquire" not in start


def read_before(made: Kernel, number: int) -> list[str]:
    """The loads that bring lines into L1 before a thread of the test meets the others."""
    start = made.text.split(f"ROLE{number}:")[1].split("red.relaxed.gpu.global.add.u32 [point]")[0]
    return re.findall(r"ld\.weak\.global\.u32 \w+, \[(\w+)\]", start)


@pytest.mark.parametrize(
    ("before", "number"),
    [
        ("ld.relaxed.gpu.u32 r0, [f];", 2),
        ("bar.sync 0;", 1),
        ("do { ld.relaxed.gpu.u32 r0, [f]; } while (r0 == 0);", 2),
        ("", 1),
    ],
)
def test_what_a_thread_reads_behind_an_access_a_barrier_or_a_wait_may_sit_in_its_l1(before: str, number: int) -> None:
    made = kernel(
        only(f"""ptx late
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 {{ st.weak.u32 [x], 1; {"bar.sync 0;" if "bar" in before else ""} }}
thread B @ d0.c0.b0 {{ {before} ld.weak.u32 r1, [x]; }}
exists (B.r1 == 0)""")
    )
    assert len(read_before(made, 1)) == number
    least = re.findall(r"setp\.lt\.u32 \w+, preload, (\d)", made.text.split("ROLE1:")[1])
    assert ("1" in least) is bool(before)


def test_what_a_register_may_point_at_may_sit_in_l1() -> None:
    made = kernel(
        only("""ptx pointer
.global .u32 x; .global .u32 other; .global .u64 p;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u64 [p], &x; }
thread B @ d0.c1.b1 { ld.relaxed.gpu.u64 r0, [p]; if (r0 != 0) { ld.weak.u32 r1, [r0]; } }
exists (B.r0 != 0 && B.r1 == 0)""")
    )
    assert len(read_before(made, 1)) == 2, "x and p, not other"


def ends(made: Kernel) -> str:
    """What happens at the end of a pass, before the next one."""
    return re.split(r"\nPLAYED_\d+:", made.text)[-1].split("bra PASS")[0]


def test_a_thread_counts_itself_where_its_registers_alone_are_asked_for_and_a_pass_ends_without_a_meeting() -> None:
    made = kernel(only(MP))
    assert (made.meetings, made.result_bytes) == ((0,), 0)
    assert "fence" not in ends(made)
    assert "match.any.sync" in made.text.split("DONE1:")[1].split("bra PLAYED")[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("B.r0 == 1 && B.r1 == 0", "B.r0 == 1 && A.r0 == 0"),
        ("B.r0 == 1 && B.r1 == 0", "B.r0 == 1 && x == 0"),
        ("ld.weak.u32 r1, [x];", "ld.weak.u32 r1, [x]; st.weak.u32 [x], 2;"),
        ("st.weak.u32 [x], 1;", "do { ld.relaxed.gpu.u32 r0, [f]; } while (r0 != 0); st.weak.u32 [x], 1;"),
        ("st.weak.u32 [x], 1;", "red.relaxed.gpu.add.u32 [x], 1;"),
    ],
    ids=("two threads", "memory", "two writers", "a wait elsewhere", "initial values"),
)
def test_a_pass_ends_with_a_meeting_and_fences_where_more_than_the_registers_of_one_thread_is_asked_for(
    before: str, after: str
) -> None:
    assert before in MP
    made = kernel(only(MP.replace("{ st.weak", "{ r0 = 1; st.weak", 1).replace(before, after)))
    assert made.meetings != (0,)
    assert "fence.acq_rel.gpu" in ends(made)


def test_a_second_access_to_a_location_goes_through_a_pointer_that_the_assembler_cannot_compare() -> None:
    made = kernel(only(MP.replace("[x];", "[x]; ld.weak.u32 r2, [x];").replace("&& B.r1", "&& B.r2 == 0 && B.r1")))
    first, second = re.findall(r"ld\.weak\.global\.u32 \w+, \[(\w+)\]", body(made, 1))
    assert first != second
    assert re.search(rf"add\.s64 {second}, {first}, zero\d;", made.text)


def test_an_alias_is_the_same_memory_at_another_address() -> None:
    made = kernel(only(MP.replace("thread A", ".alias y = x; thread A").replace("r1, [x]", "r1, [y]")))
    assert made.aliased
    (address,) = re.findall(r"ld\.weak\.global\.u32 \w+, \[(\w+)\]", body(made, 1))
    assert re.search(rf"add\.s64 {address}, {address}, alias;", made.text)


def test_a_dependency_that_an_assembler_could_compute_away_stays() -> None:
    made = kernel(
        only(MP.replace("ld.weak.u32 r1, [x]", "r2 = r0 ^ r0; st.relaxed.gpu.u32 [x], r2; ld.weak.u32 r1, [x]"))
    )
    assert re.search(r"or\.b32 (\w+), \w+, \w+;\s+xor\.b32 \w+, \w+, \1;", body(made, 1))


def test_constants_tell_rounds_apart_and_sums_do_not() -> None:
    assert epochs(only(MP)) == {("x", 0): 0, ("f", 0): 0}
    assert epochs(only(MP.replace("st.release.gpu.u32 [f], 1", "red.release.gpu.add.u32 [f], 1"))) is None
    assert epochs(only(MP.replace("[x], 1", "[x], 16"))) is None
    assert epochs(only(MP.replace(".global .u32 x", ".global .u64 x").replace("weak.u32", "weak.u64"))) is None


def test_a_register_of_32_bits_holds_an_address_of_the_shared_window() -> None:
    made = kernel(
        only("""ptx t .shared @ d0.c0.b0 .u32 s;
                thread A @ d0.c0.b0 { mov.u32 r1, s; ld.shared.u32 r2, [r1 + 0]; } exists (A.r2 == 0)""")
    )
    code = body(made, 0)
    (window,) = re.findall(r"cvt\.u32\.u64 \w+, (\w+);", code)
    assert f"add.s64 {window}, shared_here, 0;" in made.text
    assert f"cvta.shared.u64 {window}" not in made.text
    assert re.search(r"cvta\.shared\.u64 (\w+), \w+;\s+ld\.weak\.u32 \w+, \[\1\]", code)


def test_every_wait_is_bounded() -> None:
    waiting = MP.replace("ld.acquire.gpu.u32 r0, [f];", "wait_until.gpu.global.u32 r0, [f], r0 == 1;")
    code = body(kernel(only(waiting)), 1)
    assert "bra STUCK1;" in code.split("ld.relaxed.gpu")[1]


def test_the_scope_of_shared_memory_is_the_own_cta_or_the_cluster() -> None:
    made = kernel(
        only(
            """ptx t .shared @ d0.c0.* .u32 s;
            thread A @ d0.c0.b0 { st.weak.u32 [s], 1; ld.weak.u32 r0, [s@b1]; }
            thread B @ d0.c0.b1 { st.weak.u32 [s], 2; } exists (A.r0 == 2 && s@b0 == 1)"""
        )
    )
    code = body(made, 0)
    assert "st.weak.shared::cta.u32" in code
    assert "ld.weak.shared::cluster.u32" in code
    assert "mapa.shared::cluster.u64" in made.text


def test_a_state_is_what_the_condition_names_or_everything() -> None:
    program = only(MP)
    assert [column_name(program, one) for one in columns(program)] == ["B.r0", "B.r1"]
    silent = only(MP.split("exists")[0])
    assert [column_name(silent, one) for one in columns(silent)] == ["B.r0", "B.r1", "x", "f"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("exists", ".alias y = x; .alias z = x; exists", "more than two addresses"),
        (
            "exists",
            ".shared @ d0.c0.b0 .u32 s;"
            "thread C @ d0.c0.b0 { mov.u32 r1, s; ld.shared.u32 r2, [r1]; mov.u64 d, s; } exists",
            "in 32 bits and in 64",
        ),
        ("exists", 'hardware { skip "it takes a year"; } exists', "it takes a year"),
        ("ld.acquire.gpu.u32 r0, [f];", "wgmma.fence.sync.aligned; ld.acquire.gpu.u32 r0, [f];", "tensor core"),
    ],
)
def test_what_one_launch_cannot_do_is_unsupported_with_the_reason(before: str, after: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        kernel(only(MP.replace(before, after)))


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 6])
def test_every_test_of_the_library_has_a_kernel_or_a_reason(every: int) -> None:
    kernels, reasons = 0, set()
    for path in LIBRARY[::every]:
        for program in read_programs(path):
            try:
                kernels += bool(kernel(program).text)
            except Unsupported as wrong:
                reasons.add(str(wrong))
    assert kernels > 1500 // every // 2
    assert all(
        re.match(
            "it needs several|it has |it uses |a final value|lanes of a warp|its threads|PTX has no|`x` is reached", why
        )
        for why in reasons
    )


def some(paths: list[Path]) -> list[Program]:
    return [read_programs(path)[0] for path in paths]


@pytest.mark.skipif(PTXAS is None, reason="there is no ptxas")
@pytest.mark.parametrize("program", some(LIBRARY[::29]), ids=lambda program: program.full_name)
def test_an_assembler_takes_the_kernel_of_a_test(program: Program, tmp_path: Path) -> None:
    _assembles(program, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(PTXAS is None, reason="there is no ptxas")
@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_an_assembler_takes_the_kernels_of_all_tests(path: Path, tmp_path: Path) -> None:
    seen = set()
    for program in read_programs(path):
        try:
            text = kernel(program).text
        except Unsupported:
            continue
        if text not in seen:
            seen.add(text)
            _assembles(program, tmp_path, skip=False)


def _assembles(program: Program, tmp_path: Path, *, skip: bool = True) -> None:
    try:
        made = kernel(program)
    except Unsupported as wrong:
        pytest.skip(str(wrong))
    if made.version > NEWEST or made.target == "sm_100":
        if skip:
            pytest.skip(f"it needs PTX {made.version[0]}.{made.version[1]} and {made.target}")
        return
    assert assemble(made.text, tmp_path) == ""


def counts(text: str) -> list[list[str]]:
    """The barriers of each thread, as the kernel has them."""
    made = kernel(only(text))
    return [re.findall(r"barrier\.cta\.sync\.aligned ([^;]*);", body(made, n)) for n in range(len(made.layout.seats))]


def test_a_barrier_waits_for_the_threads_that_have_not_ended() -> None:
    meeting = "ptx t thread A @ d0.c0.b0 { %s } thread B @ d0.c0.b0 { %s } thread C @ d0.c0.b0 { %s } exists (0 == 0)"
    once, twice = "bar.sync 0;", "bar.sync 0; bar.sync 0;"
    assert counts(meeting % (once, once, once)) == [["0"]] * 3
    assert counts(meeting % (twice, twice, once)) == [["0", "0, 64"], ["0", "0, 64"], ["0"]]
    assert counts(meeting % (once, once, "")) == [["0, 64"], ["0, 64"], []]


@pytest.mark.parametrize(
    "last",
    [
        "bar.sync 1;",
        "bar.sync 0, 96;",
        ".reg .u32 r; do { ld.u32 r, [x]; } while (r == 0);",
    ],
)
def test_a_barrier_stays_as_it_is_where_a_thread_may_not_have_ended(last: str) -> None:
    text = "ptx t .global .u32 x; thread A @ d0.c0.b0 { bar.sync 0; } thread B @ d0.c0.b0 { %s } exists (0 == 0)"
    assert counts(text % last)[0] == ["0"]
