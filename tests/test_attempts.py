"""Failed attempts that write back what they read: left out, they change no answer.

The second engine unrolls the loops; an interpreter that tries every interleaving knows what goes on for ever.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from building import Options as Unrolled
from building import add, atom, bra, cta, equal, final, label, ld, model, program, st, thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from test_liveness import endless

from ptxmm import enumeration
from ptxmm.arith import U32
from ptxmm.cat import read_model, shipped_models
from ptxmm.check import check
from ptxmm.compilation import plan_of
from ptxmm.deadline import Deadline
from ptxmm.encode import chain_lemma, encode
from ptxmm.encodings import Encodings
from ptxmm.events import Ending
from ptxmm.hangs import hang
from ptxmm.model import Axiom
from ptxmm.options import Options
from ptxmm.program import (
    Atomic,
    Binary,
    Condition,
    Const,
    Conventions,
    Expr,
    FinalMem,
    FinalReg,
    Program,
    Quantifier,
    Reg,
    Statement,
)
from ptxmm.progress import PROGRESS
from ptxmm.sequential import is_exact

QUICK = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def spin(name: str, attempt: Statement, *, until: int, reg: str = "r") -> list[Statement]:
    """A loop of attempts that ends when one finds a value."""
    return [label(name), attempt, bra(name, Binary("!=", Reg(reg), Const(until)))]


def take(lock: str = "l", how: str = "acquire.gpu", name: str = "L") -> list[Statement]:
    return spin(name, atom("exch", "r", lock, 1, how=how), until=0)


def drop(lock: str = "l", how: str = "release.gpu") -> list[Statement]:
    return [st(lock, 0, how)]


def count_up(how: str = "weak") -> list[Statement]:
    return [ld("c", "x", how), add("c", "c", 1), st("x", "c", how)]


def guarded(take_it: list[Statement], drop_it: list[Statement], threads: int = 2) -> Program:
    """Threads that count under a lock: is a step lost?"""
    body = [*take_it, *count_up(), *drop_it]
    test = program(*(thread("ABCD"[i], cta(i), *body) for i in range(threads)))
    lost = Binary("!=", FinalMem("x", 0, U32), Const(threads))
    return replace(test, condition=Condition(Quantifier.EXISTS, lost))


def asked(test: Program, name: str = "ptx-9.4", *properties: str) -> tuple[str, str, str]:
    wanted = frozenset(properties or {"outcome", "race", "hang"})
    result = check(test, model(name), Options(properties=wanted, bound=2))
    return result.verdict, result.race.verdict, result.hang.verdict


@pytest.mark.parametrize("name", shipped_models())
def test_every_shipped_model_lets_failed_attempts_go(name: str) -> None:
    known = read_model(name)
    assert plan_of(known).hereditary
    assert chain_lemma(plan_of(known), known, stores=True)


def test_a_model_without_atomicity_does_not() -> None:
    known = read_model("ptx-9.4")
    kept = tuple(s for s in known.statements if not (isinstance(s, Axiom) and s.name == "atomicity"))
    weaker = replace(known, statements=kept)
    assert not chain_lemma(plan_of(weaker), weaker, stores=True)


def test_a_test_and_set_lock_keeps_every_step() -> None:
    assert asked(guarded(take(), drop())) == ("forbidden", "no", "no")
    assert asked(guarded(take(), drop(), threads=3)) == ("forbidden", "no", "no")


def test_a_lock_without_acquire_or_release_loses_steps() -> None:
    assert asked(guarded(take(how="relaxed.gpu"), drop())) == ("allowed", "yes", "no")
    assert asked(guarded(take(), drop(how="relaxed.gpu"))) == ("allowed", "yes", "no")


def test_a_lock_that_is_not_dropped_is_tried_for_ever() -> None:
    assert asked(guarded(take(), [])) == ("forbidden", "no", "yes")


@pytest.mark.parametrize("op", ["or", "max", "exch", "umax"])
def test_operations_that_keep_a_taken_lock_as_it_is(op: str) -> None:
    name = op.removeprefix("u")
    attempt = spin("L", atom(name, "r", "l", 1, how="acquire.gpu"), until=0)
    assert asked(guarded(attempt, drop())) == ("forbidden", "no", "no")


def test_a_lock_of_bits_is_taken_by_and() -> None:
    attempt = spin("L", atom("and", "r", "l", 0, how="acquire.gpu"), until=1)
    test = guarded(attempt, [st("l", 1, "release.gpu")])
    free = tuple(replace(one, init=(Const(1),)) if one.name == "l" else one for one in test.objects)
    assert asked(replace(test, objects=free)) == ("forbidden", "no", "no")


def test_a_failed_cas_that_writes_is_such_an_attempt() -> None:
    attempt = spin("L", atom("cas", "r", "l", 0, 1, how="acquire.gpu"), until=0)
    test = guarded(attempt, drop())
    assert asked(test) == ("forbidden", "no", "no")
    assert asked(replace(test, conventions=Conventions(failed_cas_writes=True))) == ("forbidden", "no", "no")


def test_a_lock_is_looked_at_before_it_is_tried() -> None:
    look: list[Statement] = [label("L"), ld("p", "l", "relaxed.gpu"), bra("L", Binary("!=", Reg("p"), Const(0)))]
    attempt: list[Statement] = [*look, atom("exch", "r", "l", 1, how="acquire.gpu"), bra("L", equal("r", 1))]
    assert asked(guarded(attempt, drop())) == ("forbidden", "no", "no")


def test_the_final_value_of_the_lock_is_known() -> None:
    test = guarded(take(), drop())
    assert asked(replace(test, condition=Condition(Quantifier.FORALL, final(l=0, x=2))))[0] == "holds"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param([st("l", 0, "release.cta")], id="a scope too narrow"),
        pytest.param([st("l", 0)], id="a plain store"),
        pytest.param([st("l", 2, "release.gpu"), st("l", 0, "release.gpu")], id="a value that is not written back"),
    ],
)
def test_what_is_not_proved_exact_is_cut(change: list[Statement]) -> None:
    test = guarded(take(), change)
    assert not encode(test, model("ptx-9.4"), 2).graph.retries
    verdict, race, hangs = asked(test)
    assert "unknown" in (verdict, race, hangs)
    assert race != "no"
    assert hangs != "no" or is_exact(test, model("ptx-9.4"))


HANDED_ON = [
    pytest.param([atom("exch", None, "l", 0, how="release.gpu")], id="the lock is dropped by an exchange"),
    pytest.param([st("l", 0, "release.gpu"), ld("q", "l", "relaxed.gpu")], id="a look at the lock"),
]


@pytest.mark.parametrize("change", HANDED_ON)
def test_what_an_attempt_writes_back_may_be_read(change: list[Statement]) -> None:
    assert asked(guarded(take(), change)) == ("forbidden", "no", "no")
    assert asked(guarded(take(how="relaxed.gpu"), change)) == ("allowed", "yes", "no")


@pytest.mark.parametrize("change", HANDED_ON)
def test_under_a_model_that_does_not_declare_it_only_what_nobody_reads_is_left_out(change: list[Statement]) -> None:
    assert all(read_model(name).hands_on for name in shipped_models())
    undeclared = replace(read_model("ptx-9.4"), hands_on=False)
    assert not encode(guarded(take(), change), undeclared, 2).graph.retries
    assert encode(guarded(take(), drop()), undeclared, 2).graph.retries


@pytest.mark.parametrize(("op", "left_out"), [("exch", False), ("or", True)])
def test_no_value_comes_out_of_thin_air_through_an_attempt(op: str, left_out: bool) -> None:
    attempt = spin("L", atom(op, "r", "l", 1), until=0)
    reader: list[Statement] = [ld("k", "l", "relaxed.gpu"), st("y", "k", "relaxed.gpu")]
    writer: list[Statement] = [ld("v", "y", "relaxed.gpu"), st("l", "v", "relaxed.gpu")]
    test = program(thread("A", cta(0), *attempt), thread("B", cta(1), *reader), thread("C", cta(2), *writer))
    assert bool(encode(test, model("ptx-9.4"), 2).graph.retries) is left_out


@pytest.mark.parametrize("op", ["add", "or", "max", "cas"])
def test_a_poll_by_an_atomic_operation_that_changes_nothing_is_a_wait(op: str) -> None:
    operands = (0, 0) if op == "cas" else (0,)
    poll = atom(op, "r", "n", *operands, how="acquire.gpu")
    wait: list[Statement] = [label("L"), poll, bra("L", Binary("<", Reg("r"), Const(2)))]
    arrive: list[Statement] = [st("x", 1), atom("add", None, "n", 1, how="release.gpu")]
    test = program(thread("A", cta(0), *arrive), thread("B", cta(1), atom("add", None, "n", 1)), 
                   thread("C", cta(2), *wait, ld("v", "x")))  # fmt: skip
    stale = Binary("==", FinalReg("C", "v"), Const(0))
    assert asked(replace(test, condition=Condition(Quantifier.EXISTS, stale))) == ("forbidden", "no", "no")


def test_attempts_that_change_another_word_are_cut() -> None:
    noisy: list[Statement] = [
        label("L"),
        st("n", 1),
        atom("exch", "r", "l", 1, how="acquire.gpu"),
        bra("L", equal("r", 1)),
    ]
    assert encode(guarded(noisy, drop()), model("ptx-9.4"), 2).graph.cut != -1


# --- against unrolled loops ------------------------------------------------------------------------------------------


@some.composite
def bodies(draw: some.DrawFn, words: tuple[str, ...]) -> list[Statement]:
    """A few steps with a lock `l`: attempts, looks, writes, and accesses of another word."""
    found: list[Statement] = []
    for position in range(draw(some.integers(1, 2 + (len(words) < 2)))):
        kind = draw(some.sampled_from(("take", "take", "drop", "swap", "poll", "wait", "or", "give", "data", "look")))
        name, how = f"L{position}", draw(some.sampled_from(("relaxed", "acquire")))
        match kind:
            case "take":
                found += take(how=f"{how}.gpu", name=name)
            case "give":
                found += spin(name, atom("exch", "r", "l", 0, how=f"{how}.gpu"), until=1)
            case "or" if len(words) > 1:
                found += spin(name, atom("or", "r", "l", 1, how=f"{how}.gpu"), until=0)
            case "wait":
                found += spin(name, ld("r", "l", f"{how}.gpu"), until=draw(some.sampled_from((0, 1))))
            case "swap":
                found += [atom("exch", None, "l", 0, how=draw(some.sampled_from(("relaxed.gpu", "release.gpu"))))]
            case "poll":
                zero = draw(some.sampled_from(("or", "max")))
                found += spin(name, atom(zero, "r", "l", 0, how=f"{how}.gpu"), until=draw(some.sampled_from((0, 1))))
            case "data" if len(words) > 1:
                strength = draw(some.sampled_from(("weak", "relaxed.gpu")))
                item: list[Statement] = [
                    ld(f"d{position}", "x", strength),
                    st("x", draw(some.sampled_from((1, 2))), strength),
                ]
                found += [draw(some.sampled_from(item))]
            case "look":
                found += [ld(f"k{position}", "l", "relaxed.gpu")]
            case _:
                release = draw(some.sampled_from(("relaxed.gpu", "release.gpu")))
                found += [st("l", draw(some.sampled_from((0, 0, 1))), release)]
    return found


@some.composite
def contests(draw: some.DrawFn) -> Program:
    """Two threads that contend for a word, and a question about all that they read."""
    threads = [thread("AB"[i], cta(i), *draw(bodies(("l", "x")))) for i in range(2)]
    test = program(*threads)
    leaves: list[FinalReg | FinalMem] = [FinalReg(t.name, reg) for t in threads for reg in t.types if reg != "r"]
    leaves += [FinalMem(item.name, 0, U32) for item in test.objects]
    parts: list[Expr] = [
        Binary("==", leaf, Const(draw(some.integers(0, 2)))) for leaf in leaves if draw(some.integers(0, 2))
    ]
    whole: Expr = Const(1)
    for part in parts:
        whole = Binary("&&", whole, part)
    return replace(test, condition=Condition(Quantifier.EXISTS, whole))


def tries(test: Program) -> bool:
    return any(isinstance(statement, Atomic) for one in test.threads for statement in one.body)


SURE = {"allowed": 1, "yes": 1, "forbidden": 0, "no": 0}


@pytest.fixture(autouse=True)
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that constants alone keep going is not followed far."""
    monkeypatch.setattr("ptxmm.graph.FURTHEST", 3)


@pytest.mark.parametrize("name", ["ptx-7.5", "sc"])
@settings(QUICK, max_examples=8)
@given(test=contests().filter(tries))
def test_unrolled_loops_say_the_same(name: str, test: Program) -> None:
    result = check(test, model(name), Options(properties=frozenset({"outcome", "race"}), bound=2))
    unrolled = enumeration.check(test, model(name), Unrolled(bound=1, timeout=5))
    pairs = [(result.verdict, unrolled.verdict), (result.race.verdict, unrolled.race.verdict)]
    for ours, theirs in pairs:
        if ours in SURE and theirs in SURE:
            assert SURE[ours] == SURE[theirs]


@pytest.mark.parametrize("name", ["ptx-9.4", "sc"])
@settings(QUICK, max_examples=8)
@given(codes=some.lists(bodies(("l",)), min_size=2, max_size=3))
def test_what_goes_on_for_ever_is_what_the_interleavings_say(name: str, codes: list[list[Statement]]) -> None:
    test = program(*(thread("ABC"[i], cta(0), *code) for i, code in enumerate(codes)))
    hanging = endless(test)
    encodings = Encodings(test, model(name), Deadline.after(5))
    answers = {progress: hang(encodings, progress, 2).verdict for progress in PROGRESS}
    for progress, answer in answers.items():
        assert answer in ("unknown", "yes" if progress in hanging else "no"), progress
    for strong, weak in pairwise(("fair", "lobe", "obe", "unfair")):
        assert (answers[strong], answers[weak]) != ("yes", "no")


def test_a_thread_that_fails_for_ever_has_no_attempt_in_the_picture() -> None:
    encoding = encode(guarded(take(), []), model("ptx-9.4"), 2, Ending.PREFIX)
    assert len(encoding.graph.retries) == 2
    answer = hang(Encodings(guarded(take(), []), model("ptx-9.4"), Deadline.never()), "fair", 2)
    assert answer.verdict == "yes"
    assert "tries for ever" in answer.why
    assert "finds l = 1" in answer.why
