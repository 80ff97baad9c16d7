"""The library, as if it had run: what the model allows is never a finding, and one state more always is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from building import model
from runs import ran

from ptxmm.compare import Comparison, Standing, compare
from ptxmm.evidence import type_of
from ptxmm.gpu.controls import controls
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.states import columns, enumerate_states
from ptxmm.syntax import read_programs

LIBRARY = Path(__file__).parent.parent / "litmus"
OPTIONS = Options(timeout=10)
QUICK = ("basic", "scopes", "fences", "barriers", "mbarrier", "atomics")
EVERY = 12
OFTEN = 10**8


def library(*folders: str) -> list[Path]:
    return [file for folder in folders or ("",) for file in sorted((LIBRARY / folder).rglob("*.lit"))]


def states(test: Program) -> list[tuple[int, ...]] | None:
    found = enumerate_states(test, model("ptx-9.4"), OPTIONS)
    return [state.values for state in found.states] if found.complete else None


def compared(test: Program, seen: list[tuple[int, ...]]) -> Comparison:
    """The comparison where all of these states were seen, and all that its first control allows."""
    made = next(iter(controls(test)), None)
    shown = states(made.program) if made is not None else None
    control = (made.program, dict.fromkeys(shown, OFTEN)) if made is not None and shown else None
    run = ran(test, dict.fromkeys(seen, OFTEN), control=control)
    return compare((run,), model("ptx-9.4"), OPTIONS)


def holds_of(some: Iterable[Program]) -> None:
    for test in some:
        known = states(test)
        if not known:
            continue
        right = compared(test, known)
        assert right.standing in (Standing.AGREE, Standing.SEEN, Standing.NOT_EXERCISED), (test.full_name, right.told)
        bits = type_of(test, columns(test)[0]).bits
        others = [(known[0][0] ^ (1 << n), *known[0][1:]) for n in range(min(bits, 4))]
        other = next((values for values in others if values not in known), None)
        if other is not None:
            wrong = compared(test, [*known, other])
            surprise = "undefined" if wrong.standing is Standing.UNDEFINED else "forbidden"
            assert wrong.standing in (Standing.FORBIDDEN_SEEN, Standing.UNDEFINED), (test.full_name, other, wrong.told)
            assert [state.values for state in wrong.states if state.verdict == surprise] == [other]


def test_what_the_model_allows_agrees_and_one_state_more_is_a_finding() -> None:
    holds_of(read_programs(file)[-1] for file in library(*QUICK)[::EVERY])


@pytest.mark.slow
def test_what_the_model_allows_agrees_and_one_state_more_is_a_finding_in_the_whole_library() -> None:
    holds_of(test for file in library() for test in read_programs(file))
