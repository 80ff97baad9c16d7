"""The solver and the enumeration agree on mbarriers, copies, tensor maps, clusters and kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from random_asynchronous import CLUSTER, GENERIC, KERNELS, LANES, LIVES, MAPS, ONE_CTA, asynchronous

from ptxmm import check as solver
from ptxmm import enumeration
from ptxmm.batch import Piece, Request, decide
from ptxmm.cat import DEFAULT_MODEL
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.report.text import Standing, standing
from ptxmm.syntax.lit import read
from ptxmm.verdict import Answer, Result

LITMUS = Path(__file__).parent.parent / "litmus"
FOLDERS = ("mbarrier", "async", "tensormap", "cluster")
SMALL = (
    "mbarrier/token",
    "async/bulk-load",
    "async/dependent-grid",
    "tensormap/map-replace-warp",
    "cluster/init-fence",
)
READINGS = ("ptx-9.4", "ptx-9.4-strict", "ptx-9.4-literal")
SCENES = {
    "one CTA": ONE_CTA, "cp.async": GENERIC, "cluster": CLUSTER, "tensor maps": MAPS, "kernels": KERNELS,
    "lives": LIVES, "lanes": LANES,
}  # fmt: skip
ASKED = Options(frozenset({"outcome", "race", "undefined", "hang"}), bound=2, timeout=20.0)
QUICK = settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
SAID = frozenset({"yes", "no", "allowed", "forbidden", "unsupported"})
Found = dict[str, object]


def said(answer: Answer) -> object:
    """An answer, without its evidence; None where it is open."""
    return (answer.verdict, answer.on) if answer.verdict in SAID else None


def answers(program: Program, under: str) -> tuple[Found, Found]:
    """What each engine says, without what either leaves open."""
    both: list[Found] = []
    for engine in (enumeration, solver):
        result = engine.check(program, model(under), ASKED)
        states = engine.outcomes(program, model(under), ASKED)
        both.append(
            {
                "verdict": result.verdict if result.verdict in SAID else None,
                "race": said(result.race),
                "undefined": said(result.undefined),
                "hang": said(result.hang),
                "states": sorted(state.values for state in states.states) if states.complete else None,
                "columns": states.columns,
            }
        )
    for key in both[0]:
        if None in (both[0][key], both[1][key]):
            both[0][key] = both[1][key] = None
    return both[0], both[1]


def agree(program: Program, under: str) -> None:
    ours, its = answers(program, under)
    assert ours == its


@pytest.mark.parametrize("scene", SCENES)
@QUICK
@given(data=some.data())
def test_both_engines_say_the_same_of_small_asynchronous_tests(scene: str, data: some.DataObject) -> None:
    agree(data.draw(asynchronous((SCENES[scene],), moves=4)), data.draw(some.sampled_from(READINGS)))


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
@LONG
@given(data=some.data())
def test_both_engines_say_the_same_of_larger_asynchronous_tests(scene: str, data: some.DataObject) -> None:
    agree(data.draw(asynchronous((SCENES[scene],))), data.draw(some.sampled_from(READINGS)))


# --- the library -----------------------------------------------------------------------------------------------------


def results(path: Path) -> list[Result]:
    """What the second engine says of all variants of a litmus file, and whether they expect it."""
    request = Request(Options(timeout=60, engine="enumeration"))
    return [one for one in decide(Piece(path), request) if isinstance(one, Result)]


@pytest.mark.parametrize("name", SMALL)
def test_the_second_engine_follows_asynchronous_files(name: str) -> None:
    for result in results(LITMUS / f"{name}.lit"):
        assert standing(result) is Standing.EXPECTED, (result.name, result.model, result.why, result.surprises)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_second_engine_gives_every_verdict_of_the_asynchronous_library(folder: str) -> None:
    found = [result for path in sorted((LITMUS / folder).glob("*.lit")) for result in results(path)]
    assert found
    assert not [(one.name, one.model, one.surprises) for one in found if standing(one) is not Standing.EXPECTED]


# --- what once set the engines apart ---------------------------------------------------------------------------------

TWO_COPIES = """ptx two-copies
.shared @ d0.c0.b0 .u32 s[4];
.global .u32 g[4] = {1, 0, 0, 0};
thread A @ d0.c0.b0 { cp.async.ca.shared::cta.global [s], [g], 16; }
thread B @ d0.c0.b0 { cp.async.ca.shared::cta.global [s], [g], 16; }
exists (s == 0)
"""


def test_copies_of_two_threads_race_also_where_both_are_the_first_instruction() -> None:
    found = enumeration.check(read(TWO_COPIES, "two.lit")[0], model(DEFAULT_MODEL), ASKED)
    assert (found.race.on, found.undefined.verdict) == (("s",), "yes")
