"""The solver behind its narrow door: many questions, one after another, in one process."""

from __future__ import annotations

from ptxmm.deadline import Deadline
from ptxmm.solve import LARGE, Session, Truth


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
    for _ in range(1 + Session.READ // 100_000):
        assert ask(session, "(assert $)", ";" + "x" * 100_000) is Truth.SAT
    assert ask(session, "(assert (not $))") is Truth.SAT
    second = session.solver
    assert second is not first
    for _ in range(Session.RENEWAL):
        assert ask(session, "(assert $)") is Truth.SAT
    assert session.solver is not second


def test_large_constraints_are_asked_several_questions_one_after_another() -> None:
    session = Session()
    prefix = session.prefix()
    names = [f"{prefix}v{number}" for number in (1, 2)]
    text = "".join(f"(declare-const {name} Bool)\n" for name in names) + f"(assert (or {' '.join(names)}))"
    goals = {
        "neither": f"(not (or {' '.join(names)}))",
        "first": f"(not {names[1]})",
        "both": f"(and {' '.join(names)})",
    }
    for name, goal in goals.items():
        text += f"\n(declare-const {prefix}{name} Bool)\n(assert (or (not {prefix}{name}) {goal}))"
    found = {}
    with session.load(text + "\n;" + "x" * LARGE, prefix) as loaded:
        assert loaded.large
        for name in ("first", "neither", "both", "first"):
            found[name] = loaded.check([name], Deadline.never())
            if name == "first":
                assert loaded.assignment([1, 2]) == {1: True, 2: False}
        assert loaded.check(["first", "neither"], Deadline.never(), core=True) is Truth.UNSAT
        assert loaded.core() == {"neither"}
        assert loaded.check([], Deadline.after(0)) is Truth.UNKNOWN
    assert found == {"first": Truth.SAT, "neither": Truth.UNSAT, "both": Truth.SAT}
