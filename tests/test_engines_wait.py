"""Waits and hangs: the solver takes a wait for its last repetition, the enumeration follows or unrolls it."""

from __future__ import annotations

import pytest
from building import model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from spinning_programs import spinning

from ptxmm import check as solver
from ptxmm import enumeration
from ptxmm.cat import shipped_models
from ptxmm.options import PROGRESS, Options
from ptxmm.program import Program
from ptxmm.verdict import Outcomes

QUICK = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
State = tuple[tuple[str, int], ...]


def states(found: Outcomes) -> set[State]:
    """The final states, whatever the order of the columns."""
    return {tuple(sorted(zip(found.columns, state.values, strict=True))) for state in found.states}


def unrolled(program: Program, under: str, bound: int) -> set[State]:
    """The final states in which no wait repeats more often than the bound."""
    options = Options(bound=bound, timeout=5.0)
    return states(enumeration.outcomes(program, model(under), options, waits=False))


def compare_unrolled(program: Program, under: str) -> None:
    """What the solver finds without repeating a wait is what comes out when waits repeat up to three times."""
    exact = solver.outcomes(program, model(under), Options(timeout=20.0))
    assert exact.complete
    once = unrolled(program, under, 1)
    assert unrolled(program, under, 3) <= states(exact)
    assert once <= states(exact)
    again = enumeration.outcomes(program, model(under), Options(timeout=5.0))
    if again.complete:
        assert states(again) == states(exact)
        assert once == states(exact)


@pytest.mark.parametrize("under", ["ptx-9.4", "sc"])
@QUICK
@given(program=spinning(2, 3))
def test_a_wait_has_the_final_states_of_its_repetitions(under: str, program: Program) -> None:
    compare_unrolled(program, under)


@pytest.mark.slow
@pytest.mark.parametrize("under", shipped_models())
@settings(LONG, max_examples=400)
@given(program=spinning(3, 3))
def test_a_wait_has_the_final_states_of_its_repetitions_in_larger_tests(under: str, program: Program) -> None:
    compare_unrolled(program, under)


def compare_hangs(program: Program, under: str, progress: str) -> None:
    """Compare hangs and races; what an engine leaves open says nothing."""
    ours, its = (
        engine.check(program, model(under), Options(frozenset({"race", "hang"}), timeout=seconds, progress=progress))
        for engine, seconds in ((enumeration, 5.0), (solver, 20.0))
    )
    if "unknown" not in (ours.hang.verdict, its.hang.verdict):
        assert ours.hang.verdict == its.hang.verdict, (ours.hang.why, its.hang.why)
    if "unknown" not in (ours.race.verdict, its.race.verdict):
        assert (ours.race.verdict, ours.race.on) == (its.race.verdict, its.race.on)


@pytest.mark.parametrize("progress", PROGRESS)
@QUICK
@given(program=spinning(2, 3))
def test_both_engines_find_the_same_hangs(progress: str, program: Program) -> None:
    compare_hangs(program, "ptx-9.4", progress)


@pytest.mark.slow
@LONG
@given(program=spinning(3, 4), progress=some.sampled_from(PROGRESS), under=some.sampled_from(shipped_models()))
def test_both_engines_find_the_same_hangs_in_larger_tests(program: Program, progress: str, under: str) -> None:
    compare_hangs(program, under, progress)
