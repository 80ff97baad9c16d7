"""The solver behind its narrow door: many questions, one after another, in one process."""

from __future__ import annotations

from ptxmm.deadline import Deadline
from ptxmm.solve import Session, Truth


def ask(session: Session, *lines: str) -> Truth:
    prefix = session.prefix()
    text = f"(declare-const {prefix}v1 Bool)\n" + "\n".join(lines).replace("$", f"{prefix}v1")
    with session.load(text, prefix) as loaded:
        return loaded.check((), Deadline.never())


def test_a_question_leaves_nothing_behind_for_the_next() -> None:
    session = Session()
    assert ask(session, "(assert $)", "(assert (not $))") is Truth.UNSAT
    assert ask(session, "(assert $)") is Truth.SAT


def test_the_solver_is_renewed_after_many_questions_or_much_text() -> None:
    session = Session()
    first = session.solver
    ask(session, "(assert $)")
    assert session.solver is first
    ask(session, "(assert $)", ";" + "x" * Session.READ)
    assert ask(session, "(assert (not $))") is Truth.SAT
    second = session.solver
    assert second is not first
    for _ in range(Session.RENEWAL):
        assert ask(session, "(assert $)") is Truth.SAT
    assert session.solver is not second
