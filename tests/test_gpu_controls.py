"""Positive controls are weaker than their tests: by structure, under the models, and in the library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from building import Options, cta, fence, ld, model, program, st, thread
from hypothesis import HealthCheck, assume, given, settings
from random_programs import ALL, programs

from ptxmm import check as solver
from ptxmm.cat import shipped_models
from ptxmm.enumeration import outcomes
from ptxmm.gpu.around import loops
from ptxmm.gpu.controls import controls
from ptxmm.gpu.phases import one_phase
from ptxmm.gpu.waits import waits
from ptxmm.gpu.weaker import shortfalls
from ptxmm.program import Barrier, Fence, Load, MbarrierInit, Nop, Order, Program, Scope, Statement, WaitGroup
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read
from ptxmm.syntax.print_lit import to_lit

LIBRARY = Path(__file__).parent.parent / "litmus"
QUICK = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
OPTIONS = Options(frozenset({"outcome"}), bound=2, timeout=5.0)


def lit(text: str) -> Program:
    (found,) = read(f"ptx test\n.global .u32 x; .global .u32 f;\n{text}", "test.lit")
    return found


def library(*parts: str, every: int = 1) -> list[Program]:
    """The tests of one file in so many."""
    files = sorted(LIBRARY.joinpath(*parts).rglob("*.lit"))
    return [test for file in files[::every] for test in read_programs(file)]


def named(tests: Iterable[Program], name: str) -> Program:
    return next(test for test in tests if test.full_name == name)


def kinds(test: Program) -> dict[str, tuple[str, ...]]:
    return {control.kind: control.changes for control in controls(test)}


def states(test: Program, under: str) -> set[tuple[int, ...]]:
    found = outcomes(test, model(under), OPTIONS)
    assume(found.complete)
    return {state.values for state in found.states}


# --- under the models ------------------------------------------------------------------------------------------------


def reaches_all(test: Program, under: str) -> None:
    before = states(test, under)
    for control in controls(test):
        assert before <= states(control.program, under), control.kind


SLOWER = ("ptx-7.5", "ptx-9.4-strict", "ptx-9.4-literal")


@pytest.mark.parametrize(
    "under", [pytest.param(name, marks=pytest.mark.slow if name in SLOWER else ()) for name in shipped_models()]
)
@QUICK
@given(test=programs(ALL - {"mixed"}))
def test_a_control_reaches_every_final_state_of_its_test(under: str, test: Program) -> None:
    reaches_all(test, under)


@pytest.mark.slow
@pytest.mark.parametrize("under", shipped_models())
@LONG
@given(test=programs(ALL - {"mixed"}))
def test_a_control_reaches_every_final_state_of_many_tests(under: str, test: Program) -> None:
    reaches_all(test, under)


@pytest.mark.parametrize("name", ["MP", "SB", "LB", "S", "R", "2+2W", "IRIW", "WRC", "ISA2"])
def test_what_synchronisation_forbids_in_a_classic_test_a_control_allows(name: str) -> None:
    asked = solver.Options()
    for test in read_programs(LIBRARY / "basic" / f"{name}.lit"):
        if solver.check(test, model("ptx-9.4"), asked).verdict == "forbidden" and controls(test):
            assert "allowed" in {solver.check(c.program, model("ptx-9.4"), asked).verdict for c in controls(test)}


@pytest.mark.slow
def test_every_control_of_the_library_is_a_test_that_reads_back() -> None:
    for test in library():
        (back,) = read(to_lit(test), test.path)
        for control in controls(test):
            (its,) = read(to_lit(control.program), test.path)
            assert not shortfalls(its, back)


def test_an_instruction_that_ptx_has_not_is_left_as_it_is() -> None:
    test = named(read_programs(LIBRARY / "mbarrier" / "no-complete.lit"), "no-complete[one-of-three]")
    changed = [change for control in controls(test) for change in control.changes]
    assert changed
    assert not any("noComplete" in change for change in changed)


# --- by structure ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 19])
def test_every_control_of_the_library_is_weaker_and_no_test_is_weaker_than_its_control(every: int) -> None:
    for test in library(every=every):
        for control in controls(test):
            assert not shortfalls(control.program, test)
            assert shortfalls(test, control.program), (test.full_name, control.kind)


MP = program(
    thread("A", cta(0), st("x", 1), fence("acq_rel.gpu"), st("f", 1, "relaxed.gpu")),
    thread("B", cta(1), ld("r0", "f", "acquire.gpu"), ld("r1", "x")),
)


def changed(place: int, *new: Statement) -> Program:
    writer, reader = MP.threads
    return replace(MP, threads=(replace(writer, body=(*writer.body[:place], *new, *writer.body[place + 1 :])), reader))


@pytest.mark.parametrize(
    ("place", "new"),
    [
        (1, [fence("sc.gpu")]),
        (1, [fence("acq_rel.sys")]),
        (1, [fence("acq_rel.gpu"), fence("acq_rel.cta")]),
        (2, [st("f", 1, "release.gpu")]),
        (2, [st("f", 1, "relaxed.sys")]),
        (2, [st("f", 2, "relaxed.gpu")]),
        (2, []),
        (0, [ld("r2", "x")]),
    ],
)
def test_what_is_stronger_or_another_instruction_is_found(place: int, new: list[Statement]) -> None:
    assert shortfalls(changed(place, *new), MP)


def test_a_fence_may_go_and_another_order_may_not_come() -> None:
    assert not shortfalls(changed(1), MP)
    assert not shortfalls(changed(1, fence("release.cta")), MP)
    assert shortfalls(replace(MP, objects=MP.objects[:1]), MP)


# --- what a run needs ------------------------------------------------------------------------------------------------


def test_a_wait_loses_its_close_and_its_poll_keeps_the_scope() -> None:
    test = lit("""thread A @ d0.c0.b0 { st.weak.u32 [x], 1; red.release.gpu.add.u32 [f], 1; }
                  thread B @ d0.c1.b1 { wait_until.gpu.u32 r0, [f], r0 == 1; ld.weak.u32 r1, [x]; }
                  exists (B.r1 == 0)""")
    assert kinds(test)["relaxed"] == (
        "A: red.release.gpu.add.u32 -> red.relaxed.gpu.add.u32",
        "B: ld.acquire.gpu.u32 -> dropped",
    )
    for control in controls(test):
        (poll,) = [s for s in control.program.threads[1].body if isinstance(s, Load) and s.dst == ("r0",)]
        assert (poll.order, poll.scope) == (Order.RELAXED, Scope.GPU)


def test_a_fence_stays_in_a_loop_that_polls_with_weak_loads() -> None:
    test = lit("""thread A @ d0.c0.b0 { st.relaxed.gpu.u32 [f], 1; }
                  thread B @ d0.c1.b1 { do { fence.acq_rel.gpu; ld.weak.u32 r0, [f]; } while (r0 == 0); }""")
    assert all(any(isinstance(s, Fence) for s in c.program.threads[1].body) for c in controls(test))


def test_barriers_go_where_nothing_counts_on_them_and_stay_where_a_loop_does() -> None:
    straight = lit("""thread A @ d0.c0.b0 { st.weak.u32 [x], 1; bar.sync 0; }
                      thread B @ d0.c0.b0 { bar.sync 0; ld.weak.u32 r0, [x]; }""")
    looping = lit("""thread A @ d0.c0.b0 { st.weak.u32 [x], 1; bar.sync 0; fence.sc.gpu; }
                     thread B @ d0.c0.b0 { bar.sync 0; do { ld.relaxed.gpu.u32 r0, [x]; } while (r0 == 0); }""")
    assert kinds(straight) == {
        "apart": ("A: barrier.cta.sync.aligned -> dropped", "B: barrier.cta.sync.aligned -> dropped"),
        "headlong": (
            "A: a pause before st.weak.u32",
            "A: barrier.cta.sync.aligned -> dropped",
            "B: barrier.cta.sync.aligned -> dropped",
        ),
    }
    assert {kind: changes for kind, changes in kinds(looping).items() if kind != "headlong"} == {
        "relaxed": ("A: fence.sc.gpu -> dropped",),
        "unwaited": ("B: ld.relaxed.gpu.u32 again and again -> once",),
    }


@pytest.mark.parametrize("variant", ["gpu", "default", "red", "red-atom", "cta"])
def test_increments_in_pieces_may_be_lost(variant: str) -> None:
    test = named(read_programs(LIBRARY / "atomics" / "increments.lit"), f"increments[{variant}]")
    (torn,) = [control.program for control in controls(test) if control.kind == "torn"]
    verdicts = [solver.check(one, model("ptx-9.4"), solver.Options()).verdict for one in (test, torn)]
    assert verdicts == ["forbidden", "allowed"]


def test_without_a_dependency_that_does_not_matter_a_store_may_come_first() -> None:
    for test in read_programs(LIBRARY / "dependencies" / "LB+deps.lit"):
        if test.variant in ("data", "address"):
            (free,) = [control.program for control in controls(test) if control.kind == "independent"]
            verdicts = [solver.check(one, model("ptx-9.4"), solver.Options()).verdict for one in (test, free)]
            assert verdicts == ["forbidden", "allowed"]
            assert shortfalls(test, free)


def test_a_dependency_that_matters_stays() -> None:
    test = lit("""thread A @ d0.c0.b0 { ld.weak.u32 r0, [x]; r1 = r0 & 1; st.relaxed.gpu.u32 [f], r1; }
                  thread B @ d0.c1.b1 { ld.weak.u32 r0, [f]; st.relaxed.gpu.u32 [x], r0; } exists (A.r0 == 1)""")
    assert "independent" not in kinds(test)


@pytest.mark.parametrize("variant", ["relaxed", "weak"])
def test_a_cas_in_pieces_stores_only_where_it_found_what_it_compares_with(variant: str) -> None:
    test = named(read_programs(LIBRARY / "atomics" / "cas-increment.lit"), f"cas-increment[{variant}]")
    (torn,) = [control.program for control in controls(test) if control.kind == "torn"]
    few, many = (outcomes(one, model("ptx-9.4"), OPTIONS).states for one in (test, torn))
    assert {state.values for state in few} < {state.values for state in many}


PIECES = """thread A @ d0.c0.b0 { atom.relaxed.gpu.add.u32 r0, [x], r0; }
            thread B @ d0.c1.b1 { red.relaxed.gpu.max.u32 [x], 3; } exists (x == 4)"""


def test_an_atomic_operation_in_pieces_is_weaker_and_other_pieces_are_not() -> None:
    test = lit(PIECES)
    (torn,) = [control.program for control in controls(test) if control.kind == "torn"]
    assert not shortfalls(torn, test)
    first, second = torn.threads
    for wrong in (first.body[:1] + first.body[2:], first.body[:3], (*first.body[:1], *first.body)):
        assert shortfalls(replace(torn, threads=(replace(first, body=wrong), second)), test)


def test_nothing_is_torn_that_a_loop_counts_on() -> None:
    test = lit("thread A @ d0.c0.b0 { do { atom.relaxed.gpu.add.u32 r0, [x], 1; } while (r0 < 3); } exists (x == 9)")
    assert "torn" not in kinds(test)


def without_waits(test: Program) -> Program | None:
    return next((control.program for control in controls(test) if control.kind == "unwaited"), None)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("async/bulk-load", "bulk-load[right]"),
        ("mbarrier/token", "token[copy-first]"),
        ("protocols/wait-message", "wait-message[payload]"),
        ("cluster/st-async", "st-async[right]"),
        ("mbarrier/raw-wait", "raw-wait[right]"),
        ("mbarrier/raw-wait", "raw-wait[hint]"),
    ],
)
def test_without_its_wait_a_thread_finds_what_the_test_forbids(file: str, name: str) -> None:
    test = named(read_programs(LIBRARY / f"{file}.lit"), name)
    control = without_waits(test)
    assert control is not None
    asked = solver.Options()
    verdicts = [solver.check(one, model("ptx-9.4"), asked).verdict for one in (test, control)]
    assert verdicts in (["forbidden", "allowed"], ["holds", "fails"])


def headlong(test: Program) -> Program:
    return next(control.program for control in controls(test) if control.kind == "headlong")


@pytest.mark.parametrize(
    ("file", "variant"),
    [
        ("mbarrier/arrive-pipeline", "right"),
        ("mbarrier/per-load", "elected-waits"),
        ("mbarrier/raw-wait", "back-off"),
        ("cluster/answer-chain", "direct"),
        ("cluster/producer-tail", "right"),
        ("async/cp-async-reuse", "right"),
    ],
)
def test_where_nobody_waits_a_thread_finds_what_the_test_forbids(file: str, variant: str) -> None:
    (test,) = [one for one in read_programs(LIBRARY / f"{file}.lit") if one.variant == variant]
    asked = solver.Options()
    verdicts = [solver.check(one, model("ptx-9.4"), asked).verdict for one in (test, headlong(test))]
    assert verdicts == ["forbidden", "allowed"]
    assert shortfalls(test, headlong(test))


def test_where_nobody_waits_every_final_state_of_the_test_is_reached() -> None:
    test = lit(WAITING % "")
    for under in shipped_models():
        few, many = (outcomes(one, model(under), OPTIONS) for one in (test, headlong(test)))
        assert few.complete
        assert many.complete
        assert {state.values for state in few.states} < {state.values for state in many.states}


def test_no_wait_is_left_where_nobody_waits() -> None:
    for test in read_programs(LIBRARY / "mbarrier" / "arrive-pipeline.lit"):
        assert all(waits(test, thread) for thread in test.threads)
        assert not any(waits(headlong(test), thread) for thread in headlong(test).threads)


def test_a_thread_pauses_before_what_others_wait_for_and_never_where_it_waits_itself() -> None:
    test = lit("""thread A @ d0.c0.b0 { bar.sync 0; ld.weak.u32 r0, [x]; bar.sync 0; st.weak.u32 [f], 1; bar.sync 1; }
                  thread B @ d0.c0.b0 { bar.sync 0; bar.sync 0; st.weak.u32 [x], 1; bar.sync 1; } exists (A.r0 == 1)""")
    shapes = [[type(s).__name__ for s in thread.body] for thread in headlong(test).threads]
    assert shapes == [["Barrier", "Nop", "Load", "Store"], ["Barrier", "Store"]]


def test_where_bytes_of_a_second_phase_may_come_too_early_a_thread_only_misses_its_last_wait() -> None:
    test = named(read_programs(LIBRARY / "mbarrier" / "tma-ring.lit"), "tma-ring[right]")
    (control,) = [one for one in controls(test) if one.kind in ("hasty", "headlong")]
    assert control.kind == "hasty"
    (producer, consumer), (its_producer, its_consumer) = control.program.threads, test.threads
    assert len(waits(control.program, producer)) == len(waits(test, its_producer)), "it starts copies"
    assert len(waits(control.program, consumer)) == len(waits(test, its_consumer)) - 1
    asked = solver.Options()
    verdicts = [solver.check(one, model("ptx-9.4"), asked).verdict for one in (test, control.program)]
    assert verdicts == ["forbidden", "allowed"]


def test_a_wait_that_another_loop_repeats_is_not_the_last_one() -> None:
    test = named(read_programs(LIBRARY / "mbarrier" / "tile-phases.lit"), "tile-phases[right]")
    assert "hasty" not in kinds(test)
    assert "headlong" not in kinds(test)


ARM, ARRIVE = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;", "mbarrier.arrive.shared::cta.b64 _, [m];"
NAMED = "mov.u32 %a, m; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%a], 16;"


@pytest.mark.parametrize(
    ("count", "code", "phase"),
    [
        (1, ARM, True),
        (1, ARM + ARRIVE, False),
        (2, ARM + ARRIVE, True),
        (3, ARM + ARRIVE.replace("[m]", "[m], 3"), False),
        (1, ARRIVE + ARRIVE, True),
        (1, f"do {{ {ARM} r = r + 1; }} while (r < 9);", False),
        (1, NAMED, True),
        (1, NAMED + ARRIVE, False),
    ],
)
def test_an_mbarrier_that_counts_bytes_is_used_for_one_phase_or_may_be_for_more(
    count: int, code: str, phase: bool
) -> None:
    (test,) = read(f"ptx t\n.shared @ d0.c0.b0 .mbarrier m({count});\nthread A @ d0.c0.b0 {{ {code} }}", "t.lit")
    assert one_phase(test) is phase


def test_barriers_around_the_making_of_an_mbarrier_stay_where_nobody_waits() -> None:
    (test,) = [t for t in read_programs(LIBRARY / "mbarrier" / "per-load.lit") if t.variant == "elected-waits"]
    for mine, its in zip(headlong(test).threads, test.threads, strict=True):
        assert [s for s in mine.body if isinstance(s, Barrier)] == [s for s in its.body if isinstance(s, Barrier)]


def test_pauses_make_a_test_neither_weaker_nor_stronger() -> None:
    paused = changed(1, Nop(text="nanosleep.u32 20"), fence("acq_rel.gpu"), Nop(text="nanosleep.u32 20"))
    assert not shortfalls(paused, MP)
    assert not shortfalls(MP, paused)


def test_a_loop_that_tries_a_compare_and_swap_may_try_it_in_pieces() -> None:
    test = named(read_programs(LIBRARY / "protocols" / "cas-add.lit"), "cas-add[right]")
    (pieces,) = [control.program for control in controls(test) if control.kind == "torn"]
    verdicts = [solver.check(one, model("ptx-9.4"), solver.Options()).verdict for one in (test, pieces)]
    assert verdicts == ["holds", "fails"]


WAITING = """thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
             thread B @ d0.c1.b1 { wait_until.gpu.u32 r0, [f], r0 == 1; ld.weak.u32 r1, [x]; %s } exists (B.r1 == 0)"""


def test_a_wait_that_looks_once_reaches_every_final_state_of_one_that_repeats() -> None:
    test = lit(WAITING % "")
    control = without_waits(test)
    assert control is not None
    for under in shipped_models():
        found = [outcomes(one, model(under), OPTIONS) for one in (test, control)]
        assert all(one.complete for one in found)
        few, many = ({state.values for state in one.states} for one in found)
        assert few < many


@pytest.mark.parametrize(
    ("behind", "other"),
    [
        ("st.relaxed.gpu.u32 [f], 2;", "thread C @ d0.c2.b2 { wait_until.gpu.u32 r0, [f], r0 == 2; }"),
        ("red.relaxed.gpu.add.u32 [f], 2;", "thread C @ d0.c2.b2 { wait_until.gpu.u32 r0, [f], r0 == 3; }"),
        (
            "bar.sync 0;",
            "thread C @ d0.c1.b1 { bar.sync 0; red.relaxed.gpu.add.u32 [f], 2; }"
            "thread D @ d0.c2.b2 { wait_until.gpu.u32 r0, [f], r0 == 3; }",
        ),
    ],
)
def test_a_wait_stays_behind_which_others_are_told_something(behind: str, other: str) -> None:
    found = without_waits(lit((WAITING % behind).replace("exists", f"{other} exists")))
    body = lit(WAITING % behind).threads[1].body
    if found is not None:
        assert [type(s) for s in found.threads[1].body] == [type(s) for s in body]


def test_a_part_of_a_wait_for_an_mbarrier_is_no_control() -> None:
    test = named(read_programs(LIBRARY / "async" / "bulk-load.lit"), "bulk-load[right]")
    (first, second), wait = test.threads, test.threads[1].body[:3]
    assert not shortfalls(replace(test, threads=(first, replace(second, body=second.body[3:]))), test)
    assert not shortfalls(replace(test, threads=(first, replace(second, body=(*wait[:2], *second.body[3:])))), test)
    for kept in (wait[1:], wait[::2], wait[:1], wait[1:2], wait[2:]):
        assert shortfalls(replace(test, threads=(first, replace(second, body=(*kept, *second.body[3:])))), test)


def test_a_test_of_one_cta_is_not_narrowed() -> None:
    test = lit("thread A @ d0.c0.b0 { st.relaxed.gpu.u32 [x], 1; } thread B @ d0.c0.b0 { ld.relaxed.gpu.u32 r0, [x]; }")
    assert set(kinds(test)) == {"weak"}


def test_a_thread_waits_for_its_copies_before_it_ends() -> None:
    test = named(read_programs(LIBRARY / "async" / "reuse-source.lit"), "reuse-source[read]")
    (control,) = (c for c in controls(test) if c.kind == "relaxed")
    moved = [change for change in control.changes if change.endswith("at the end")]
    assert moved == [
        "T0: cp.async.bulk.wait_group.read -> at the end",
        "T0: cp.async.bulk.wait_group -> at the end",
    ]
    assert all(isinstance(s, WaitGroup) for s in control.program.threads[0].body[-2:])


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_whatever_initialises_an_mbarrier_is_followed_by_its_fence_and_its_barriers(every: int) -> None:
    for test in library("mbarrier", every=every) + library("cluster", every=every):
        for control in controls(test):
            for mine, its in zip(control.program.threads, test.threads, strict=True):
                inits = [n for n, s in enumerate(its.body) if isinstance(s, MbarrierInit)]
                if inits:
                    kept = [s for s in mine.body if isinstance(s, Barrier)]
                    assert kept == [s for s in its.body if isinstance(s, Barrier)]
                for n in inits:
                    following = its.body[n + 1] if n + 1 < len(its.body) else None
                    if isinstance(following, Fence):
                        assert following in mine.body


def test_the_stretches_that_repeat_are_found() -> None:
    test = lit("thread A @ d0.c0.b0 { r0 = 0; do { r0 = r0 + 1; } while (r0 < 3); st.weak.u32 [x], r0; }")
    (loop,) = loops(test.threads[0])
    assert test.threads[0].body[loop.stop - 1].guard is not None
    assert not loops(
        lit("thread A @ d0.c0.b0 { ld.weak.u32 r0, [x]; if (r0 == 1) { st.weak.u32 [f], 1; } }").threads[0]
    )
