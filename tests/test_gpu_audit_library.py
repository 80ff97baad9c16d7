"""The audit of the library's kernels, where the tools of the CUDA toolkit are installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptxmm.gpu.audit import audit, roles
from ptxmm.gpu.source import kernel
from ptxmm.program import Program
from ptxmm.syntax import read_programs

LIBRARY = Path(__file__).parent.parent / "litmus"
TOOLS = pytest.mark.skipif(
    not (shutil.which("ptxas") and shutil.which("nvdisasm")), reason="ptxas and nvdisasm are not installed"
)


def named(file: str, name: str) -> Program:
    return next(test for test in read_programs(LIBRARY / file) if test.full_name == name)


def test_the_roles_of_a_kernel_hold_the_instructions_of_the_test() -> None:
    first, second = roles(kernel(named("basic/MP.lit", "MP[release-acquire]")).text)
    assert [line.text.split()[0] for line in first.lines] == ["st.relaxed.gpu.global.u32", "st.release.gpu.global.u32"]
    assert [line.text.split()[0] for line in second.lines] == ["ld.acquire.gpu.global.u32", "ld.relaxed.gpu.global.u32"]


@TOOLS
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("basic/MP.lit", "MP[release-acquire]"),
        ("basic/MP.lit", "MP[relaxed]"),
        ("basic/CoRR.lit", "CoRR[relaxed]"),
        ("basic/CoWW.lit", "CoWW[relaxed]"),
        ("fences/MP+fences.lit", "MP+fences[acq_rel-sc]"),
    ],
)
def test_strong_accesses_and_fences_of_the_library_are_as_written(file: str, name: str) -> None:
    found = audit(kernel(named(file, name)).text, "sm_90a")
    assert found.label == "as written", found.remarks
