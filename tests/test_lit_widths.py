"""A load into a wider register extends its value, by its sign where it is loaded as signed, in both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.batch import Piece, decide
from ptxmm.check import Options
from ptxmm.request import Request
from ptxmm.verdict import Result

NARROW = """ptx narrow
.global .s8 c = -5; .global .u16 h = 0xfffb; .global .u32 y; .global .u64 q;
thread A @ d0.b0 { $I }
forall ($C)
variants
 name    | I                                                    | C                               | expect
 store   | ld.s8 r0, [c]; st.u32 [y], r0;                       | y == 0xfffffffb && A.r0 == -5   | holds
 zeros   | ld.u8 r0, [c]; st.u32 [y], r0;                       | y == 0xfb                       | holds
 over    | mov.u32 r0, 0xffffffff; ld.u16 r0, [h]; st [y], r0;  | y == 0xfffb                     | holds
 signed  | mov.u32 r0, 0; ld.s16 r0, [h]; st.u32 [y], r0;       | y == 0xfffffffb                 | holds
 double  | ld.s8 r0, [c]; st.u64 [q], r0;                       | q == 0xfffffffffffffffb         | holds
 add     | ld.s8 r0, [c]; add.s32 r1, r0, 1;                    | A.r1 == -4                      | holds
end
"""


@pytest.mark.parametrize("engine", ["z3", "enumeration"])
def test_a_narrow_load_fills_a_wide_register(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "narrow.lit"
    path.write_text(NARROW, encoding="utf-8")
    answers = decide(Piece(path), Request(Options(properties=frozenset({"outcome"}), engine=engine)))
    assert len(answers) == 6
    for answer in answers:
        assert isinstance(answer, Result)
        assert answer.verdict == "holds", (answer.variant, answer.why)
        assert answer.ok is True, (answer.variant, answer.surprises)
