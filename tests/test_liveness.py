"""Executions that never end, in the tests of forward progress that Dartagnan publishes.

Its tables state for some of them whether they end under fair scheduling. Of all of them we ask it under all six
progress models, and hold the answers against each other and against an interpreter that tries every interleaving.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from building import atom, bra, cta, equal, label, ld, program, st, thread
from building import model as shipped

from ptxmm.arith import atomic, binary
from ptxmm.cat import read_model
from ptxmm.closure import bits, closed_masks
from ptxmm.deadline import Deadline
from ptxmm.encodings import Encodings
from ptxmm.errors import Undecided
from ptxmm.hangs import hang
from ptxmm.program import Addr, Atomic, Binary, Branch, Const, Expr, Label, Load, Program, Reg, Statement, Store
from ptxmm.progress import PROGRESS
from ptxmm.syntax import dartagnan

DAT3M = Path(__file__).resolve().parents[1].parent / "shared" / "peers" / "dat3m"
CADP = sorted((DAT3M / "litmus" / "CADP").rglob("*.litmus"))
STRONGER = [("fair", "lobe"), ("lobe", "hsa-obe"), ("hsa-obe", "hsa"), ("hsa-obe", "obe"), ("hsa", "unfair"),
            ("obe", "unfair")]  # fmt: skip

pytestmark = pytest.mark.skipif(not CADP, reason=f"the tests of forward progress are not at {DAT3M}")


def program_in(path: Path) -> Program:
    (program,) = dartagnan.read(path.read_text(), path.stem)
    return program


@pytest.mark.parametrize(
    ("table", "model"),
    [
        ("PTXv6_0-Liveness-expected.csv", "dat3m/ptx-v6.0.cat"),
        ("PTXv6_0-Liveness-expected.csv", "ptx-6.0"),
        ("PTXv7_5-Liveness-expected.csv", "dat3m/ptx-v7.5.cat"),
        ("PTXv7_5-Liveness-expected.csv", "ptx-7.5"),
        ("PTXv7_5-Liveness-expected.csv", "ptx-9.4"),
    ],
)
def test_every_row_ends_under_fair_scheduling_as_dartagnan_says(table: str, model: str) -> None:
    axioms = read_model(str(DAT3M.parent / model)) if model.endswith(".cat") else shipped(model)
    rows = [line.rsplit(",", 1) for line in (DAT3M / table).read_text().split()]
    assert len(rows) == 53
    stated = {name: {"1": "no", "0": "yes"}[figure] for name, figure in rows}
    found = {
        name: hang(Encodings(program_in(DAT3M / name), axioms, Deadline.never()), "fair", 4).verdict for name in stated
    }
    assert found == stated


# --- an interpreter ---------------------------------------------------------------------------------------------------

Named = tuple[tuple[str, int], ...]
State = tuple[tuple[int, ...], tuple[Named, ...], Named, frozenset[int]]


def value(expr: Expr, registers: dict[str, int]) -> int:
    match expr:
        case Const(number):
            return number
        case Reg(name):
            return registers.get(name, 0)
        case Binary(op, left, right, kind):
            assert kind is not None
            return binary(op, value(left, registers), value(right, registers), kind)
    raise NotImplementedError(expr)


def target_of(body: tuple[Statement, ...], name: str) -> int:
    return next(at for at, one in enumerate(body) if isinstance(one, Label) and one.name == name)


def step(program: Program, state: State, thread: int) -> State:
    """The state after one instruction of a thread."""
    counters, files, words, started = state
    body = program.threads[thread].body
    registers, memory, following = dict(files[thread]), dict(words), counters[thread] + 1
    match body[counters[thread]]:
        case Load(dst=(str(dst),), address=Addr(name)):
            registers[dst] = memory.get(name, 0)
        case Store(values=(written,), address=Addr(name)):
            memory[name] = value(written, registers)
        case Atomic(op=op, dst=(dst,), address=Addr(name), operands=given, type=kind):
            old, operands = memory.get(name, 0), [value(expr, registers) for expr in given]
            new = atomic(op, old, (operands[0], operands[-1]), kind)
            memory[name] = old if new is None else new
            if dst is not None:
                registers[dst] = old
        case Branch(target=target, guard=guard):
            if guard is None or value(guard, registers):
                following = target_of(body, target)
        case Label():
            pass
        case other:
            raise NotImplementedError(other)

    def replaced(old: tuple[Any, ...], new: Any) -> tuple[Any, ...]:
        return (*old[:thread], new, *old[thread + 1 :])

    file, memories = tuple(sorted(registers.items())), tuple(sorted(memory.items()))
    return replaced(counters, following), replaced(files, file), memories, started | {thread}


def alive(program: Program, state: State) -> list[int]:
    return [n for n, thread in enumerate(program.threads) if state[0][n] < len(thread.body)]


def promised(model: str, able: list[int], started: frozenset[int]) -> set[int]:
    """The threads of one CTA that make progress, when nothing starts and nothing ends any more."""
    going, first = set(able) & started, set(able[:1])
    before = {n for n in able if n <= max(started, default=-1)}
    sets = {"fair": set(able), "hsa": first, "obe": going, "hsa-obe": first | going, "lobe": before, "unfair": set()}
    return sets[model]


def endless(program: Program) -> set[str]:
    """The progress models under which some interleaving goes on for ever: it goes round in some strong component."""
    states: list[State] = [((0,) * len(program.threads), ((),) * len(program.threads), (), frozenset())]
    numbers, steps = {states[0]: 0}, list[tuple[int, int, int]]()
    for here, state in enumerate(states):
        for moved in alive(program, state):
            after = step(program, state, moved)
            if after not in numbers:
                numbers[after] = len(states)
                states.append(after)
            steps.append((here, numbers[after], moved))
    rows = [0] * len(states)
    for here, there, _ in steps:
        rows[here] |= 1 << there
    reached = closed_masks(rows)
    moving: dict[int, set[int]] = {}
    for here, there, moved in steps:
        if reached[there] >> here & 1:
            component = min(n for n in bits(reached[here]) if reached[n] >> here & 1)
            moving.setdefault(component, set()).add(moved)
    return {
        model
        for component, moved_there in moving.items()
        for model in PROGRESS
        if promised(model, alive(program, states[component]), states[component][3]) <= moved_there
    }


def test_the_interpreter_tells_a_handover_from_a_lost_one() -> None:
    waits = (label("l"), ld("r", "x", "relaxed.gpu"), bra("l", Binary("==", Reg("r"), Const(0))))
    sets = (st("x", 1, "relaxed.gpu"),)
    assert endless(program(thread("A", cta(0), *sets), thread("B", cta(0), *waits))) == {"obe", "unfair"}
    assert endless(program(thread("A", cta(0), *waits), thread("B", cta(0), *sets))) == set(PROGRESS) - {"fair"}


@pytest.mark.parametrize("progress", PROGRESS)
def test_a_loop_with_effects_that_may_go_on_for_ever_is_not_said_to_end(progress: str) -> None:
    """Each exchange writes, so that no repetition stands for the others, and beyond the bound nothing is known."""
    test = program(
        thread("A", cta(0), label("a"), atom("exch", "r", "x", 0), bra("a", equal("r", 0))),
        thread("B", cta(0), label("b"), atom("exch", "r", "x", 1), bra("b", equal("r", 0))),
    )
    found = hang(Encodings(test, shipped("ptx-9.4"), Deadline.never()), progress, 4).verdict
    assert (progress in endless(test), found) in [(True, "yes"), (True, "unknown"), (False, "no"), (False, "unknown")]


@pytest.mark.parametrize("progress", PROGRESS)
def test_a_sample_of_the_tests_ends_where_every_interleaving_does(progress: str) -> None:
    """One in twelve; those that exchange values on one word for ever are decided too."""
    for path in CADP[5::12]:
        test = program_in(path)
        stated = "yes" if progress in endless(test) else "no"
        assert answer(path, "ptx-9.4", progress) == stated or len(test.objects) > 1


@lru_cache
def answers(model: str) -> dict[tuple[str, str], str]:
    """What we say of each test under each progress model."""
    return {(str(path), progress): answer(path, model, progress) for path in CADP for progress in PROGRESS}


def answer(path: Path, model: str, progress: str) -> str:
    try:
        return hang(Encodings(program_in(path), shipped(model), Deadline.after(60)), progress, 4).verdict
    except Undecided:
        return "unknown"


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ptx-9.4"])
def test_at_most_one_in_twenty_is_unknown(model: str) -> None:
    found = answers(model)
    assert len(CADP) == 453
    assert 20 * Counter(found.values())["unknown"] <= len(found)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ptx-9.4"])
def test_what_hangs_under_a_progress_model_hangs_under_every_weaker_one(model: str) -> None:
    found = answers(model)
    for path in map(str, CADP):
        for strong, weak in STRONGER:
            assert (found[path, strong], found[path, weak]) != ("yes", "no"), (path, strong, weak)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ptx-9.4"])
def test_an_interleaving_that_goes_on_for_ever_is_found(model: str) -> None:
    """The model allows all interleavings; on one word, morally strong, it allows no more."""
    found = answers(model)
    for path in CADP:
        test = program_in(path)
        hanging = endless(test)
        for progress in PROGRESS:
            ours, theirs = found[str(path), progress], "yes" if progress in hanging else "no"
            assert ours in (theirs, "unknown") or (theirs == "no" and len(test.objects) > 1), (path, progress)
