"""Operations on an mbarrier that can be exchanged: one order of them stands for all."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from benchmarks.pipelines import Pipeline, in_flight
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some
from random_asynchronous import ARRIVALS, WAITS, Scene, asynchronous

from ptxmm import encode, enumeration
from ptxmm.cat import read_model
from ptxmm.check import check
from ptxmm.compilation import plan_of
from ptxmm.encode import encode as encoded
from ptxmm.options import Options
from ptxmm.possible import after_operations
from ptxmm.program import Program
from ptxmm.syntax.lit import read

EVERYTHING = Options(frozenset({"outcome", "race", "hang", "undefined"}), bound=2, timeout=20.0)
MODEL = read_model("ptx-9.4")
TO_S = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];"
TO_T = TO_S.replace("[s]", "[t]").replace("[g]", "[g + 16]")
SAME = Scene(
    """.shared @ d0.c0.b0 .mbarrier m({count});
    .shared @ d0.c0.b0 .u32 s[4];
    .shared @ d0.c0.b0 .u32 t[4];
    .global .u32 g[8] = {{1, 0, 0, 0, 2, 0, 0, 0}};""",
    ("d0.c0.b0", "d0.c0.b0", "d0.c0.b0"),
    (
        f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 32; {TO_S} {TO_T}",
        f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 32; {TO_S} {TO_T}",
        f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; {TO_S}",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 16; " + TO_T,
        TO_S, TO_T, *ARRIVALS[:2], *ARRIVALS[:2], *WAITS[:3], *WAITS[:3],
        "ld.weak.shared::cta.u32 r, [s];", "ld.weak.shared::cta.u32 r, [t];", "fence.proxy.async;",
        "st.weak.shared::cta.u32 [s], 3;", "mbarrier.test_wait.parity.shared::cta.b64 r, [m], 0;",
    ),
    ("s", "t"),
)  # fmt: skip
AGREES = settings(suppress_health_check=list(HealthCheck), deadline=None)
OVERTAKEN = f"""ptx overtaken
    .shared @ d0.c0.b0 .mbarrier m(1);
    .shared @ d0.c0.b0 .u32 s[4];
    .shared @ d0.c0.b0 .u32 t[4];
    .global .u32 g[8] = {{1, 0, 0, 0, 2, 0, 0, 0}};
    thread T @ d0.c0.b0 {{
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;
        {TO_S} {TO_T}
        await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;
        ld.weak.shared::cta.u32 a, [s];
        ld.weak.shared::cta.u32 b, [t];
    }}
    exists (T.a == 0 && T.b == 2)"""


def verdicts(program: Program) -> tuple[object, ...]:
    result = check(program, MODEL, EVERYTHING)
    return (result.verdict, result.race.verdict, set(result.race.on), result.hang.verdict, result.undefined.verdict)


def without(program: Program) -> tuple[object, ...]:
    """The verdicts where every order of operations is looked at."""
    with patch.object(encode, "after_operations", return_value=None):
        return verdicts(program)


def uncertain(text: str) -> int:
    """How many pairs of operations have no order before anything is solved."""
    barriers = encoded(read(text, "t.lit")[0], MODEL, 4).base.mbarriers.all.values()
    return sum(abs(literal) != 1 for barrier in barriers for literal in barrier.before.values())


@settings(AGREES, max_examples=40, derandomize=True)
@given(asynchronous((SAME,), 5))
def test_one_order_has_the_verdicts_of_all(program: Program) -> None:
    assert verdicts(program) == without(program)


@pytest.mark.slow
@settings(AGREES, max_examples=1500)
@given(asynchronous((SAME,), 7))
def test_one_order_has_the_verdicts_of_all_in_many_tests(program: Program) -> None:
    assert verdicts(program) == without(program)


@pytest.mark.slow
@settings(AGREES, max_examples=300)
@given(asynchronous((SAME,), 5))
def test_the_second_engine_agrees_where_operations_can_be_exchanged(program: Program) -> None:
    other = enumeration.check(program, MODEL, EVERYTHING)
    mine = check(program, MODEL, EVERYTHING)
    for one, two in (
        (mine.verdict, other.verdict), (mine.race.verdict, other.race.verdict), (mine.hang.verdict, other.hang.verdict),
        (mine.undefined.verdict, other.undefined.verdict),
    ):  # fmt: skip
        assert one == two or "unknown" in (one, two)


@settings(AGREES, max_examples=4, derandomize=True)
@example(1, 3, 2, 2, 1, "")
@example(1, 2, 1, 1, 2, "fence.proxy.async.shared::cta;")
@given(*(some.integers(1, most) for most in (2, 2, 2, 2)), some.just(1), some.sampled_from(("", "fence.proxy.async;")))
def test_pipelines_have_the_same_verdicts_in_all_orders(
    stages: int, rounds: int, copies: int, consumers: int, ctas: int, fence: str
) -> None:
    program = read(Pipeline(stages, rounds, copies, consumers, ctas=ctas, fence=fence).text(), "t.lit")[0]
    assert verdicts(program) == without(program)


def test_a_hundred_copies_in_flight_complete_in_the_order_of_their_starts() -> None:
    assert uncertain(in_flight(100)) == 0


@pytest.mark.parametrize(("expected", "hang"), [(20, "no"), (21, "yes")])
def test_twenty_copies_in_flight_hang_where_more_bytes_are_expected(expected: int, hang: str) -> None:
    found = verdicts(read(in_flight(20, expected=expected), "t.lit")[0])
    assert found == ("forbidden", "no", set(), hang, "no")


def test_two_copies_to_one_place_conflict_whatever_else_is_in_flight() -> None:
    found = verdicts(read(in_flight(8, overlapping=True), "t.lit")[0])
    assert found == ("allowed", "yes", {"s6"}, "no", "yes")


def test_a_copy_that_completes_a_phase_in_place_of_another_is_not_ordered() -> None:
    program = read(OVERTAKEN, "t.lit")[0]
    assert verdicts(program) == without(program)
    assert verdicts(program)[0] == "allowed"


def test_a_thread_that_arrives_and_tests_the_same_mbarrier_may_be_first() -> None:
    """Its test passes for the phase before only where it is the first of two to arrive; then all may end too early."""
    text = """ptx first
        .shared @ d0.c0.b0 .mbarrier m(2);
        .global .u32 x;
        thread A @ d0.c0.b0 { mbarrier.arrive.shared::cta.b64 _, [m]; }
        thread B @ d0.c0.b0 {
            mbarrier.arrive.shared::cta.b64 _, [m];
            mbarrier.test_wait.parity.shared::cta.b64 r, [m], 1;
        }
        exists (B.r == 1)"""
    program = read(text, "t.lit")[0]
    assert verdicts(program) == without(program)
    assert verdicts(program)[0] == "allowed"


def test_completions_of_four_consumers_stages_and_copies_have_one_order() -> None:
    assert uncertain(Pipeline(2, 3, copies=8).text()) == 0
    assert uncertain(Pipeline(2, 3, consumers=4).text()) < 20


def test_a_model_that_looks_at_the_order_of_operations_keeps_all_orders() -> None:
    assert after_operations(plan_of(MODEL)) is not None
    assert after_operations(plan_of(read_model("ptx-9.4-literal"))) is None
