"""The solver behind its narrow door: many questions, one after another, in one process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from ptxmm.deadline import Deadline
from ptxmm.formula import Formulas, Lit
from ptxmm.script import Script, smt_lib
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


def test_constraints_are_kept_until_others_are_loaded() -> None:
    session = Session()
    prefix = session.prefix()
    kept = session.keep(f"(declare-const {prefix}v1 Bool)\n(assert {prefix}v1)", prefix)
    assert kept.check((), Deadline.never()) is Truth.SAT
    kept.add(f"(assert (not {prefix}v1))")
    assert kept.open
    assert kept.check((), Deadline.never()) is Truth.UNSAT
    assert ask(session, "(assert $)") is Truth.SAT
    assert not kept.open


def test_what_is_kept_inside_of_a_block_goes_with_it() -> None:
    session = Session()
    with session.load("(assert true)", session.prefix()) as outer:
        kept = session.keep("(assert false)", session.prefix())
        assert kept.check((), Deadline.never()) is Truth.UNSAT
    assert not kept.open
    assert not outer.open
    assert ask(session, "(assert $)") is Truth.SAT


def test_large_constraints_are_added_to_between_questions() -> None:
    session = Session()
    prefix = session.prefix()
    name = f"{prefix}v1"
    goals = "".join(f"\n(declare-const {prefix}{n} Bool)\n(assert (or (not {prefix}{n}) {name}))" for n in "ab")
    kept = session.keep(f"(declare-const {name} Bool)\n;{'x' * LARGE}{goals}", prefix)
    assert kept.large
    assert kept.check(["a"], Deadline.never()) is Truth.SAT
    kept.add(f"(assert (not {name}))")
    assert kept.check(["b"], Deadline.never()) is Truth.UNSAT
    assert kept.check([], Deadline.never()) is Truth.SAT


# --- formulas as text -------------------------------------------------------------------------------------------------

PARTS = some.tuples(some.integers(0, 30), some.integers(0, 30), some.integers(0, 30))
STEPS = some.lists(PARTS, min_size=1, max_size=12)
SOLVER = Session()


def grown(formulas: Formulas, steps: list[tuple[int, int, int]]) -> list[Lit]:
    """Literals over four variables, each made from earlier ones."""
    found = [formulas.var() for _ in range(4)]
    found += [-literal for literal in found]
    for first, second, third in steps:
        parts = [found[number % len(found)] for number in (first, second, third)]
        found.append(-formulas.conj([-formulas.both(parts[0], parts[1]), parts[2]]))
    return found


@given(STEPS)
def test_two_are_folded_as_any_number(steps: list[tuple[int, int, int]]) -> None:
    formulas = Formulas()
    for left in (found := grown(formulas, steps)):
        for right in found:
            assert formulas.both(left, right) == formulas.conj([left, right])


@given(STEPS, some.integers(0, 12))
def test_pieces_of_text_say_what_one_text_says(steps: list[tuple[int, int, int]], cut: int) -> None:
    session, formulas = SOLVER, Formulas()
    *asserted, goal = grown(formulas, steps)[8:]
    formulas.require(-goal, *asserted[:1])
    prefix = session.prefix()
    whole = smt_lib(formulas, asserted, [(f"{prefix}goal", goal)], f"{prefix}v")
    with session.load(whole, prefix) as loaded:
        at_once = [loaded.check(names, Deadline.never()) for names in ((), ("goal",))]
    prefix = session.prefix()
    script = Script(formulas, f"{prefix}v")
    kept = session.keep(script.more(asserted[:cut]), prefix)
    kept.add(script.more(asserted[cut:], [(f"{prefix}goal", goal)]))
    assert [kept.check(names, Deadline.never()) for names in ((), ("goal",))] == at_once
