"""Laws of mbarriers and copies, on random tests: what a change of a test may do to its final states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from building import model
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as some
from random_asynchronous import ANEW, CLUSTER, KERNELS, LIVES, MAPS, ONE_CTA, TRIGGERS, asynchronous

from ptxmm.check import check as decide
from ptxmm.check import outcomes as solver_outcomes
from ptxmm.enumeration import outcomes
from ptxmm.options import Options
from ptxmm.program import (
    Fence,
    Load,
    MbarrierArrive,
    MbarrierWait,
    Order,
    Program,
    ProxyFence,
    Scope,
    Statement,
    Store,
    Thread,
    WaitGroup,
)  # fmt: skip
from ptxmm.syntax.lit import read

QUICK = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
TIERS = pytest.mark.parametrize("examples", [QUICK, pytest.param(LONG, marks=pytest.mark.slow)], ids=["quick", "long"])
READINGS = some.sampled_from(("ptx-9.4", "ptx-9.4-strict", "ptx-9.4-literal"))
TESTS = asynchronous((ONE_CTA, CLUSTER, MAPS), moves=5)
OPTIONS = Options(frozenset({"outcome"}), bound=2, timeout=10.0)
SCOPES = tuple(Scope)
STRONGER: dict[type, dict[Order, Order]] = {
    MbarrierArrive: {Order.RELAXED: Order.RELEASE},
    MbarrierWait: {Order.RELAXED: Order.ACQUIRE},
    Load: {Order.RELAXED: Order.ACQUIRE},
    Store: {Order.RELAXED: Order.RELEASE},
    Fence: {Order.ACQ_REL: Order.SC},
}
State = tuple[int, ...]


def states(program: Program, under: str) -> set[State]:
    """The final states; tests that the engine cannot finish are passed over."""
    found = outcomes(program, model(under), OPTIONS)
    assume(found.complete)
    return {state.values for state in found.states}


def with_body(program: Program, thread: Thread, body: tuple[Statement, ...]) -> Program:
    """A test in which one thread has other code."""
    threads = tuple(replace(one, body=body) if one is thread else one for one in program.threads)
    return replace(program, threads=threads)


def changed(program: Program, item: Statement, new: Statement) -> Program:
    """A test in which one instruction is replaced."""
    for thread in program.threads:
        for at, one in enumerate(thread.body):
            if one is item:
                return with_body(program, thread, (*thread.body[:at], new, *thread.body[at + 1 :]))
    raise AssertionError("no such instruction")


@TIERS
def test_a_proxy_fence_more_adds_no_final_state(examples: settings) -> None:
    @examples
    @given(program=TESTS, under=READINGS, data=some.data())
    def check(program: Program, under: str, data: some.DataObject) -> None:
        thread = data.draw(some.sampled_from(program.threads))
        at = data.draw(some.integers(0, len(thread.body)))
        space = data.draw(some.sampled_from((None, "global", "shared::cta", "shared::cluster")))
        more = ProxyFence(kind="async", space=space)
        fenced = with_body(program, thread, (*thread.body[:at], more, *thread.body[at:]))
        assert states(fenced, under) <= states(program, under)

    check()


@TIERS
def test_waiting_for_all_of_a_copy_adds_no_final_state(examples: settings) -> None:
    @examples
    @given(program=TESTS, under=READINGS, data=some.data())
    def check(program: Program, under: str, data: some.DataObject) -> None:
        items = [item for thread in program.threads for item in thread.body]
        waits = [item for item in items if isinstance(item, WaitGroup) and item.read]
        assume(waits)
        wait = data.draw(some.sampled_from(waits))
        assert states(changed(program, wait, replace(wait, read=False)), under) <= states(program, under)

    check()


def stronger(item: Statement) -> Iterator[Statement]:
    """The same instruction with a stronger order, or with a wider scope."""
    if not isinstance(item, MbarrierArrive | MbarrierWait | Load | Store | Fence) or item.scope is None:
        return
    if isinstance(item, Fence) and item.window is not None:
        return
    if item.order in STRONGER[type(item)]:
        yield replace(item, order=STRONGER[type(item)][item.order])
    for wider in SCOPES[SCOPES.index(item.scope) + 1 :]:
        yield replace(item, scope=wider)


@TIERS
def test_a_stronger_order_or_wider_scope_adds_no_final_state_to_asynchronous_tests(examples: settings) -> None:
    @examples
    @given(program=TESTS, under=READINGS, data=some.data())
    def check(program: Program, under: str, data: some.DataObject) -> None:
        items = [(item, new) for thread in program.threads for item in thread.body for new in stronger(item)]
        assume(items)
        item, new = data.draw(some.sampled_from(items))
        assert states(changed(program, item, new), under) <= states(program, under)

    check()


@TIERS
def test_the_strict_reading_takes_away_no_final_state(examples: settings) -> None:
    @examples
    @given(program=asynchronous((ONE_CTA, CLUSTER, KERNELS, TRIGGERS), moves=5))
    def check(program: Program) -> None:
        assert states(program, "ptx-9.4") <= states(program, "ptx-9.4-strict")

    check()


@TIERS
def test_a_test_that_neither_hangs_nor_is_undefined_comes_to_an_end(examples: settings) -> None:
    @examples
    @given(program=asynchronous((ANEW, ANEW, LIVES, ONE_CTA, CLUSTER, TRIGGERS)), under=READINGS)
    def check(program: Program, under: str) -> None:
        result = decide(program, model(under), Options(frozenset({"outcome", "hang", "undefined"}), timeout=10.0))
        if (result.hang.verdict, result.undefined.verdict) == ("no", "no"):
            ends = solver_outcomes(program, model(under), OPTIONS)
            assert ends.states or not ends.complete

    check()


# --- the bytes of two barriers in one --------------------------------------------------------------------------------

LOADS = """ptx loads
.shared @ d0.c0.b0 .mbarrier m(1);
.shared @ d0.c0.b0 .mbarrier n(1);
.shared @ d0.c0.b0 .u32 s[4];
.shared @ d0.c0.b0 .u32 t[4];
.global .u32 g[4] = {{1, 0, 0, 0}};
.global .u32 h[4] = {{1, 0, 0, 0}};
thread P @ d0.c0.b0 {{
    {before}
    {arm}
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [t], [h], 16, [{other}];
}}
thread C @ d0.c0.b0 {{
    {wait}
    {after}
    ld.weak.shared::cta.u32 r0, [s];
    ld.weak.shared::cta.u32 r1, [t];
    ld.weak.global.u32 r2, [f];
}}
.global .u32 f;
exists (C.r0 == 0 && C.r1 == 0 && C.r2 == 0)
"""
ARM = "mbarrier.arrive.expect_tx{how}.shared::cta.b64 _, [{m}], {size};"
WAIT = "await mbarrier.try_wait.parity{how}.shared::cta.b64 [{m}], 0;"


def loads(before: str, arrive: str, wait: str, after: str, *, merged: bool) -> Program:
    """Two copies and a reader that waits for both, by one barrier or by one for each."""
    barriers = ((32, "m"),) if merged else ((16, "m"), (16, "n"))
    text = LOADS.format(
        before=before,
        arm=" ".join(ARM.format(how=arrive, m=m, size=size) for size, m in barriers),
        other=barriers[-1][1],
        wait=" ".join(WAIT.format(how=wait, m=m) for _, m in barriers),
        after=after,
    )
    return read(text, "loads.lit")[0]


@TIERS
def test_a_barrier_for_the_bytes_of_two_is_as_good_for_the_reader(examples: settings) -> None:
    @examples
    @given(
        under=READINGS,
        before=some.sampled_from(("", "st.weak.global.u32 [f], 1;", "st.weak.global.u32 [g], 2;",
                                  "st.weak.global.u32 [h], 2; fence.proxy.async;")),
        arrive=some.sampled_from(("", ".relaxed.cta", ".release.cluster")),
        wait=some.sampled_from(("", ".relaxed.cta", ".acquire.cluster")),
        after=some.sampled_from(("", "fence.acq_rel.cta;", "fence.proxy.async;", "st.weak.shared::cta.u32 [s], 3;")),
    )  # fmt: skip
    def check(under: str, before: str, arrive: str, wait: str, after: str) -> None:
        one, two = (loads(before, arrive, wait, after, merged=merged) for merged in (True, False))
        assert states(one, under) == states(two, under)

    check()
