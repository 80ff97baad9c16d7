"""Constant memory in `ptxmm run`: arrays of the module, which every copy of a test reads."""

from __future__ import annotations

import pytest
from machine.runs import seen, states

from ptxmm.errors import Unsupported
from ptxmm.gpu.kernel import entry
from ptxmm.gpu.needed import needed
from ptxmm.gpu.source import kernel
from ptxmm.program import Program
from ptxmm.syntax.lit import read


def only(text: str) -> Program:
    (program,) = read(text, "t.lit")
    return program


OBJECTS = ".global .u32 x; .const .u32 k[3] = {7, 0x80000000, 9}; .const .u8 b = 5; .const .s64 w = -2;"


def test_constant_memory_holds_its_initial_values() -> None:
    program = only(
        f"""ptx t {OBJECTS}
        thread A @ d0.c0.b0 {{ ld.const.u32 r0, [k+4]; st.relaxed.gpu.u32 [x], r0; ld.u8 r1, [b]; ld.s64 r2, [w]; }}
        thread B @ d0.c1.b1 {{ ld.relaxed.gpu.u32 r0, [x]; ld.weak.const.u32 r1, [k+8]; }}
        exists (B.r0 == 1 && A.r1 == 5 && A.r2 == 0 && B.r1 == 9 && k[2] == 9)"""
    )
    (counted,) = seen(program, passes=2)
    assert states(counted) == {(first, 5, 2**64 - 2, 9, 9) for first in (0, 1 << 31)}


def test_the_arrays_of_a_test_and_its_controls_are_declared_once() -> None:
    made = kernel(only(f"ptx t {OBJECTS} thread A @ d0.c0.b0 {{ ld.u32 r0, [k]; }} exists (A.r0 == 0)"))
    assert entry(made, made).text.count(".const .align 16 .b8 constant1[12] = {7, 0, 0, 0, 0, 0, 0, 128, 9") == 1


@pytest.mark.parametrize(
    ("objects", "code", "why"),
    [
        (".const .u64 p = &x;", "ld.u64 r0, [p];", "holds addresses"),
        (".const .u32 k;", "mov.u64 r0, k;", "is a value"),
        (".global .u64 p = &k; .const .u32 k;", "ld.u64 r0, [p];", "is a value"),
        (".const .u32 k[16400];", "ld.u32 r0, [k];", "more constant memory"),
        (".constref c = x; .const .u32 k;", "ldc.u32 r0, [c]; ld.u32 r0, [k];", "hold small constants"),
    ],
)
def test_more_than_loads_of_constant_memory_is_refused(objects: str, code: str, why: str) -> None:
    program = only(f"ptx t .global .u32 x; {objects} thread A @ d0.c0.b0 {{ {code} }} exists (A.r0 == 0)")
    with pytest.raises(Unsupported, match=why):
        kernel(program)


def test_what_is_never_written_needs_no_access_of_its_own_in_machine_code() -> None:
    found = needed("ld.weak.const.u32 r, [p]")
    assert found is not None
    assert found.nothing
