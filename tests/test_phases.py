"""When a phase of an mbarrier ends: sequences of operations against PTX ISA 9.7.15.16, written down once more.

Of each operation a test of the parity behind it tells whether it ended a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from unittest.mock import patch

import pytest
from building import model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from random_asynchronous import ARRIVALS, LOAD, WAITS, Scene, asynchronous
from random_observations import Counts, Threads, reachable, threads_that_tell
from random_observations import written as as_program

from ptxmm import check, encode, enumeration, states
from ptxmm.batch import Piece, decide
from ptxmm.cat import read_model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.request import Request
from ptxmm.resources import models_dir
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read
from ptxmm.verdict import Outcomes, Result

LIBRARY = Path(__file__).parent.parent / "litmus" / "mbarrier"
OPERATIONS = {
    "expect": "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 16;",
    "complete": "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 16;",
    "arrive": "mbarrier.arrive.shared::cta.b64 _, [m];",
    "arrive with bytes": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;",
}
ENDS = {"ptx-9.4": True, "ptx-9.4-strict": False, "ptx-9.4-literal": False}
Thread = tuple[str, ...]
Check = Callable[..., Result]
All = Callable[..., Outcomes]
ENGINES = [
    pytest.param(check.check, states.enumerate_states, id="z3"),
    pytest.param(enumeration.check, enumeration.outcomes, id="enumeration"),
]
READINGS = pytest.mark.parametrize("reading", ENDS)


def parities(operations: Thread, count: int, *, expect_ends: bool) -> Iterator[int]:
    """The parity of the phase after each operation, up to one that is undefined."""
    phase, pending, to_come = 0, count, 0
    for operation in operations:
        to_come += {"expect": 16, "arrive with bytes": 16, "complete": -16}.get(operation, 0)
        if operation.startswith("arrive"):
            if not pending:
                return
            pending -= 1
        if pending == to_come == 0 and (expect_ends or operation != "expect"):
            phase, pending = phase + 1, count
        yield phase % 2


def merged(one: Thread, other: Thread) -> Iterator[tuple[tuple[int, str], ...]]:
    """The steps of two threads in every order."""
    if not one or not other:
        yield (*((0, step) for step in one), *((1, step) for step in other))
        return
    yield from (((0, one[0]), *rest) for rest in merged(one[1:], other))
    yield from (((1, other[0]), *rest) for rest in merged(one, other[1:]))


def expected(threads: tuple[Thread, Thread], count: int, *, expect_ends: bool) -> tuple[set[tuple[int, ...]], bool]:
    """The parities that the threads can find, and whether some order is undefined."""
    found, undefined = set(), False
    one, other = (tuple(step for operation in thread for step in (operation, "test")) for thread in threads)
    for order in merged(one, other):
        done = tuple(step for _, step in order if step != "test")
        after = (0, *parities(done, count, expect_ends=expect_ends))
        if len(after) <= len(done):
            undefined = True
            continue
        seen: tuple[list[int], list[int]] = ([], [])
        changes = 0
        for thread, step in order:
            changes += step != "test"
            if step == "test":
                seen[thread].append(after[changes])
        found.add((*seen[0], *seen[1]))
    return found, undefined


def written(threads: tuple[Thread, Thread], count: int) -> Program:
    """The test in which a thread looks at the parity after each of its operations."""
    text = f"ptx sequence\n.shared @ d0.c0.b0 .mbarrier m({count});\n"
    for name, thread in zip("AB", threads, strict=True):
        body = "".join(
            f"{OPERATIONS[step]} mbarrier.test_wait.parity.shared::cta.b64 r{at}, [m], 0;\n"
            for at, step in enumerate(thread)
        )
        text += f"thread {name} @ d0.c0.b0 {{\n{body}}}\n" if thread else ""
    names = [f"{name}.r{at}" for name, thread in zip("AB", threads, strict=True) for at in range(len(thread))]
    return read(f"{text}locations [{', '.join(names)}]\n", "sequence.lit")[0]


def agrees(ask: Check, list_all: All, threads: tuple[Thread, Thread], count: int, reading: str) -> None:
    program, here = written(threads, count), model(reading)
    seen, undefined = expected(threads, count, expect_ends=ENDS[reading])
    found = list_all(program, here, Options())
    steps = ask(program, here, Options(frozenset({"undefined"}))).undefined
    assert {state.values for state in found.states} == seen, (threads, count)
    assert steps.verdict == ("yes" if undefined else "no"), (threads, count)


def sequences(most: int) -> Iterator[Thread]:
    return (found for length in range(1, most + 1) for found in product(OPERATIONS, repeat=length))


@pytest.mark.parametrize(("ask", "list_all"), ENGINES)
@pytest.mark.parametrize("reading", ["ptx-9.4", "ptx-9.4-strict"])
def test_phases_that_begin_with_bytes_too_early_are_those_of_the_text(ask: Check, list_all: All, reading: str) -> None:
    for rest in product(OPERATIONS, repeat=2):
        agrees(ask, list_all, (("complete", *rest), ()), 1, reading)


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "list_all"), ENGINES)
@READINGS
def test_the_phases_of_one_thread_are_those_of_the_text(ask: Check, list_all: All, reading: str) -> None:
    for thread in sequences(5):
        agrees(ask, list_all, (thread, ()), 1, reading)


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "list_all"), ENGINES)
@READINGS
def test_the_phases_of_two_threads_are_those_of_the_text(ask: Check, list_all: All, reading: str) -> None:
    for both in sequences(4):
        for cut in range(1, len(both) // 2 + 1):
            agrees(ask, list_all, (both[:cut], both[cut:]), 1, reading)


SOME = some.lists(some.sampled_from(list(OPERATIONS)), min_size=1, max_size=4).map(tuple)
QUIET = settings(suppress_health_check=list(HealthCheck), deadline=None)


@pytest.mark.parametrize(("ask", "list_all"), ENGINES)
@settings(QUIET, max_examples=8, derandomize=True)
@given(SOME, SOME.filter(lambda thread: len(thread) < 3), some.integers(1, 3), some.sampled_from(list(ENDS)))
def test_the_phases_of_some_two_threads_are_those_of_the_text(
    ask: Check, list_all: All, one: Thread, other: Thread, count: int, reading: str
) -> None:
    agrees(ask, list_all, (one, other), count, reading)


# --- threads that act on what others found ----------------------------------------------------------------------------


def tells(list_all: All, told: tuple[Threads, Counts]) -> None:
    found = list_all(as_program(*told), model("ptx-9.4"), Options(timeout=20.0))
    seen = {state.values for state in found.states}
    assert seen == reachable(*told) if found.complete else seen <= reachable(*told), told


@pytest.mark.parametrize("list_all", [states.enumerate_states, enumeration.outcomes], ids=["z3", "enumeration"])
@settings(QUIET, max_examples=10, derandomize=True)
@given(threads_that_tell())
def test_threads_find_of_phases_what_an_interleaving_brings_about_and_nothing_else(
    list_all: All, told: tuple[Threads, Counts]
) -> None:
    tells(list_all, told)


@pytest.mark.slow
@pytest.mark.parametrize("list_all", [states.enumerate_states, enumeration.outcomes], ids=["z3", "enumeration"])
@settings(QUIET, max_examples=500)
@given(threads_that_tell(6))
def test_threads_of_larger_tests_find_what_an_interleaving_brings_about(
    list_all: All, told: tuple[Threads, Counts]
) -> None:
    tells(list_all, told)


# --- with data, copies and two mbarriers -----------------------------------------------------------------------------

EXPECT, COMPLETE = OPERATIONS["expect"], OPERATIONS["complete"]
EARLY = f"{COMPLETE} mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m];"
BESIDE = tuple(move.replace("[m]", "[n]") for move in (EXPECT, EARLY, ARRIVALS[0], WAITS[0]))
SCENE = Scene(
    """.shared @ d0.c0.b0 .mbarrier m({count});
    .shared @ d0.c0.b0 .mbarrier n(1);
    .shared @ d0.c0.b0 .u32 s[4];
    .shared @ d0.c0.b0 .u32 x;
    .global .u32 g[4] = {{1, 0, 0, 0}};""",
    ("d0.c0.b0", "d0.c0.b0", "d0.c0.b0"),
    (
        EXPECT, EXPECT, EXPECT, COMPLETE, EARLY, EARLY, *ARRIVALS, *WAITS[:3], *BESIDE, LOAD,
        "mbarrier.arrive.shared::cta.b64 t, [m]; await mbarrier.try_wait.shared::cta.b64 [m], t;",
        "mbarrier.test_wait.parity.shared::cta.b64 r, [m], 0;", "mbarrier.test_wait.parity.shared::cta.b64 r, [m], 1;",
        "st.weak.shared::cta.u32 [x], 1;", "ld.weak.shared::cta.u32 r, [x];", "ld.weak.shared::cta.u32 r, [s];",
        "fence.acq_rel.cta;",
    ),
    ("x",),
)  # fmt: skip
EVERYTHING = Options(frozenset({"outcome", "race", "hang", "undefined"}), bound=2, timeout=20.0)


def verdicts(found: Result) -> tuple[str, ...]:
    return found.verdict, found.race.verdict, found.hang.verdict, found.undefined.verdict


def both_agree(program: Program, reading: str) -> None:
    mine, other = (verdicts(engine.check(program, model(reading), EVERYTHING)) for engine in (check, enumeration))
    assert all(one == two or "unknown" in (one, two) for one, two in zip(mine, other, strict=True)), (mine, other)


@settings(QUIET, max_examples=20, derandomize=True)
@given(asynchronous((SCENE,), 4), some.sampled_from(list(ENDS)))
def test_both_engines_agree_where_bytes_come_before_they_are_expected(program: Program, reading: str) -> None:
    both_agree(program, reading)


@pytest.mark.slow
@settings(QUIET, max_examples=1500)
@given(asynchronous((SCENE,), 6), some.sampled_from(list(ENDS)))
def test_both_engines_agree_on_many_tests_with_early_bytes(program: Program, reading: str) -> None:
    both_agree(program, reading)


@pytest.mark.slow
@settings(QUIET, max_examples=1000)
@given(asynchronous((SCENE,), 7), some.sampled_from(["ptx-9.4", "ptx-9.4-strict"]))
def test_one_order_of_operations_has_the_verdicts_of_all_where_an_expect_tx_may_be_the_last(
    program: Program, reading: str
) -> None:
    mine = verdicts(check.check(program, model(reading), EVERYTHING))
    with patch.object(encode, "after_operations", return_value=None):
        assert mine == verdicts(check.check(program, model(reading), EVERYTHING))


# --- what a user is told ---------------------------------------------------------------------------------------------


def test_who_relies_on_an_expect_tx_that_ends_a_phase_is_told_so() -> None:
    found = decide(Piece(LIBRARY / "late-expect.lit"), Request(Options(), pattern="[complete-arrive-expect]"))
    (mine,) = [result for result in found if isinstance(result, Result) and result.model == "ptx-9.4"]
    assert mine.hang.verdict == "no"
    assert mine.notes == ("depends on the reading: hang under ptx-9.4-strict, ptx-9.4-literal",)


@pytest.mark.parametrize("engine", [check.check, enumeration.check], ids=["z3", "enumeration"])
@pytest.mark.parametrize(("said", "hang"), [("", "no"), ("(* ptxmm: expect-tx-ends-no-phase *)", "yes")])
def test_a_model_says_itself_whether_an_expect_tx_ends_a_phase(
    engine: Check, said: str, hang: str, tmp_path: Path
) -> None:
    own = tmp_path / "own.cat"
    own.write_text(f"{(models_dir() / 'ptx-9.4.cat').read_text()}\n{said}\n")
    (program,) = (test for test in read_programs(LIBRARY / "late-expect.lit") if test.variant == "in-two-parts")
    assert engine(program, read_model(str(own)), EVERYTHING).hang.verdict == hang
