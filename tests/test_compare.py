"""Logs of runs against models: what was seen and may not be, what may be and was not, and what says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from building import model
from runs import MP, Seen, counted, mp, ran

from ptxmm.compare import Comparison, Standing, by_test, compare
from ptxmm.gpu.controls import controls
from ptxmm.gpu.log import Control, Run
from ptxmm.options import Options
from ptxmm.program import Addr, Program
from ptxmm.states import enumerate_states
from ptxmm.syntax.lit import read

OPTIONS = Options()
STRONG: Seen = {(0, 0): 10**9, (0, 1): 10**9, (1, 1): 10**9}
WEAK: Seen = {**STRONG, (1, 0): 10**6}
RELAXED = next(c.program for c in controls(mp("release")) if c.kind == "relaxed")


def compared(*runs: Run, under: str = "ptx-9.4") -> Comparison:
    return compare(runs, model(under), OPTIONS)


def lit(text: str) -> Program:
    (found,) = read(f"ptx test .global .u32 x; .global .u32 f;\n{text}", "test.lit")
    return found


def test_a_forbidden_state_that_was_seen_is_a_finding_with_its_axioms_and_its_question() -> None:
    found = compared(ran(mp("release"), {**STRONG, (1, 0): 3}))
    assert (found.standing, found.verdict) == (Standing.FORBIDDEN_SEEN, "forbidden")
    (state,) = [state for state in found.states if state.verdict == "forbidden"]
    assert (state.values, state.count, state.by) == ((1, 0), 3, ("causality",))
    (question,) = read(state.question, "question.lit")
    assert state.asks == "exists (B.r0 == 1 && B.r1 == 0)"
    assert not [s for s in enumerate_states(question, model("ptx-9.4"), OPTIONS).states if s.satisfies]


def test_a_state_outside_the_condition_is_asked_of_the_model_too() -> None:
    found = compared(ran(mp("relaxed"), {**WEAK, (7, 1): 1}))
    assert found.standing is Standing.FORBIDDEN_SEEN
    assert found.verdict == "allowed"
    assert [state.values for state in found.states if state.verdict == "forbidden"] == [(7, 1)]


def test_a_zero_next_to_a_control_that_shows_agrees() -> None:
    found = compared(ran(mp("release"), STRONG, control=(RELAXED, WEAK)))
    assert found.standing is Standing.AGREE
    assert found.told == "0 of 3.0e9 (below 0.032 per million), control relaxed 333 per million"


def test_a_zero_says_nothing_without_a_control_or_next_to_another_zero() -> None:
    alone = compared(ran(mp("release"), STRONG))
    beside = compared(ran(mp("release"), STRONG, control=(RELAXED, STRONG)))
    assert {alone.standing, beside.standing} == {Standing.NOT_EXERCISED}
    assert alone.told == "not exercised: 0 of 3.0e9, no control"


def test_a_control_that_may_not_show_it_either_is_told() -> None:
    test = lit("""thread A @ d0.c0.b0 { st.relaxed.gpu.u32 [x], 1; }
                  thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [x]; } exists (B.r0 == 2)""")
    made = controls(test)[0]
    found = compared(ran(test, {(0,): 10**9}, control=(made.program, {(0,): 10**9})))
    assert (found.standing, found.control_verdict) == (Standing.NOT_EXERCISED, "forbidden")
    assert found.told.endswith("; the model forbids it in the control too")


def test_the_zero_of_a_merged_test_is_never_one() -> None:
    merged = ran(mp("release"), STRONG, control=(RELAXED, WEAK), label="merged")
    assert compared(merged).standing is Standing.NOT_EXERCISED
    whole = ran(mp("release"), STRONG, control=(RELAXED, WEAK), profile="other")
    assert compared(merged, whole).standing is Standing.AGREE
    assert compared(merged, whole).rate == compared(whole).rate


def test_what_was_not_listed_may_be_what_was_not_seen() -> None:
    found = compared(ran(mp("release"), STRONG, control=(RELAXED, WEAK), unlisted=2))
    assert found.standing is Standing.NOT_EXERCISED
    assert found.notes == ("2 ended in states that the log does not list",)


def test_profiles_count_together_and_one_that_shows_nothing_does_not_weaken_another() -> None:
    shows = ran(mp("release"), STRONG, control=(RELAXED, WEAK), profile="one")
    silent = ran(mp("release"), STRONG, control=(RELAXED, STRONG), profile="two")
    found = compared(shows, silent)
    assert (found.standing, found.profiles) == (Standing.AGREE, ("one", "two"))
    assert found.rate is not None
    assert found.rate.instances == 3 * 10**9


def test_an_allowed_outcome_was_seen_so_often_or_not_at_all() -> None:
    seen, unseen = compared(ran(mp("relaxed"), WEAK)), compared(ran(mp("relaxed"), STRONG))
    assert (seen.standing, seen.told) == (Standing.SEEN, "1,000,000 of 3.0e9 (333 per million)")
    assert unseen.standing is Standing.NOT_SEEN


def test_what_forall_excludes_is_what_must_not_be_seen() -> None:
    test = lit("thread A @ d0.c0.b0 { st.weak.u32 [x], 1; ld.weak.u32 r0, [x]; } forall (A.r0 == 1)")
    right, wrong = compared(ran(test, {(1,): 10**6})), compared(ran(test, {(1,): 10**6, (0,): 1}))
    assert (right.verdict, right.standing) == ("holds", Standing.NOT_EXERCISED)
    assert (wrong.verdict, wrong.standing) == ("holds", Standing.FORBIDDEN_SEEN)


def test_a_test_without_a_condition_agrees_where_all_its_states_are_allowed() -> None:
    test = lit("thread A @ d0.c0.b0 { st.weak.u32 [x], 1; ld.weak.u32 r0, [x]; } locations [A.r0]")
    assert compared(ran(test, {(1,): 5})).standing is Standing.AGREE
    assert compared(ran(test, {(0,): 5})).standing is Standing.FORBIDDEN_SEEN


def test_a_control_that_does_what_its_own_model_forbids_is_a_finding() -> None:
    found = compared(ran(mp("release"), STRONG, control=(RELAXED, {**WEAK, (9, 9): 1})))
    assert found.standing is Standing.FORBIDDEN_SEEN
    assert [(s.values, s.control) for s in found.states if s.verdict == "forbidden"] == [((9, 9), True)]


@pytest.mark.parametrize(
    "run",
    [
        replace(ran(mp("release"), STRONG), columns=("B.r0", "B.r9")),
        replace(ran(mp("release"), STRONG), columns=("B.r0",), types=("u32",)),
        replace(ran(mp("release"), STRONG), counted=replace(counted(mp("release"), STRONG), instances=5)),
        ran(mp("relaxed"), STRONG, control=(mp("release"), STRONG)),
        replace(ran(mp("release"), STRONG), types=("u32", "s8")),
        replace(ran(mp("release"), STRONG), test="LB"),
        replace(ran(mp("release"), STRONG), variant=""),
        replace(ran(mp("release"), STRONG), condition="exists (B.r0 == 7)"),
        replace(ran(mp("release"), STRONG), counted=replace(counted(mp("release"), STRONG), groups=10**10)),
        replace(ran(mp("release"), STRONG), counted=replace(counted(mp("release"), STRONG), squares=1)),
        replace(ran(mp("release"), STRONG), text=f"{MP}\n"),
        replace(
            ran(mp("release"), STRONG, control=(RELAXED, WEAK)),
            control=Control(change="relaxed", text=f"{MP}\n", counted=counted(mp("relaxed"), WEAK)),
        ),
    ],
    ids=[
        "a column that is not there",
        "more values than columns",
        "counts that do not add up",
        "a control that is stronger",
        "a column of another type",
        "the text of another test",
        "the text of another variant",
        "another condition than the text's",
        "more groups than instances",
        "squares of states in which the condition does not hold",
        "a text of two tests",
        "a control of two tests",
    ],
)
def test_a_log_that_contradicts_itself_is_no_evidence(run: Run) -> None:
    found = compared(run)
    assert found.standing is Standing.BROKEN
    assert "mistake in ptxmm" not in found.told


def test_what_a_log_says_of_the_condition_is_computed_again() -> None:
    run = ran(mp("release"), STRONG)
    assert run.counted is not None
    turned = tuple(replace(outcome, holds=not outcome.holds) for outcome in run.counted.outcomes)
    assert compared(replace(run, counted=replace(run.counted, outcomes=turned))).standing is Standing.BROKEN


def test_what_did_not_run_or_has_no_model_is_unsupported_here() -> None:
    skipped = replace(ran(mp("release"), STRONG), counted=None, skipped="needs sm_100a")
    assert (compared(skipped).standing, compared(skipped).told) == (Standing.UNSUPPORTED, "needs sm_100a")
    narrow = lit("thread A @ d0.c0.b0 { fence.acquire.cluster; ld.weak.u32 r0, [x]; } exists (A.r0 == 1)")
    assert compared(ran(narrow, {(0,): 5}), under="ptx-7.5").standing is Standing.UNSUPPORTED


def test_where_the_model_is_not_asked_to_the_end_the_answer_is_unknown() -> None:
    test = lit("""thread A @ d0.c0.b0 { do { atom.relaxed.gpu.add.u32 r0, [x], 1; } while (r0 < 9000); }
                  exists (A.r0 == 9000)""")
    found = compare((ran(test, {(9000,): 5}),), model("ptx-9.4"), Options(timeout=0.2))
    assert (found.standing, found.verdict) == (Standing.UNKNOWN, "unknown")


def test_a_final_value_may_be_an_address_that_the_condition_names() -> None:
    (test,) = read(
        """ptx link .global .u64 a; .global .u64 top = 0;
           thread A @ d0.c0.b0 { st.relaxed.gpu.global.u64 [top], &a; }
           thread B @ d0.c1.b1 { ld.relaxed.gpu.global.u64 r, [top]; }
           exists (B.r == &a && top == &a)""",
        "link.lit",
    )
    a = test.address(Addr("a"))
    seen = compared(ran(test, {(0, a): 7, (a, a): 5}))
    assert (seen.standing, seen.rate and seen.rate.seen) == (Standing.SEEN, 5)
    wrong = compared(ran(test, {(a, 0): 1}))
    assert wrong.standing is Standing.FORBIDDEN_SEEN
    ((state,), (question,)) = wrong.states, read(wrong.states[0].question, "question.lit")
    assert not state.holds
    assert not [s for s in enumerate_states(question, model("ptx-9.4"), OPTIONS).states if s.satisfies]


def test_runs_are_joined_by_test_and_text() -> None:
    one, two = ran(mp("release"), STRONG), ran(mp("release"), STRONG, profile="other")
    changed = replace(one, text=one.text.replace("[x], 1", "[x], 2"))
    assert by_test([one, ran(mp("relaxed"), WEAK), two, changed]) == [
        (one, two),
        (ran(mp("relaxed"), WEAK),),
        (changed,),
    ]


def test_a_state_of_a_test_that_reaches_an_undefined_step_is_no_finding() -> None:
    text = """ptx twice
.shared @ d0.c0.b0 .mbarrier m(1);
.global .u32 x;
thread A @ d0.c0.b0 { mbarrier.init.shared::cta.b64 [m], 1; st.weak.global.u32 [x], 1; }
exists (x == 2)
"""
    (program,) = read(text, "twice.lit")
    result = compare((ran(program, {(2,): 5}),), model("ptx-9.4"), Options())
    assert result.standing is Standing.UNDEFINED
    assert "valid already" in result.told


def test_what_only_a_control_shows_where_it_reaches_an_undefined_step_says_nothing_of_the_test() -> None:
    text = """ptx filled
.shared @ d0.c0.b0 .mbarrier m(1);
.shared @ d0.c0.b0 .u32 s[4];
.global .u32 g[4] = {1, 1, 1, 1};
thread A @ d0.c0.b0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];
    await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;
    ld.weak.shared.u32 r, [s];
}
~exists (A.r == 0)
"""
    (program,) = read(text, "filled.lit")
    weaker = next(control.program for control in controls(program) if control.kind == "headlong")
    run = ran(program, {(1,): 10**6}, control=(weaker, {(0,): 10**5, (2,): 5, (1,): 10**6}))
    result = compare((run,), model("ptx-9.4"), Options())
    assert {state.verdict for state in result.states if state.control and state.values == (2,)} == {"undefined"}
    assert result.standing is Standing.AGREE
