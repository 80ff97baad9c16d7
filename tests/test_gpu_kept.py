"""Instructions that an assembler would drop: their results are thrown away, or constants leave them out."""

from __future__ import annotations

import re
import shutil

import pytest

from ptxmm.gpu.audit import audit
from ptxmm.gpu.kept import settled
from ptxmm.gpu.kernel import Kernel
from ptxmm.gpu.source import kernel
from ptxmm.program import Program
from ptxmm.syntax.lit import read

TOOLS = pytest.mark.skipif(
    not (shutil.which("ptxas") and shutil.which("nvdisasm")), reason="ptxas and nvdisasm are not installed"
)


def only(code: str, asks: str, place: str = "d0.c1.b1", objects: str = "") -> Program:
    """A test of two threads, the second of which is looked at."""
    (program,) = read(
        f"ptx kept\n.global .u32 x; .global .u32 y; {objects}\n"
        f"thread A @ d0.c0.b0 {{ st.relaxed.gpu.u32 [x], 1; }}\nthread B @ {place} {{ {code} }}\nexists ({asks})\n",
        "test.lit",
    )
    return program


def role(made: Kernel) -> str:
    """The second thread: the test, and what follows it."""
    return made.text.split("TEST1:")[1].split("bra PLAYED")[0]


def used(made: Kernel) -> set[str]:
    """The kept registers whose values end in what each round may store."""
    ends = role(made).split("DONE1:")[1]
    widened = {m[1]: m[2] for m in re.finditer(r"(?:cvt|selp|mov)\.\S+ (\w+), (?:1, 0, )?(kept\w+);", ends)}
    added = re.findall(r"add\.s64 waste, waste, (\w+);", ends)
    return {widened.get(each, each) for each in added if widened.get(each, each).startswith("kept")}


def test_the_predicate_of_an_election_that_nobody_reads_is_used_at_the_end() -> None:
    made = kernel(only("elect.sync _|p, 1;", "x == 1", "d0.c1.b1.w0.l0"))
    assert re.search(r"elect\.sync _\|(\w+), 1;\s+mov\.pred kept1_0, \1;", role(made))
    assert used(made) == {"kept1_0"}


@pytest.mark.parametrize(
    "instruction",
    [
        "atom.relaxed.gpu.add.u32 _, [x], 1;",
        "atom.acq_rel.gpu.exch.b32 _, [x], 1;",
        "ld.acquire.gpu.u32 _, [x];",
        "ld.relaxed.sys.u64 _, [y];",
        "atom.relaxed.gpu.exch.b128 _, [w], 1;",
        "atom.relaxed.gpu.cas.b16 _, [h], 0, 1;",
    ],
)
def test_a_result_that_is_thrown_away_has_a_register_that_is_used_at_the_end(instruction: str) -> None:
    objects = ".global .b128 w; .global .b16 h;"
    made = kernel(only(instruction.replace("[y]", "[d]"), "x == 1", objects=objects + " .global .u64 d;"))
    (line,) = (each for each in role(made).split("DONE1:")[0].splitlines() if re.search(r"(ld|atom)\.\w+\.\w", each))
    assert "kept1_0" in line
    assert "kept1_0" in role(made).split("DONE1:")[1]


def test_a_part_of_a_vector_that_is_thrown_away_is_read_all_the_same() -> None:
    made = kernel(only("ld.relaxed.gpu.v2.u32 {r0, _}, [v];", "B.r0 == 1", objects=".global .align 8 .u32 v[2];"))
    assert used(made) == {"kept1_0"}


def test_a_value_that_is_read_anew_before_anything_needs_it_is_used_at_the_end() -> None:
    made = kernel(only("ld.relaxed.gpu.u32 r0, [x]; ld.relaxed.gpu.u32 r0, [y];", "B.r0 == 1"))
    assert len(used(made)) == 2


def test_a_poll_needs_the_value_that_it_reads_and_nothing_is_kept_for_it() -> None:
    made = kernel(only("do { ld.relaxed.gpu.u32 r0, [x]; } while (r0 != 1); ld.relaxed.gpu.u32 r0, [y];", "B.r0 == 1"))
    before_the_branch = role(made).split("bra T1_")[0]
    assert "kept" not in before_the_branch


def test_results_that_the_question_names_need_no_other_use() -> None:
    made = kernel(only("ld.relaxed.gpu.u32 r0, [x]; ld.relaxed.gpu.u32 r1, [y];", "B.r0 == 1 && B.r1 == 0"))
    assert "kept" not in made.text


def test_a_reduction_has_no_result() -> None:
    made = kernel(only("red.relaxed.gpu.add.u32 [x], 1;", "x == 1"))
    assert "kept" not in made.text


def test_registers_that_only_constants_reach_are_settled() -> None:
    program = only(
        "mov.u32 i, 0; mov.u32 j, i; ld.relaxed.gpu.u32 r0, [x]; add.u32 k, r0, j; mov.u32 l, k;", "B.r0 == 1"
    )
    assert settled(program.threads[1]) == {"i", "j"}


COUNTED = "mov.u32 i, 2; if (i < 2) { st.relaxed.gpu.u32 [y], 1; } ld.relaxed.gpu.u32 r0, [x];"


def test_a_branch_that_constants_decide_is_one_for_the_assembler() -> None:
    made = kernel(only(COUNTED, "B.r0 == 1"))
    assert re.search(r"xor\.pred (\w+), \w+, never1;\s+@!?\1 bra", role(made))


def test_a_branch_that_skips_a_poll_because_of_a_constant_is_one_for_the_assembler() -> None:
    poll = "mov.u32 r0, 1; while (r0 != 1) { ld.relaxed.gpu.u32 r0, [x]; } ld.relaxed.gpu.u32 r1, [y];"
    assert re.search(r"xor\.pred (\w+), \w+, never1;\s+@!?\1 bra", role(kernel(only(poll, "B.r1 == 1"))))


def test_a_branch_on_what_was_read_is_left_as_it_is() -> None:
    made = kernel(only(COUNTED.replace("mov.u32 i, 2", "ld.relaxed.gpu.u32 i, [y]"), "B.r0 == 1"))
    assert "never1" not in made.text


@TOOLS
@pytest.mark.parametrize(
    "code",
    [
        COUNTED,
        "atom.release.gpu.add.u32 _, [y], 1; ld.acquire.gpu.u32 _, [y]; ld.relaxed.gpu.u32 r0, [x];",
        "ld.relaxed.gpu.u32 r0, [y]; ld.relaxed.gpu.u32 r0, [x];",
    ],
)
def test_what_would_be_dropped_is_in_the_machine_code(code: str) -> None:
    found = audit(kernel(only(code, "B.r0 == 1")).text, "sm_90a")
    assert found.label == "as written", found.remarks
