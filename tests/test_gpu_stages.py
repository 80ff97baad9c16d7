"""Tests of several kernels: which launches play them, on the machine that stands in for a GPU."""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from machine import standin
from machine.device import Settings
from machine.runs import seen

from ptxmm.errors import Unsupported
from ptxmm.gpu import dependents, turns
from ptxmm.gpu.counting import counted
from ptxmm.gpu.device import Gpu
from ptxmm.gpu.jobs import Job
from ptxmm.gpu.log import Counted
from ptxmm.gpu.prepared import prepared
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.source import kernel
from ptxmm.gpu.stages import Stage, stages
from ptxmm.gpu.turns import play
from ptxmm.program import Program
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read

LIBRARY = Path(__file__).parent.parent / "litmus"
THREE = """ptx three
.global .u32 x; .global .u32 y;
thread A @ k0.d0.c0.b0 { st.weak.global.u32 [x], 1; }
thread B @ k1.d0.c1.b1 { ld.weak.global.u32 r0, [x]; st.weak.global.u32 [y], 1; }
thread C @ k2.d0.c2.b2 { ld.weak.global.u32 r0, [y]; }
%s
exists (B.r0 == 1 && C.r0 == 1)
"""


def only(launches: str = "") -> Program:
    (program,) = read(THREE % launches, "test.lit")
    return program


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which a dependent launch waits for the one before it, as it may."""

    def launch(function: Any, _stream: int, grid: Any, block: Any, arguments: Any, shared: int) -> None:
        function(grid, block, arguments, shared)

    monkeypatch.setitem(sys.modules, "cupy", standin)
    monkeypatch.setattr(standin.machine, "settings", Settings(multiprocessors=6, occupancy=1, l2=1024))
    monkeypatch.setattr(turns, "LAUNCH", 0)
    monkeypatch.setattr(dependents, "launch", launch)
    monkeypatch.setattr(Gpu, "stream", lambda _: 0)


def ran(program: Program) -> list[Counted]:
    """What was counted of a test and its first control."""
    here = prepared(program, "9.0", with_controls=True)
    assert here.entry is not None
    profile = replace(PROFILES["hot"], slot=4)
    gpu = Gpu(0)
    job = Job(0, here.entry, (profile,), 1e-6, 0)
    order = deque(range(1, len(here.entry.kernels)))
    found = play(gpu, job, gpu.load(here.entry.text.encode()), profile, order)
    programs = [program, *(control.program for control in here.controls)]
    whole = zip(programs, here.entry.kernels, found.tallies, strict=True)
    return [counted(one, made, tally) for one, made, tally in whole if tally is not None]


@pytest.mark.parametrize(
    ("launches", "expected"),
    [
        ("", (Stage((0,)), Stage((1,)), Stage((2,)))),
        ("launch k1 with k0;", (Stage((0, 1)), Stage((2,)))),
        ("launch k2 with k1;", (Stage((0,)), Stage((1, 2)))),
        ("launch k1 dependent k0; launch k2 dependent k1;", (Stage((0,)), Stage((1,), True), Stage((2,), True))),
    ],
)
def test_kernels_of_a_stream_are_launches_one_after_the_other(launches: str, expected: tuple[Stage, ...]) -> None:
    assert stages(only(launches)) == expected


def test_kernels_in_another_order_are_unsupported() -> None:
    with pytest.raises(Unsupported, match="order"):
        stages(only("launch k2 with k0;"))


AFTER = """ptx after
.global .u32 x; .global .u32 y;
thread A @ d0.c0.b0 { st.weak.global.u32 [x], 1; ld.weak.global.u32 r, [y]; }
thread B @ d0.c1.b1 after %s { ld.weak.global.u32 r, [x]; st.weak.global.u32 [y], 1; }
thread C @ d0.c2.b2%s { ld.weak.global.u32 r, [x]; }
exists (A.r == 0 && B.r == 1 && C.r == 1)
"""


def after(first: str, second: str) -> Program:
    (program,) = read(AFTER % (first, f" after {second}" if second else ""), "after.lit")
    return program


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("A", "", (Stage((0, 2)), Stage((1,)))),
        ("A", "A", (Stage((0,)), Stage((1, 2)))),
        ("A", "B", (Stage((0,)), Stage((1,)), Stage((2,)))),
        ("C", "", (Stage((0, 2)), Stage((1,)))),
    ],
)
def test_ctas_that_start_after_others_have_ended_are_a_launch_of_their_own(
    first: str, second: str, expected: tuple[Stage, ...]
) -> None:
    assert stages(after(first, second)) == expected


def test_a_cta_that_starts_after_another_finds_what_that_left_and_tells_it_nothing() -> None:
    (test,) = seen(after("A", "B"), warps=1)
    assert test.holding == test.instances > 0


def test_ctas_that_start_after_each_other_are_unsupported() -> None:
    with pytest.raises(Unsupported, match="starts after itself, or after another of its cluster"):
        stages(after("C", "B"))


def test_a_kernel_sees_what_the_one_before_it_wrote() -> None:
    test, *_ = ran(only())
    assert [outcome.values for outcome in test.outcomes] == [(1, 1)]
    assert test.instances > 0


def test_kernels_side_by_side_are_ctas_of_one_launch() -> None:
    test, *_ = ran(only("launch k1 with k0;"))
    assert {outcome.values for outcome in test.outcomes} > {(1, 1)}


def test_a_dependent_launch_runs_a_copy_once_in_each_cta() -> None:
    made = kernel(only("launch k1 dependent k0;"))
    assert (made.layout.packed, made.layout.teams) == (False, 1)
    (found,) = ran(only("launch k1 dependent k0;"))[:1]
    assert [outcome.values for outcome in found.outcomes] == [(1, 1)]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("async/kernel-boundary", "kernel-boundary[store-copy]"),
        ("async/kernel-boundary", "kernel-boundary[copy-load]"),
        ("async/stream-copies", "stream-copies[stream]"),
        ("async/dependent-grid", "dependent-grid[wait]"),
        ("tensormap/map-kernels", "map-kernels[both]"),
        ("async/pdl-prologue", "pdl-prologue[right]"),
    ],
)
def test_tests_of_several_kernels_show_what_they_allow_and_nothing_else(file: str, name: str) -> None:
    test, *controls = ran(next(p for p in read_programs(LIBRARY / f"{file}.lit") if p.full_name == name))
    assert test.instances > 0
    assert not test.holding
    assert all(control.instances == test.instances for control in controls)


def test_what_the_driver_is_asked_for_a_dependent_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Driver:
        def cuLaunchKernelEx(self, configuration: Any, function: Any, pointers: Any, extra: Any) -> int:
            whole = configuration._obj
            values = [ctypes.cast(p, ctypes.POINTER(ctypes.c_uint32))[0] for p in pointers]
            attribute = whole.attributes[0]
            asked.append((list(whole.grid), list(whole.block), whole.shared, whole.count, function.value, values))
            asked.append((attribute.id, attribute.value, ctypes.sizeof(attribute), ctypes.sizeof(whole), extra))
            return 0

    monkeypatch.undo()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver())
    function: Any = type("Function", (), {"ptr": 7})()
    dependents.launch(function, 0, (2, 1, 1), (32, 1, 1), (numpy.uint32(5), numpy.uint64(6)), 64)
    assert asked == [([2, 1, 1], [32, 1, 1], 64, 1, 7, [5, 6]), (6, 1, 72, 56, None)]
