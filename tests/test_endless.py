"""Hangs in loops that write to memory, found in the interleavings of a test."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from types import ModuleType

import pytest
from building import add, atom, bra, cta, equal, fence, label, ld, program, st, thread
from building import model as shipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from ptxmm import check as solver
from ptxmm import enumeration
from ptxmm.arith import U32
from ptxmm.cat import read_model, shipped_models
from ptxmm.deadline import Deadline
from ptxmm.deciding import deciding
from ptxmm.encodings import Encodings
from ptxmm.endless import endless
from ptxmm.hangs import hang
from ptxmm.interleaving import Interleavings
from ptxmm.lassos import fairest, hierarchy, lasso
from ptxmm.options import PROGRESS, Options
from ptxmm.program import Binary, Const, Expr, FinalMem, FinalReg, Place, Program, Reg, Statement, Thread
from ptxmm.resources import models_dir
from ptxmm.sequential import ONE_WORD, is_exact
from ptxmm.verdict import Answer

QUICK = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=500, derandomize=False)
THREADS = some.sets(some.integers(0, 5))
A, B, C = cta(0), cta(1), cta(2)


def asked(test: Program, progress: str = "fair", model: str = "ptx-9.4") -> str:
    return hang(Encodings(test, shipped(model), Deadline.never()), progress, 4).verdict


def hanging(test: Program, model: str = "ptx-9.4") -> set[str]:
    """The progress models under which a test hangs; each of them decides."""
    found = {progress: asked(test, progress, model) for progress in PROGRESS}
    assert set(found.values()) <= {"yes", "no"}
    return {progress for progress, verdict in found.items() if verdict == "yes"}


def unequal(left: str, right: int) -> Expr:
    return Binary("!=", Reg(left), Const(right))


def exchanging(name: str, place: Place, written: int, goes_on: Expr, how: str = "relaxed.gpu") -> Thread:
    """Writes a value over and over, while what it replaces says so."""
    return thread(name, place, label("l"), atom("exch", "r", "x", written, how=how), bra("l", goes_on))


def locking(name: str, place: Place) -> Thread:
    """Takes a lock by exchange, and gives it back."""
    taken = exchanging(name, place, 1, unequal("r", 0), how="acquire.gpu")
    return thread(name, place, *taken.body, st("x", 0, "release.gpu"))


# --- what hangs ------------------------------------------------------------------------------------------------------


def test_a_lock_by_exchange_hangs_where_its_holder_may_be_left_out() -> None:
    assert hanging(program(locking("A", A), locking("B", B))) == {"hsa", "unfair"}


def test_a_lock_by_exchange_that_nobody_gives_back_hangs() -> None:
    takes = exchanging("A", A, 1, unequal("r", 0))
    assert hanging(program(takes, thread("B", B, *takes.body))) == set(PROGRESS)


def test_two_that_need_each_other_to_write_in_between_may_miss_it() -> None:
    """Each leaves when it finds a value of its own, that is, when the other has not come in between."""
    test = program(exchanging("A", A, 1, unequal("r", 1)), exchanging("B", B, 2, unequal("r", 2)))
    assert hanging(test) == set(PROGRESS)


def test_a_counter_lets_the_last_one_through() -> None:
    """Each adds one in every round, and leaves when it finds that both have come."""
    body = (label("l"), atom("add", "r", "x", 1), bra("l", Binary("<", Reg("r"), Const(3))))
    assert hanging(program(thread("A", A, *body), thread("B", B, *body))) == set()


def test_a_loop_without_an_access_goes_round_for_ever() -> None:
    writes = (label("w"), atom("exch", "q", "x", 1), bra("w", unequal("q", 1)))
    round_only = program(thread("A", A, *writes, add("r", "r", 0), label("l"), bra("l", equal("r", 0))))
    assert hanging(round_only) == set(PROGRESS)


def test_a_count_that_takes_too_many_values_is_left_open() -> None:
    test = program(thread("A", A, label("l"), atom("add", "r", "x", 1), bra("l", unequal("r", 100_000))))
    assert endless(test, shipped("ptx-9.4"), "fair", Deadline.never()).verdict == "unknown"


def test_what_happens_in_the_loop_is_told() -> None:
    test = program(exchanging("A", A, 1, unequal("r", 1)), exchanging("B", B, 2, unequal("r", 2)))
    answer = hang(Encodings(test, shipped("ptx-9.4"), Deadline.never()), "fair", 4)
    assert answer.why == ("A goes round for ever: `Atomic` (x = 2 -> 1); B goes round for ever: `Atomic` (x = 1 -> 2)")


# --- where the answer can be no --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["relaxed.cta", "acq_rel.cluster"])
def test_scopes_that_do_not_reach_leave_open_whether_everybody_ends(how: str) -> None:
    near = program(locking("A", A), exchanging("B", A, 2, equal("r", 1), how="relaxed.cta"))
    far = program(locking("A", A), exchanging("B", B, 2, equal("r", 1), how=how))
    assert is_exact(near, shipped("ptx-9.4"))
    assert not is_exact(far, shipped("ptx-9.4"))


def test_weak_accesses_leave_open_whether_everybody_ends() -> None:
    test = program(locking("A", A), thread("B", B, st("x", 0)))
    assert not is_exact(test, shipped("ptx-9.4"))
    assert endless(test, shipped("ptx-9.4"), "fair", Deadline.never()).verdict == "unknown"


def test_several_words_are_interleavings_under_sequential_consistency_only() -> None:
    polls = (label("p"), ld("q", "y", "relaxed.gpu"), bra("p", equal("q", 0)))
    both = (st("y", 1, "relaxed.gpu"), *locking("B", B).body)
    test = program(thread("A", A, *polls, *locking("A", A).body), thread("B", B, *both))
    exact = {name for name in shipped_models() if is_exact(test, shipped(name))}
    assert exact == {"sc"}
    assert hanging(test, "sc") == set(PROGRESS) - {"fair"}


def test_data_behind_a_lock_does_not_matter() -> None:
    """It is weak, of other words, and counted up for ever."""

    def guarded(name: str, place: Place) -> Thread:
        *taken, release = locking(name, place).body
        counted = (ld("n", "data"), add("n", "n", 1), st("data", "n"))
        return thread(name, place, label("again"), *taken, *counted, release, bra("again", equal("r", 0)))

    assert is_exact(program(guarded("A", A), guarded("B", B)), shipped("ptx-9.4"))
    assert asked(program(guarded("A", A), guarded("B", B))) == "yes"
    once = [replace(one, body=one.body[:-1]) for one in (guarded("A", A), guarded("B", B))]
    assert hanging(program(*once)) == {"hsa", "unfair"}


def test_what_a_lock_guards_matters_where_somebody_branches_on_it() -> None:
    looks = (ld("n", "data"), bra("end", equal("n", 0)), label("end"))
    for used, exact in ((looks, False), (looks[:1], True)):
        test = program(locking("A", A), thread("B", B, *used, *locking("B", B).body))
        assert is_exact(test, shipped("ptx-9.4")) is exact


def test_every_shipped_model_says_whether_it_is_exact_on_several_words() -> None:
    assert set(ONE_WORD) == set(shipped_models())


def test_a_model_that_is_not_shipped_is_not_taken_for_one_that_is(tmp_path: object) -> None:
    path = models_dir().joinpath("sc.cat")
    copy = type(path)(str(tmp_path)) / "sc.cat"
    copy.write_text(path.read_text())
    test = program(locking("A", A), locking("B", B))
    assert is_exact(test, read_model("sc"))
    assert not is_exact(test, read_model(str(copy)))


@some.composite
def strong(draw: some.DrawFn, *, loops: bool, words: tuple[str, ...] = ("x",)) -> Program:
    """Strong accesses of some words in a few CTAs, whose scopes hold each other; with `loops` round some of them."""
    count = draw(some.sampled_from((2, 2, 3)))
    places = draw(some.sampled_from(((A, B, C), (A, A, B), (A, B, B), (B, A, B))))[:count]
    threads = []
    for index, place in enumerate(places):
        body: list[Statement] = []
        for position in range(draw(some.integers(1, 2))):
            body += draw(steps(f"r{position}", draw(some.sampled_from(words)), loops=loops))
        threads.append(thread("ABC"[index], place, *body))
    return program(*threads, objects=None)


@some.composite
def steps(draw: some.DrawFn, dst: str, word: str, *, loops: bool) -> list[Statement]:
    kind = draw(some.sampled_from(("load", "store", "exch", "cas", "add", "fence")))
    value, how = draw(some.sampled_from((0, 1, 2))), draw(some.sampled_from(("relaxed.gpu", "relaxed.sys")))
    one: Statement
    match kind:
        case "load":
            one = ld(dst, word, how)
        case "store":
            one = st(word, value, how)
        case "fence":
            return [fence("sc.gpu"), ld(dst, word, how)]
        case "cas":
            one = atom("cas", dst, word, draw(some.sampled_from((0, 1))), value, how=how)
        case _:
            one = atom(kind, dst, word, value if kind == "exch" else 1, how=how)
    if kind == "store" or not loops or draw(some.integers(0, 2)) == 0:
        return [one]
    goes_on = Binary(draw(some.sampled_from(("==", "!=", "<"))), Reg(dst), Const(draw(some.sampled_from((0, 1, 2)))))
    return [label(f"l{dst}"), one, bra(f"l{dst}", goes_on)]


def final_states(test: Program) -> set[tuple[int, ...]]:
    """What the registers and the word hold at the end of each interleaving."""
    found = Interleavings(test, Deadline.never())
    assert found.complete
    states = set()
    for number, state in enumerate(found.states):
        if not list(found.going(number)):
            files = [dict(one.standings[at][1]) for one, at in zip(found.runners, state, strict=False)]
            held = state[-1:] if found.words else (0,)
            states.add((*(files[i].get(r, 0) for i, t in enumerate(test.threads) for r in t.types), *held))
    return states


def compare_outcomes(test: Program, under: str) -> None:
    """A test of one word, all of it strong, has the final states of its interleavings, and no others."""
    leaves: list[FinalReg] = [FinalReg(one.name, name) for one in test.threads for name in one.types]
    columns: tuple[FinalReg | FinalMem, ...] = (*leaves, *(FinalMem(one.name, 0, U32) for one in test.objects))
    asked_for = replace(test, locations=columns)
    assert is_exact(asked_for, shipped(under))
    found = solver.outcomes(asked_for, shipped(under), Options())
    order = [found.columns.index(f"{leaf.thread}.{leaf.reg}") for leaf in leaves] + [found.columns.index("x")]
    assert {tuple(state.values[at] for at in order) for state in found.states} == final_states(asked_for)


@pytest.mark.parametrize("under", shipped_models())
@settings(QUICK, max_examples=8)
@given(test=strong(loops=False))
def test_strong_accesses_of_one_word_are_interleaved(under: str, test: Program) -> None:
    compare_outcomes(test, under)


@pytest.mark.slow
@LONG
@given(test=strong(loops=False), under=some.sampled_from(shipped_models()))
def test_strong_accesses_of_one_word_are_interleaved_in_many_tests(test: Program, under: str) -> None:
    compare_outcomes(test, under)


# --- against the engines ---------------------------------------------------------------------------------------------


def compare_hangs(test: Program, progress: str, under: str, *engines: ModuleType) -> None:
    """What an engine decides that unrolls loops that write is what the interleavings say."""
    ours = endless(test, shipped(under), progress, Deadline.never()).verdict
    options = Options(frozenset({"hang"}), bound=2, timeout=5.0, progress=progress)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ptxmm.hangs.endless", lambda *_: Answer("unknown"))
        patched.setattr("ptxmm.graph.FURTHEST", 8)
        theirs = {engine.check(test, shipped(under), options).hang.verdict for engine in engines}
    assert ours == "unknown" or theirs <= {ours, "unknown"}


@pytest.mark.parametrize("progress", PROGRESS)
@settings(QUICK, max_examples=6)
@given(test=strong(loops=True))
def test_the_solver_finds_the_same_hangs_as_the_interleavings(progress: str, test: Program) -> None:
    compare_hangs(test, progress, "ptx-9.4", solver)


@pytest.mark.slow
@settings(QUICK, max_examples=100, derandomize=False)
@given(test=strong(loops=True), progress=some.sampled_from(PROGRESS), under=some.sampled_from(shipped_models()))
def test_both_engines_find_the_same_hangs_as_the_interleavings(test: Program, progress: str, under: str) -> None:
    compare_hangs(test, progress, under, solver, enumeration)


@pytest.mark.parametrize("progress", PROGRESS)
@settings(QUICK, max_examples=20)
@given(test=strong(loops=True, words=("x", "y", "y")))
def test_what_no_branch_depends_on_does_not_matter(progress: str, test: Program) -> None:
    whole, part = (Interleavings(one, Deadline.never()) for one in (test, deciding(test)))
    assert len(part.states) <= len(whole.states)
    if whole.complete:
        assert (lasso(whole, progress) is None) == (lasso(part, progress) is None)


# --- promises --------------------------------------------------------------------------------------------------------


def test_a_promise_to_the_first_holds_in_each_group() -> None:
    """The second thread of the second CTA goes on only with the first of that CTA, and with the first CTA."""
    spin = (label("l"), bra("l"))
    test = program(*(thread(f"T{n}", place, *spin) for n, place in enumerate((A, A, B, B))))
    root, everybody = hierarchy(test), frozenset(range(4))
    kept = {
        frozenset(chosen)
        for chosen in map(frozenset, subsets(4))
        if chosen and fairest(root, "hsa", chosen, everybody, everybody) == chosen
    }
    assert kept == {frozenset(one) for one in ({0}, {0, 1}, {0, 2}, {0, 1, 2}, {0, 2, 3}, {0, 1, 2, 3})}


def subsets(count: int) -> list[set[int]]:
    return [{n for n, there in enumerate(chosen) if there} for chosen in product((False, True), repeat=count)]


@pytest.mark.parametrize("progress", PROGRESS)
@QUICK
@given(
    moving=some.sets(some.integers(0, 5)), able=some.sets(some.integers(0, 5)), started=some.sets(some.integers(0, 5))
)
def test_the_most_threads_that_keep_a_promise_contain_all_that_do(
    progress: str, moving: set[int], able: set[int], started: set[int]
) -> None:
    places = (A, A, Place(cluster=0, cta=1), B, C, C)
    root = hierarchy(program(*(thread(f"T{n}", place, st("x", n)) for n, place in enumerate(places))))
    going, begun = frozenset(able | moving), frozenset(started | moving)

    def keeps(chosen: frozenset[int]) -> bool:
        return fairest(root, progress, chosen, going, begun) == chosen

    most = fairest(root, progress, frozenset(moving), going, begun)
    assert keeps(most)
    for chosen in map(frozenset, subsets(6)):
        if chosen <= moving and keeps(chosen):
            assert chosen <= most


# --- the witness -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("progress", PROGRESS)
@settings(QUICK, max_examples=20)
@given(test=strong(loops=True))
def test_a_witness_comes_back_to_where_it_was_and_reads_what_was_written(progress: str, test: Program) -> None:
    answer = endless(test, shipped("ptx-9.4"), progress, Deadline.never())
    if answer.witness is None:
        assert answer.verdict != "yes"
        return
    events = {event.id: event for event in answer.witness.events}
    edges = answer.witness.edges
    assert all(events[write].value == events[read].value for write, read in edges["rf"])
    assert {read for _, read in edges["rf"]} == {n for n, event in events.items() if event.kind == "R"}
    order = sorted(n for n, event in events.items() if event.kind == "W")
    assert set(pairwise(order)) == edges["co"]
    for name in ("po", "rf", "fr", "rmw"):
        assert all(one < other for one, other in edges[name])
