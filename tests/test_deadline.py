"""Time that is over is noticed by each long stretch of work by itself, so that none can hold up an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from building import Options, add, atom, bra, cta, equal, final, label, ld, model, program, st, thread

from ptxmm.check import check
from ptxmm.deadline import Deadline
from ptxmm.encode import encoded
from ptxmm.encodings import Encodings
from ptxmm.enumeration import check as enumerated
from ptxmm.enumeration.limits import Budget, GaveUp
from ptxmm.enumeration.reach import Reach
from ptxmm.enumeration.unroll import unroll
from ptxmm.enumeration.values import fixpoint
from ptxmm.errors import Undecided
from ptxmm.events import Ending
from ptxmm.formula import OFTEN, Formulas
from ptxmm.graph import event_graph
from ptxmm.hangs import hang
from ptxmm.interleaving import Interleavings
from ptxmm.lassos import lasso
from ptxmm.program import Reg, Unary
from ptxmm.script import Script
from ptxmm.solve import Session, Truth
from ptxmm.unroll import unrolled
from ptxmm.verdict import Result

OVER = Deadline(0.0)
ROUND = (label("L"), add("i", "i", 1), atom("exch", "r", "x", "i"), bra("L", Unary("!", equal("i", 3))))
TEST = program(thread("A", cta(0), *ROUND, st("y", "r")), thread("B", cta(1), ld("s", "y")), exists=final(B_s=1))


def many() -> Formulas:
    """More formulas than are built between two looks at the clock, which strikes now."""
    formulas = Formulas()
    last = formulas.var()
    for _ in range(2 * OFTEN):
        last = formulas.both(formulas.var(), -last)
    formulas.require(last)
    formulas.deadline = OVER
    return formulas


def an_encoding() -> object:
    graph = event_graph(TEST, 2, Ending.PREFIX)
    graph.formulas.deadline = OVER
    return encoded(graph, model("ptx-9.4"))


def circles() -> object:
    found = Interleavings(TEST, Deadline.never())
    found.deadline = OVER
    return lasso(found, "fair")


STRETCHES: dict[str, Callable[[], object]] = {
    "unrolling": lambda: unrolled(TEST.threads[0].body, 4, deadline=OVER),
    "walking": lambda: event_graph(TEST, 2, deadline=OVER),
    "encoding": an_encoding,
    "sorting formulas": lambda: (formulas := many()).below(formulas.clauses[0]),
    "writing formulas": lambda: Script(many(), "v").more([]),
    "loading": lambda: Session().keep("(assert true)", "t", OVER),
    "interleaving": lambda: Interleavings(TEST, OVER),
    "looking for circles": circles,
}


@pytest.mark.parametrize("stretch", STRETCHES)
def test_a_stretch_of_work_ends_when_time_is_over(stretch: str) -> None:
    with pytest.raises(Undecided, match="time-out"):
        STRETCHES[stretch]()


def spent(_: object = None) -> Budget:
    return Budget(-1.0)


def reached() -> object:
    """What memory may hold after a path that is known already."""
    graphs = [unroll(one.body, 2, Budget(60.0)) for one in TEST.threads]
    budget = Budget(60.0)
    reach = Reach(TEST, graphs, fixpoint(TEST, graphs, budget), frozenset({"x", "y"}), True, True, budget)
    (path, *_) = reach.possible(0)
    reach.budget = spent()
    return reach.note(0, path)


ENUMERATED: dict[str, Callable[[], object]] = {
    "unrolling": lambda: unroll(TEST.threads[0].body, 4, spent()),
    "values": lambda: fixpoint(TEST, [unroll(one.body, 2, Budget(60.0)) for one in TEST.threads], spent()),
    "contents": reached,
}


@pytest.mark.parametrize("stretch", ENUMERATED)
def test_a_stretch_of_the_second_engine_ends_when_time_is_over(stretch: str) -> None:
    with pytest.raises(GaveUp, match="stopped after"):
        ENUMERATED[stretch]()


def test_a_solver_that_was_not_loaded_in_time_takes_the_next_constraints() -> None:
    session = Session()
    with pytest.raises(Undecided):
        session.keep("(assert false)", session.prefix(), OVER)
    with session.load("(assert true)", session.prefix()) as loaded:
        assert loaded.check((), Deadline.never()) is Truth.SAT


@pytest.mark.parametrize("engine", [check, enumerated])
def test_a_test_without_any_time_is_unknown_in_all_that_is_asked(engine: Callable[..., Result]) -> None:
    asked = frozenset({"outcome", "race", "hang", "undefined"})
    anywhere = replace(TEST, threads=(*TEST.threads, thread("C", cta(2), ld("p", "x"), st(Reg("p"), 1))))
    result = engine(anywhere, model("ptx-9.4"), Options(properties=asked, timeout=-1.0))
    answers = {getattr(result, name).verdict for name in asked - {"outcome"}}
    assert (result.verdict, answers) == ("unknown", {"unknown"})


def test_no_progress_model_is_decided_without_any_time() -> None:
    encodings = Encodings(TEST, model("ptx-9.4"), OVER)
    for progress in ("fair", "obe", "unfair"):
        with pytest.raises(Undecided):
            hang(encodings, progress, 4)
