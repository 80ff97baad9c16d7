"""A test runs at full tilt: no use of a loaded value by the harness stands between two of its accesses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptxmm.batch import read
from ptxmm.gpu.assembler import kept
from ptxmm.gpu.audit import audit_of, audited
from ptxmm.gpu.prepared import prepared

LITMUS = Path(__file__).parents[1] / "litmus"
KERNEL = """\
ROLE0:
TEST0:
    ld.relaxed.gpu.global.u32 v1, [p0];
    st.relaxed.gpu.global.u32 [p1], {stored};
DONE0:
    sub.u32 v2, v1, epoch;
"""
LOAD, STORE, USE = (
    (3, "LDG.E.STRONG.GPU R4, desc[UR4][R2.64]"),
    (4, "STG.E.STRONG.GPU desc[UR4][R6.64], R7"),
    (6, "IADD3 R5, -R9, R4, RZ"),
)


def _listing(*instructions: tuple[int, str]) -> str:
    lines = []
    for place, (line, text) in enumerate(instructions):
        lines += [
            f'\t//## File ".nv_debug_ptx_txt", line {line}',
            f"        /*{place * 16:04x}*/                   {text} ;",
        ]
    return "\n".join(lines)


def test_a_value_that_is_used_before_the_next_access_holds_it_up() -> None:
    found = audited(KERNEL.format(stored=1), _listing(LOAD, USE, STORE))
    assert found.label == "as written"
    assert found.remarks == (
        "thread 0: `st.relaxed.gpu.global.u32 [p1], 1` waits for `ld.relaxed.gpu.global.u32 v1, [p0]`",
    )


def test_a_value_that_is_used_behind_the_test_holds_nothing_up() -> None:
    assert not audited(KERNEL.format(stored=1), _listing(LOAD, STORE, USE)).remarks


def test_a_store_of_what_was_loaded_waits_for_it_anyway() -> None:
    assert not audited(KERNEL.format(stored="v1"), _listing(LOAD, USE, STORE)).remarks


@pytest.mark.skipif(not (shutil.which("ptxas") and shutil.which("nvdisasm")), reason="ptxas and nvdisasm are missing")
@pytest.mark.parametrize(
    ("file", "variant"), [("basic/LB", "relaxed"), ("basic/SB", "relaxed"), ("basic/IRIW", "fence.sc.cta")]
)
def test_in_a_kernel_with_its_controls_nothing_is_held_up(file: str, variant: str, tmp_path: Path) -> None:
    (test,) = (one for one in read(LITMUS / f"{file}.lit", None) if one.variant == variant)
    made = prepared(test, "9.0", with_controls=True).entry
    assert made is not None
    code = kept(tmp_path, shutil.which("ptxas") or "", made.text, "sm_90a")
    assert audit_of(made.text, code).remarks == ()
