"""The solver and the enumeration, which share no code, give the same final states and races."""

from __future__ import annotations

from dataclasses import replace

import pytest
from building import Options, model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from random_programs import ALL, programs

from ptxmm import check as solver
from ptxmm import enumeration
from ptxmm.cat import shipped_models
from ptxmm.program import Conventions, Program
from ptxmm.syntax import lit

QUICK = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
OURS = Options(frozenset({"outcome", "race"}), bound=2, timeout=5.0)
ITS = solver.Options(frozenset({"outcome", "race"}), bound=2, timeout=20.0)
Found = dict[str, object]


def agree(program: Program, under: str) -> None:
    """Compare what both engines decide; what one of them leaves open says nothing."""
    ours, its = answers(program, under)
    assert ours == its


def answers(program: Program, under: str) -> tuple[Found, Found]:
    """What each engine says, without what either leaves open."""
    both = []
    for engine, options in ((enumeration, OURS), (solver, ITS)):
        result = engine.check(program, model(under), options)
        states = engine.outcomes(program, model(under), options)
        shown = [dict(zip(states.columns, state.values, strict=True)) for state in states.states]
        both.append(
            {
                "unsupported": result.verdict == "unsupported",
                "states": sorted(shown, key=str) if states.complete else None,
                "race": (result.race.verdict, result.race.on) if result.race.verdict in ("yes", "no") else None,
            }
        )
    for key in both[0]:
        if None in (both[0][key], both[1][key]):
            both[0][key] = both[1][key] = None
    return both[0], both[1]


@pytest.mark.parametrize("under", shipped_models())
@QUICK
@given(program=programs())
def test_both_engines_give_the_same_final_states_and_races(under: str, program: Program) -> None:
    agree(program, under)


ADDRESSES = """
ptx addresses
"A pointer that is swung, and conditions that compare it with addresses."
.global .u32 v[2];
.global .u64 p = &v;
thread A @ d0.c0.b0 { ld.relaxed.gpu.u64 seen, [p]; }
thread B @ d0.c1.b1 { st.relaxed.gpu.u64 [p], &v[1]; }
exists (A.seen == &v && p == &v[1] || &v[1] == A.seen && p != &v[1])
"""


def test_both_engines_compare_final_states_with_addresses() -> None:
    (program,) = lit.read(ADDRESSES, "addresses.lit")
    ours, its = answers(program, "ptx-9.4")
    assert ours == its
    verdicts = {engine.check(program, model("ptx-9.4"), OURS).verdict for engine in (enumeration, solver)}
    assert verdicts == {"allowed"}


DIALECTS = some.builds(
    lambda program, *habits: replace(program, conventions=Conventions(*habits)),
    programs(ALL - {"lanes", "vectors", "restricted"}),
    *(some.booleans(), some.booleans(), some.just(False), some.booleans()),
)


@QUICK
@given(program=DIALECTS)
def test_both_engines_keep_the_conventions_of_other_tools(program: Program) -> None:
    agree(program, "ptx-7.5")


@pytest.mark.slow
@pytest.mark.parametrize("under", shipped_models())
@LONG
@given(program=programs(events=8))
def test_both_engines_give_the_same_final_states_and_races_of_larger_tests(under: str, program: Program) -> None:
    agree(program, under)
