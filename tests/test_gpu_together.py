"""A test and its controls in one launch, CTAs that only stress, and turns, on the machine that stands in for a GPU."""

from __future__ import annotations

import itertools
import sys
from collections import deque
from dataclasses import replace
from types import SimpleNamespace

import pytest
from machine import standin
from machine.device import Settings

from ptxmm.gpu import turns
from ptxmm.gpu.counting import Tally, counted
from ptxmm.gpu.device import Gpu
from ptxmm.gpu.jobs import Job, Played
from ptxmm.gpu.log import Counted, Profile
from ptxmm.gpu.prepared import Prepared, prepared
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.turns import Sides, Turn, play
from ptxmm.syntax.lit import read

MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x]; }
~exists (B.r0 == 1 && B.r1 == 0)
"""
TICKETS = """ptx tickets
.global .u32 n;
thread A @ d0.c0.b0 { atom.acq_rel.gpu.global.add.u32 r0, [n], 1; }
thread B @ d0.c1.b1 { atom.acq_rel.gpu.global.add.u32 r0, [n], 1; }
~exists (A.r0 == B.r0)
"""
DSMEM = """ptx dsmem
.shared @ d0.c0.* .u32 s;
thread A @ d0.c0.b0 { st.weak.shared::cluster.u32 [s@b1], 1; barrier.cluster.arrive; barrier.cluster.wait; }
thread B @ d0.c0.b1 { barrier.cluster.arrive; barrier.cluster.wait; ld.weak.shared::cta.u32 r0, [s@b1]; }
~exists (B.r0 == 0)
"""
SMALL = Settings(multiprocessors=5, occupancy=1, l2=1024)
HOT = replace(PROFILES["hot"], slot=4)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", standin)
    monkeypatch.setattr(standin.machine, "settings", SMALL)
    monkeypatch.setattr(turns, "LAUNCH", 0)
    monkeypatch.setattr(turns, "TURN", 0)


def made(text: str) -> Prepared:
    (program,) = read(text, "test.lit")
    return prepared(program, "9.0", with_controls=True)


def job(here: Prepared, profile: Profile = HOT, seconds: float = 1e-6) -> Job:
    assert here.entry is not None
    return Job(0, here.entry, (profile,), seconds, 0)


def played(here: Prepared, profile: Profile = HOT, order: deque[int] | None = None, seconds: float = 1e-6) -> Played:
    assert here.entry is not None
    gpu = Gpu(0)
    function = gpu.load(here.entry.text.encode())
    order = deque(range(1, len(here.entry.kernels))) if order is None else order
    return play(gpu, job(here, profile, seconds), function, profile, order)


def checked(here: Prepared, tallies: tuple[Tally | None, ...]) -> list[Counted | None]:
    """What was counted, with every instance counted once."""
    assert here.entry is not None
    programs = [here.program, *(control.program for control in here.controls)]
    found = zip(programs, here.entry.kernels, tallies, strict=True)
    return [counted(program, kernel, tally) if tally is not None else None for program, kernel, tally in found]


@pytest.mark.parametrize("text", [MP, TICKETS, DSMEM])
def test_a_test_and_its_control_run_as_often_in_the_same_launches(text: str) -> None:
    here = made(text)
    found = played(here)
    test, control, *others = checked(here, found.tallies)
    assert test is not None
    assert control is not None
    assert test.instances == control.instances > 0
    assert test.stuck == control.stuck == 0
    assert others == [None] * len(others)
    assert found.beside == (False, True, *(False for _ in others))


def test_where_there_is_no_room_for_both_they_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standin.machine, "settings", replace(SMALL, multiprocessors=3))
    here = made(MP)
    found = played(here)
    test, control, *_ = checked(here, found.tallies)
    assert test is not None
    assert control is not None
    assert test.instances == control.instances > 0
    assert not any(found.beside)


def test_a_test_without_a_control_has_all_ctas() -> None:
    here = made(MP)
    alone = checked(here, played(here, order=deque()).tallies)[0]
    beside = checked(here, played(here).tallies)[0]
    assert alone is not None
    assert beside is not None
    assert alone.instances == 2 * beside.instances


def test_the_control_that_shows_what_is_looked_for_stays_and_those_before_it_had_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = itertools.count()
    monkeypatch.setattr(turns, "time", SimpleNamespace(perf_counter=lambda: next(looks)))
    monkeypatch.setattr(turns, "SHOWN", 8)
    here = made(TICKETS)
    assert [control.kind for control in here.controls] == ["relaxed", "torn", "narrowed"]
    order = deque([1, 2, 3])
    found = played(here, order=order, seconds=6)
    test, relaxed, torn, narrowed = checked(here, found.tallies)
    assert test is not None
    assert relaxed is not None
    assert torn is not None
    assert (test.holding, relaxed.holding, narrowed) == (0, 0, None)
    assert torn.holding >= 8
    assert order[0] == 2


def test_a_control_whose_waits_are_stuck_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    here, order = made(TICKETS), deque([1, 2, 3])
    slow = iter([0.1, 100.0, 0.1])

    def calibrate(turn: Turn, _aim: float) -> float:
        turn.passes = 1
        return next(slow)

    monkeypatch.setattr(Turn, "calibrate", calibrate)
    monkeypatch.setattr(turns, "time", SimpleNamespace(perf_counter=itertools.count().__next__))
    gpu = Gpu(0)
    assert here.entry is not None
    play(gpu, job(here, seconds=12), gpu.load(here.entry.text.encode()), HOT, order, usual=0.1)
    assert set(order) == {1, 3}


@pytest.mark.parametrize("text", [MP, DSMEM])
def test_stress_is_one_cluster_in_so_many_and_ends_with_the_others(text: str) -> None:
    here = made(text)
    profile = replace(HOT, stress=2)
    gpu = Gpu(0)
    assert here.entry is not None
    sides = Sides(gpu, job(here, profile), gpu.load(here.entry.text.encode()), profile)
    turn = Turn(sides, 0)
    for _ in range(2):
        turn.launch(1)
    gpu.wait()
    test, *_ = checked(here, sides.played([turn], 0).tallies)
    (launch,) = turn.launches
    assert test is not None
    assert test.instances == 2 * launch.present[0].shape.instances > 0
    scratch = gpu.buffers["scratch"].get().view("uint32")
    assert scratch[2] == gpu.ended > 0
    assert scratch[16:].any(), "it has stored something"


def test_without_stress_nobody_counts_who_has_ended() -> None:
    here = made(MP)
    gpu = Gpu(0)
    assert here.entry is not None
    sides = Sides(gpu, job(here), gpu.load(here.entry.text.encode()), HOT)
    Turn(sides, 1).launch(1)
    gpu.wait()
    assert not gpu.buffers["scratch"].get().any()
