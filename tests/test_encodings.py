"""What is encoded once is shared by the questions that can share it, and no question changes another's answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from building import atom, cta, final, ld, model, program, st, thread

from ptxmm.deadline import Deadline
from ptxmm.encode import events_under
from ptxmm.encodings import Encodings
from ptxmm.events import Ending, EventGraph
from ptxmm.graph import event_graph
from ptxmm.grown import Grown
from ptxmm.hangs import hang
from ptxmm.model import Model
from ptxmm.options import PROGRESS
from ptxmm.program import Program
from ptxmm.progress import ENDINGS
from ptxmm.syntax import read_programs

LITMUS = Path(__file__).parent.parent / "litmus"


def among(test: Program) -> Encodings:
    return Encodings(test, model("ptx-9.4"), Deadline.never())


def test_questions_about_the_same_executions_share_an_encoding() -> None:
    (stale, *_) = read_programs(LITMUS / "protocols" / "residency.lit")
    encodings = among(stale)
    prefix = encodings.of(Ending.PREFIX, 4)
    assert encodings.of(Ending.PREFIX, 4, states=False) is prefix
    assert encodings.of(Ending.FINISHED, 4) is not prefix
    assert encodings.of(Ending.NEVER_STARTED, 4) is encodings.of(Ending.NEVER_STARTED, 4)


def test_events_are_made_once_for_all_progress_models(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[Ending]()

    def noted(program: Program, model: Model, bound: int, ending: Ending, *rest: Any, **named: Any) -> EventGraph:
        made.append(ending)
        return events_under(program, model, bound, ending, *rest, **named)

    monkeypatch.setattr("ptxmm.encodings.events_under", noted)
    test = next(iter(read_programs(LITMUS / "protocols" / "residency.lit")))
    shared = among(test)
    assert {hang(shared, progress, 1).verdict for progress in PROGRESS} == {"yes", "no"}
    assert Counter(made) == Counter({ENDINGS[progress] for progress in PROGRESS})


@pytest.mark.parametrize("order", [PROGRESS, PROGRESS[::-1]], ids=["fair first", "fair last"])
def test_a_progress_model_asked_after_another_answers_as_if_alone(order: tuple[str, ...]) -> None:
    for test in read_programs(LITMUS / "protocols" / "residency.lit"):
        shared = among(test)
        together = {progress: hang(shared, progress, 4).verdict for progress in order}
        alone = {progress: hang(among(test), progress, 4).verdict for progress in order}
        assert together == alone, test.full_name


@pytest.mark.parametrize("name", ["lock-progress", "wait-slips"])
def test_who_waits_for_what_is_told_alike_whatever_was_asked_before(name: str) -> None:
    (path,) = LITMUS.rglob(f"{name}.lit")
    tests = read_programs(path)
    told = [(test.full_name, hang(among(test), "fair", 4).why) for test in (*tests, *reversed(tests), *tests)]
    assert len(set(told)) == len(tests)


def test_a_graph_from_values_that_are_known_is_the_same() -> None:
    adds = thread("A", cta(0), atom("add", "r", "x", 1), st("y", "r"))
    reads = thread("B", cta(1), ld("s", "y"), ld("t", "x"), st("x", "s"))
    test, grown = program(adds, reads, exists=final(B_s=2)), Grown()
    first, second = (event_graph(test, 2, Ending.PREFIX, grown=grown) for _ in range(2))
    alone = event_graph(test, 2, Ending.PREFIX)
    tables = [[event.table for event in graph.events] for graph in (first, second, alone)]
    assert tables[0] == tables[1] == tables[2]
    assert second.memory is not first.memory
