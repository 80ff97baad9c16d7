"""Interchangeable threads: which threads are, and that ordering them changes no answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from building import add, atom, bar, bra, cta, equal, fence, final, label, ld, model, program, st, thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from ptxmm.arith import U32
from ptxmm.encode import encode
from ptxmm.events import Ending
from ptxmm.program import (
    Addr,
    Binary,
    Const,
    Expr,
    FinalMem,
    FinalReg,
    Object,
    Place,
    Program,
    Reg,
    Space,
    Statement,
    View,
    WarpSync,
)
from ptxmm.question import ask
from ptxmm.solve import Truth
from ptxmm.symmetry import groups, interchangeable, one_order

TICKET = atom("add", "r", "t", 1)


def all_of(*parts: Expr) -> Expr:
    whole = parts[0]
    for part in parts[1:]:
        whole = Binary("&&", whole, part)
    return whole


def like(*bodies: tuple[Statement, ...]) -> Program:
    return program(*(thread("ABCD"[i], cta(i), *body) for i, body in enumerate(bodies)))


def threads_of(test: Program, *asked: Expr) -> list[tuple[int, ...]]:
    return [group.threads for group in groups(test, asked)]


def test_threads_with_the_same_code_in_ctas_of_their_own_are_interchangeable() -> None:
    assert threads_of(like((TICKET,), (TICKET,), (st("x", 1),), (TICKET,))) == [(0, 1, 3)]


def test_names_of_registers_and_labels_do_not_matter() -> None:
    one = (label("L"), ld("a", "f"), bra("L", equal("a", 0)), st("x", "a"))
    other = (label("M"), ld("b", "f"), bra("M", equal("b", 0)), st("x", "b"))
    crossed = (label("M"), ld("b", "f"), bra("M", equal("a", 0)), st("x", "b"))
    assert threads_of(like(one, other)) == [(0, 1)]
    assert threads_of(like(one, crossed)) == []


def test_words_of_their_own_are_swapped_with_the_threads() -> None:
    (group,) = groups(like((st("a", 1), TICKET), (st("b", 1), TICKET), (st("c", 1), TICKET)))
    assert group.threads == (0, 1, 2)
    assert group.moved == {"a", "b", "c"}


def test_two_words_in_opposite_order_are_a_swap_and_three_in_a_ring_are_not() -> None:
    assert threads_of(like((st("a", 1), ld("r", "b")), (st("b", 1), ld("r", "a")))) == [(0, 1)]
    ring = ((st("a", 1), ld("r", "b")), (st("b", 1), ld("r", "c")), (st("c", 1), ld("r", "a")))
    assert threads_of(like(*ring)) == []


def test_a_word_that_a_third_thread_names_cannot_move() -> None:
    assert threads_of(like((st("a", 1), TICKET), (st("b", 1), TICKET), (ld("r", "a"),))) == []


def test_elements_of_an_array_move_and_computed_addresses_stop_them() -> None:
    def slot(number: int) -> tuple[Statement, ...]:
        return (st(Addr("s", 4 * number), 1), TICKET)

    test = replace(like(slot(0), slot(1)), objects=(Object("s", length=4, init=(Const(0),) * 4), Object("t")))
    assert [group.moved for group in groups(test)] == [{"s"}]
    unequal = (Object("s", length=4, init=(Const(0), Const(7), Const(0), Const(0))), Object("t"))
    assert threads_of(replace(test, objects=unequal)) == []
    reader = thread("R", cta(5), ld("p", "t"), ld("q", Binary("+", Addr("s"), Reg("p"))))
    assert threads_of(replace(test, threads=(*test.threads, reader))) == []


def test_a_view_of_a_word_keeps_it_in_place() -> None:
    test = like((st("a", 1), TICKET), (st("b", 1), TICKET))
    assert threads_of(test) == [(0, 1)]
    assert threads_of(replace(test, views=(View("v", "a"),))) == []


def test_initial_values_and_code_must_be_the_same() -> None:
    one, other = thread("A", cta(0), TICKET, init={"r": Const(1)}), thread("B", cta(1), TICKET)
    assert threads_of(program(one, other)) == []
    assert threads_of(like((TICKET,), (atom("add", "r", "t", 2),))) == []


def test_every_other_thread_sees_them_in_the_same_places() -> None:
    def placed(*places: Place) -> list[tuple[int, ...]]:
        codes: list[tuple[Statement, ...]] = [(TICKET,), (TICKET,), (st("x", 1),)]
        return threads_of(program(*(thread("ABC"[i], p, *codes[i]) for i, p in enumerate(places))))

    assert placed(cta(0), cta(0), cta(1)) == [(0, 1)]
    assert placed(cta(0), cta(1), cta(2)) == [(0, 1)]
    assert placed(cta(0), cta(1), cta(1)) == []
    assert placed(cta(0), cta(1, cluster=7), cta(2, cluster=7)) == []
    assert placed(cta(0), cta(1, device=1), cta(2)) == []


def test_shared_memory_lanes_and_residency_count_as_places() -> None:
    test = like((TICKET,), (TICKET,))
    shared = Object("h", space=Space.SHARED, owner=cta(0))
    assert threads_of(replace(test, objects=(*test.objects, shared))) == []
    one, other = (replace(cta(0), warp=0, lane=lane) for lane in (0, 1))
    lanes = program(thread("A", one, TICKET, WarpSync()), thread("B", other, TICKET, WarpSync()))
    assert threads_of(lanes) == [(0, 1)]
    masked = program(thread("A", one, TICKET), thread("B", other, TICKET), thread("C", one, WarpSync(mask=Const(1))))
    assert threads_of(masked) == []
    late = replace(thread("C", cta(2), ld("r", "t")), after="A")
    assert threads_of(replace(test, threads=(*test.threads, late))) == []


def test_a_formula_must_stay_the_same_up_to_the_order_of_its_parts() -> None:
    test = like((st("a", 1), TICKET), (st("b", 1), TICKET))
    a, b = equal(FinalReg("A", "r"), 1), equal(FinalReg("B", "r"), 1)
    assert threads_of(test, all_of(a, final(t=2), b)) == [(0, 1)]
    assert threads_of(test, a) == []
    assert threads_of(test, Binary("||", b, a)) == [(0, 1)]
    assert threads_of(test, final(a=0, b=0)) == [(0, 1)]
    assert threads_of(test, final(a=0)) == []
    assert threads_of(test, FinalMem("a", 0, replace(U32, bits=16))) == []
    assert threads_of(test, equal(FinalReg("A", "r"), FinalReg("B", "r"))) == [(0, 1)]
    assert threads_of(test, Binary("<", FinalReg("A", "r"), FinalReg("B", "r"))) == []


# --- with and without ------------------------------------------------------------------------------------------------


@some.composite
def crowds(draw: some.DrawFn) -> Program:
    """Three or four threads, most of them alike: each takes a number from one word, and does something before or after.

    What they do touches words of their own, common words, or both.
    """
    count = draw(some.integers(3, 4))
    odd = draw(some.integers(0, 1))
    ticket = atom("add", "r", "t", 1, how=draw(some.sampled_from(("relaxed.gpu", "acquire.gpu", "acq_rel.sys"))))
    alike = [draw(actions()) for _ in range(draw(some.integers(1, 2)))]
    first = draw(some.integers(0, len(alike)))
    home = draw(some.booleans())
    threads = []
    for index in range(count):
        mine = [draw(actions())] if index < odd else alike
        body: list[Statement] = [item for action in mine[:first] for item in made(action, index)]
        body += [ticket, *(item for action in mine[first:] for item in made(action, index))]
        threads.append(thread("ABCD"[index], cta(0 if home else index), *body))
    objects = (Object("t"), Object("x"), Object("y"), *(Object(f"own{i}") for i in range(count)))
    test = Program("crowd", objects, tuple(threads))
    return replace(test, locations=(FinalMem("x", 0, U32),))


@some.composite
def actions(draw: some.DrawFn) -> tuple[str, str, str]:
    kind = draw(some.sampled_from(("load", "store", "bump", "fence", "wait", "bar", "atomic")))
    place = draw(some.sampled_from(("x", "x", "y", "own")))
    how = draw(some.sampled_from(("weak", "relaxed.gpu", "strong")))
    return kind, place, how


def made(action: tuple[str, str, str], index: int) -> list[Statement]:
    kind, place, how = action
    name = f"own{index}" if place == "own" else place
    match kind:
        case "load":
            return [ld("p", name, "acquire.gpu" if how == "strong" else how)]
        case "store":
            return [st(name, 1, "release.gpu" if how == "strong" else how)]
        case "bump":
            return [ld("q", name), add("q", "q", 1), st(name, "q", "release.gpu" if how == "strong" else how)]
        case "fence":
            return [fence("sc.gpu" if how == "strong" else "acq_rel.gpu")]
        case "wait":
            return [label("L"), ld("w", "t", "acquire.gpu"), bra("L", equal("w", 0))]
        case "bar":
            return [bar()]
    return [atom("exch", "p", name, 1)]


GOALS = (
    Binary("<", FinalMem("x", 0, U32), Const(2)),
    Binary("==", FinalMem("x", 0, U32), Const(3)),
    Binary("==", FinalMem("t", 0, U32), Const(4)),
)


@pytest.mark.parametrize("name", ["ptx-6.0", "ptx-9.4"])
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(test=crowds())
def test_ordering_interchangeable_threads_changes_no_answer(name: str, test: Program) -> None:
    from ptxmm.conflicts import race_pairs

    encoding = encode(test, model(name), 2)
    for goal in GOALS:
        order = one_order(encoding, interchangeable(encoding, [goal]))
        literal = encoding.condition(goal)
        answers = ask(encoding, {"all": literal, "ordered": encoding.formulas.both(literal, order)})
        assert answers["all"].truth is answers["ordered"].truth, goal
    prefix = encode(test, model(name), 2, Ending.PREFIX)
    pairs = race_pairs(prefix) or []
    for item in test.objects:
        race = prefix.formulas.disj([pair.literal for pair in pairs if pair.on == item.name])
        order = one_order(prefix, interchangeable(prefix), fixed=item.name)
        answers = ask(prefix, {"all": race, "ordered": prefix.formulas.both(race, order)})
        assert answers["all"].truth is answers["ordered"].truth, item.name


def test_an_order_of_the_tickets_leaves_one_of_six_outcomes() -> None:
    test = like((TICKET,), (TICKET,), (TICKET,))
    encoding = encode(test, model("ptx-9.4"), 1)
    order = one_order(encoding, interchangeable(encoding))
    both = encoding.formulas.both
    own, other = encoding.condition(final(A_r=0, B_r=1, C_r=2)), encoding.condition(final(A_r=1, B_r=0, C_r=2))
    answers = ask(encoding, {"own": both(own, order), "other": both(other, order), "all": other})
    assert {name: found.truth for name, found in answers.items()} == {
        "own": Truth.SAT, "other": Truth.UNSAT, "all": Truth.SAT
    }  # fmt: skip


def test_nothing_is_ordered_about_an_object_that_moves() -> None:
    test = like((st("a", 1), TICKET), (st("b", 1), TICKET), (st("c", 1), TICKET))
    encoding = encode(test, model("ptx-9.4"), 1)
    alike = interchangeable(encoding)
    assert one_order(encoding, alike, fixed="a") == 1
    assert one_order(encoding, alike, fixed="t") != 1


def test_an_unknown_kind_of_thread_is_no_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    test = like((TICKET,), (TICKET,))
    monkeypatch.setattr("ptxmm.swaps.KNOWN", ())
    assert threads_of(test) == []
