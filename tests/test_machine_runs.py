"""Kernels of `ptxmm run` on a machine without a GPU: what they count, under sequential consistency."""

from __future__ import annotations

import pytest
from machine.runs import seen

from ptxmm.gpu.log import Counted
from ptxmm.program import Program
from ptxmm.syntax.lit import read

MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x]; }
exists (B.r0 == 1 && B.r1 == 0)
"""


def only(text: str) -> Program:
    (program,) = read(text, "test.lit")
    return program


def states(counted: Counted) -> set[tuple[int, ...]]:
    return {outcome.values for outcome in counted.outcomes}


@pytest.mark.parametrize("seed", range(3))
def test_message_passing_shows_every_interleaving_and_nothing_else(seed: int) -> None:
    (counted,) = seen(only(MP), seed=seed)
    assert states(counted) == {(0, 0), (0, 1), (1, 1)}
    assert counted.instances == counted.finished
