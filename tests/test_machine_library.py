"""The library's tests on the machine: what is seen, what ends and what is undefined, against what each test states."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import model
from machine.memory import Fault
from machine.runs import STUCK, seen
from machine.scheduler import Hang

from ptxmm.errors import PtxmmError, Unsupported
from ptxmm.expect import stated_words
from ptxmm.gpu.columns import columns
from ptxmm.gpu.log import Counted
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.states import Asking
from ptxmm.syntax import read_programs

LIBRARY = Path(__file__).parent.parent / "litmus"
FILES = sorted(str(path.relative_to(LIBRARY)) for path in LIBRARY.rglob("*.lit"))
DEFAULT = "ptx-9.4"


def stated(program: Program, name: str = DEFAULT) -> set[str]:
    """The words that a test states for a model."""
    return {word.word for word in stated_words(program, name, DEFAULT)}


def ran(program: Program) -> Counted | None:
    """What was counted, None where the launch is undefined or does not end, as the test says."""
    failed: Exception
    try:
        return seen(program, warps=2)[0]
    except Unsupported:
        return None
    except Fault as wrong:
        failed, denied = wrong, "no undefined"
    except (Hang, PtxmmError) as wrong:
        failed, denied = wrong, "no hang"
    if denied in stated(program) or (isinstance(failed, PtxmmError) and str(failed) != STUCK):
        raise failed
    return None


def as_stated(program: Program, counted: Counted) -> None:
    """A wait is stuck only where a hang is possible; what is forbidden is not seen, and what holds always holds."""
    if counted.stuck:
        assert "undefined" in stated(program) or "no hang" not in stated(program)
    for name in (DEFAULT, "sc"):
        words = stated(program, name)
        assert not ("forbidden" in words and counted.holding), name
        assert not ("holds" in words and counted.holding < counted.finished), name


def allowed(program: Program, counted: Counted) -> None:
    """The model allows each final state that was seen."""
    leaves = columns(program)
    states = [tuple(zip(leaves, outcome.values, strict=True)) for outcome in counted.outcomes]
    try:
        found = Asking(program, model(DEFAULT), Options(), leaves).reached(states)
    except Unsupported:
        return
    assert {one.verdict for one in found} <= {"allowed", "unknown"}


QUICK = (
    "atomics/b128", "atomics/tearing", "async/cp-async-sizes", "async/dependent-grid", "barriers/bar-red",
    "barriers/elect", "cluster/multicast-slices", "cluster/st-async-pair", "mbarrier/token", "proxies/CoWR+alias",
    "tensormap/map-multicast", "tensormap/map-tile-store",
)  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_a_file_of_the_library_shows_what_it_states(name: str) -> None:
    found = [(program, ran(program)) for program in read_programs(LIBRARY / f"{name}.lit")]
    assert any(counted is not None for _, counted in found)
    for program, counted in found:
        if counted is not None:
            as_stated(program, counted)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_file_of_the_library_shows_what_it_states_and_the_model_allows(name: str) -> None:
    for program in read_programs(LIBRARY / name):
        counted = ran(program)
        if counted is not None:
            as_stated(program, counted)
            if "undefined" not in stated(program):
                allowed(program, counted)
