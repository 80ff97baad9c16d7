"""Hangs found by enumeration, against verdicts derived by hand from `docs/progress.md`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from building import Options, atom, bar, bra, cta, equal, label, ld, model, program, st, thread

from ptxmm.check import check as by_solver
from ptxmm.enumeration import check
from ptxmm.options import PROGRESS
from ptxmm.options import Options as SolverOptions
from ptxmm.program import Binary, Const, Expr, Place, Program, Reg, Thread, View
from ptxmm.verdict import Answer

A, B, C = cta(0), cta(1), cta(2)


def hang(test: Program, progress: str = "fair", bound: int = 4, under: str = "ptx-9.4") -> Answer:
    options = Options(properties=frozenset({"hang"}), bound=bound, progress=progress)
    return check(test, model(under), options).hang


def hangs(test: Program, progress: str = "fair") -> bool:
    answer = hang(test, progress)
    assert answer.verdict in ("yes", "no"), answer.why
    return answer.verdict == "yes"


def waiter(name: str, place: Place, word: str, goes_on: Expr | None = None, how: str = "relaxed.gpu") -> Thread:
    """Polls a word into `r` while a predicate holds: while it is 0, where none is given."""
    return thread(name, place, label("again"), ld("r", word, how), bra("again", goes_on or equal("r", 0)))


def setter(how: str = "relaxed.gpu") -> Thread:
    return thread("A", A, st("f", 1, how))


def test_a_poll_ends_where_a_write_can_reach_it() -> None:
    assert not hangs(program(setter(), waiter("B", B, "f")))
    assert hangs(program(setter(), waiter("B", B, "f", how="relaxed.cta")))
    assert hangs(program(setter(), waiter("B", B, "f", how="weak")))
    assert hangs(program(waiter("B", B, "f")))


@pytest.mark.parametrize("model_name", ["ptx-9.4", "ptx-7.5"])
def test_a_poll_by_another_address_is_told_of_a_write_at_system_scope_alone(model_name: str) -> None:
    def may_hang(written: str, read: str, place: Place) -> bool:
        test = program(setter(written), waiter("B", place, "g", how=read), views=(View("g", "f"),))
        solved = by_solver(test, model(model_name), SolverOptions(properties=frozenset({"hang"}))).hang.verdict
        assert hang(test, under=model_name).verdict == solved
        assert solved in ("yes", "no")
        return solved == "yes"

    assert may_hang("relaxed.cta", "relaxed.cta", A)
    assert may_hang("relaxed.gpu", "relaxed.gpu", B)
    assert may_hang("relaxed.gpu", "relaxed.sys", B)
    assert may_hang("weak", "relaxed.sys", B)
    assert not may_hang("relaxed.sys", "relaxed.sys", B)
    assert not may_hang("release.sys", "acquire.sys", B)


def test_a_value_that_comes_and_goes_may_be_missed() -> None:
    counter = thread("A", A, *(atom("add", None, "f", 1) for _ in range(2)))
    assert hangs(program(counter, waiter("B", B, "f", Binary("!=", Reg("r"), Const(1)))))
    assert not hangs(program(counter, waiter("B", B, "f", Binary("<", Reg("r"), Const(1)))))


def test_two_that_wait_for_each_other_wait_for_ever() -> None:
    crossed = [
        replace(waiter(name, place, one), body=(*waiter(name, place, one).body, st(other, 1, "relaxed.gpu")))
        for name, place, one, other in (("A", A, "x", "y"), ("B", B, "y", "x"))
    ]
    assert hangs(program(*crossed))


def test_a_lock_that_is_given_back_is_taken() -> None:
    def locker(name: str, place: Place, *after: object) -> Thread:
        taking = (label("try"), atom("cas", "r", "l", 0, 1), bra("try", Binary("!=", Reg("r"), Const(0))))
        return thread(name, place, *taking, *after)  # type: ignore[arg-type]

    release = st("l", 0, "release.gpu")
    assert not hangs(program(locker("A", A, release), locker("B", B, release)))
    assert hangs(program(locker("A", A, release), locker("B", B)))


def test_a_barrier_waits_for_those_who_are_needed_and_not_for_those_who_have_ended() -> None:
    assert not hangs(program(thread("A", A, bar()), thread("B", A, st("x", 1))))
    assert hangs(program(thread("A", A, bar("sync", 1, 64)), thread("B", A, st("x", 1))))
    assert not hangs(program(thread("A", A, bar("sync", 1, 64)), thread("B", A, bar("arrive", 1, 64))))
    assert hangs(program(thread("A", A, bar()), waiter("B", A, "x")))


LOOK_BACK = program(setter(), waiter("B", B, "f"))
LOOK_AHEAD = program(waiter("A", A, "f"), replace(setter(), name="B", place=B))


@pytest.mark.parametrize("progress", PROGRESS)
def test_who_waits_for_an_earlier_cta_needs_that_they_start_in_order(progress: str) -> None:
    assert hangs(LOOK_BACK, progress) == (progress in ("obe", "unfair"))
    assert hangs(LOOK_AHEAD, progress) == (progress != "fair")


@pytest.mark.parametrize("progress", PROGRESS)
def test_without_waits_no_progress_model_lets_a_test_hang(progress: str) -> None:
    assert not hangs(program(setter(), thread("B", B, ld("r", "f"))), progress)


def test_a_cta_that_starts_after_a_waiting_one_never_starts() -> None:
    late = replace(setter(), name="B", place=B, after="A")
    assert hangs(program(waiter("A", A, "f"), late))
    assert not hangs(program(thread("A", A, st("f", 1)), replace(waiter("B", B, "f"), after="A")))
    assert hangs(
        program(thread("A", A, st("f", 1)), waiter("B", B, "x"), replace(setter(), name="C", place=C, after="B"))
    )


def test_under_hsa_the_first_thread_that_can_go_on_does() -> None:
    three = (waiter("A", A, "f"), thread("B", B, st("f", 1, "relaxed.gpu")), thread("C", C, st("g", 1)))
    assert hangs(program(*three), "hsa")
    assert not hangs(program(*three[1:], waiter("D", cta(3), "f")), "hsa")


@pytest.mark.slow
def test_a_loop_that_counts_is_not_known_to_end() -> None:
    counting = thread("B", B, label("again"), atom("add", "r", "n", 1), bra("again", equal("q", 0)))
    assert hang(program(setter(), counting)).verdict == "unknown"


def test_the_answer_says_who_stays_where() -> None:
    told = hang(program(thread("A", A, bar("sync", 1, 64)), waiter("B", B, "f"), thread("C", C, st("x", 1))))
    assert told.why == "A waits at a barrier; B waits for ever in its loop"
