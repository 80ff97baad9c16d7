"""What a log's tests have in common is asked of the model once, and no comparison changes another's answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from building import model
from runs import Seen, mp, ran

from ptxmm import states
from ptxmm.compare import Comparison, Standing, compare
from ptxmm.compare.deciding import known
from ptxmm.gpu.log import Run
from ptxmm.options import Options

STRONG: Seen = {(0, 0): 10**9, (0, 1): 10**9, (1, 1): 10**9}
WEAK: Seen = {**STRONG, (1, 0): 10**6}


class Counts:
    """How often tests were encoded, and how many questions were put to the solver."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.encoded = self.asked = 0
        encode, ask = states.__dict__["encode"], states.__dict__["ask"]

        def counted_encode(*given: Any, **named: Any) -> Any:
            self.encoded += 1
            return encode(*given, **named)

        def counted_ask(encoding: Any, goals: Any, asserted: Any) -> Any:
            self.asked += len(goals)
            return ask(encoding, goals, asserted)

        patch.setattr(states, "encode", counted_encode)
        patch.setattr(states, "ask", counted_ask)
        known.cache_clear()


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return Counts(monkeypatch)


def compared(*runs: Run, timeout: float = 60.0) -> Comparison:
    return compare(runs, model("ptx-9.4"), Options(timeout=timeout))


def without_seconds(found: Comparison) -> Comparison:
    return replace(found, seconds=0.0)


def test_a_condition_that_an_allowed_state_shows_is_no_question_of_its_own(counts: Counts) -> None:
    found = compared(ran(mp("relaxed"), WEAK))
    assert (found.standing, found.verdict) == (Standing.SEEN, "allowed")
    assert (counts.encoded, counts.asked) == (1, len(WEAK))


def test_a_condition_that_no_state_shows_is_asked_of_the_same_encoding(counts: Counts) -> None:
    found = compared(ran(mp("relaxed"), STRONG))
    assert (found.standing, found.verdict) == (Standing.NOT_SEEN, "allowed")
    assert (counts.encoded, counts.asked) == (1, len(STRONG) + 1)


def test_a_state_that_is_forbidden_shows_no_condition(counts: Counts) -> None:
    found = compared(ran(mp("release"), WEAK))
    assert (found.standing, found.verdict) == (Standing.FORBIDDEN_SEEN, "forbidden")
    assert counts.asked == len(WEAK) + 1


def test_a_control_is_not_encoded_where_its_test_says_all_of_it(counts: Counts) -> None:
    found = compared(ran(mp("relaxed"), WEAK, control=(mp("relaxed"), WEAK)))
    assert found.control_verdict == "allowed"
    assert counts.encoded == 1


def test_only_what_is_new_in_a_control_is_asked(counts: Counts) -> None:
    found = compared(ran(mp("release"), STRONG, control=(mp("relaxed"), WEAK)))
    assert (found.standing, found.control_verdict) == (Standing.AGREE, "allowed")
    assert (counts.encoded, counts.asked) == (2, len(STRONG) + 1 + 1)


def test_equal_programs_are_asked_once_whatever_their_names(counts: Counts) -> None:
    first = compared(ran(mp("relaxed"), WEAK))
    again = compared(ran(replace(mp("relaxed"), name="MP-again", variant=None), WEAK))
    assert counts.encoded == 1
    assert [(s.values, s.verdict) for s in first.states] == [(s.values, s.verdict) for s in again.states]
    assert compared(ran(mp("release"), STRONG)).verdict == "forbidden"
    assert counts.encoded == 2


def test_an_unknown_is_asked_again(counts: Counts) -> None:
    assert compared(ran(mp("relaxed"), WEAK), timeout=0.0).standing is Standing.UNKNOWN
    assert compared(ran(mp("relaxed"), WEAK)).standing is Standing.SEEN


def test_a_comparison_says_the_same_alone_and_after_others() -> None:
    runs = [ran(mp(name), seen, control=(mp("relaxed"), WEAK)) for name in ("release", "relaxed")
            for seen in (STRONG, WEAK)]  # fmt: skip
    together = [without_seconds(compared(run)) for run in (*runs, *reversed(runs))]
    for run, one, other in zip(runs, together, reversed(together), strict=False):
        known.cache_clear()
        assert without_seconds(compared(run)) == one == other
