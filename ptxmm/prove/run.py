"""Prove theorems, then drop their hypotheses in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ptxmm.check import check
from ptxmm.errors import InputError, near
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.prove.arithmetic import SIGN_FLIP, Arithmetic
from ptxmm.prove.barriers import GRID
from ptxmm.prove.chains import EARLIER
from ptxmm.prove.closes import CLOSES
from ptxmm.prove.composition import GRID_BY_FLIP, Composition
from ptxmm.prove.counterexamples import Example, counterexample, instance
from ptxmm.prove.flips import FLIP_SEEN, FlipSeen
from ptxmm.prove.messages import VISIBLE
from ptxmm.prove.predecessor import PREDECESSOR
from ptxmm.prove.predicates import TRIED, AnyPredicate
from ptxmm.prove.proving import Proof, Step
from ptxmm.prove.results import Dropped, Result
from ptxmm.prove.statement import Theorem
from ptxmm.solve import Truth
from ptxmm.syntax.lit import read
from ptxmm.terms import NOWHERE

Statement = Theorem | Arithmetic | AnyPredicate | FlipSeen | Composition

STATEMENTS: tuple[Statement, ...] = (
    VISIBLE,
    EARLIER,
    *CLOSES,
    AnyPredicate((VISIBLE, EARLIER, *CLOSES, GRID)),
    PREDECESSOR,
    SIGN_FLIP,
    FLIP_SEEN,
    GRID,
    GRID_BY_FLIP,
)

# Steps of Z3 for a question without a hypothesis, about a second: several times what any question with it takes.
EFFORT = 3_000_000


def named(names: Sequence[str]) -> tuple[Statement, ...]:
    """The statements of these names; all of them without names."""
    known = {statement.name: statement for statement in STATEMENTS}
    for name in names:
        if name not in known:
            hint = near(name, known) or f"there are {', '.join(known)}"
            raise InputError(f"no theorem is called `{name}`", NOWHERE, hint)
    return tuple(known[name] for name in names) if names else STATEMENTS


def stated_of(statement: Statement, model: Model) -> bool:
    """Whether a statement says anything of a model."""
    return not isinstance(statement, Theorem) or statement.stated_of(model)


def prove(statement: Statement, model: Model, timeout: float = 60.0) -> Result:
    """Prove a statement under a model; `timeout` is in seconds for each question to the solver."""
    start = time.perf_counter()
    match statement:
        case Theorem():
            result = _theorem(statement, model, timeout)
        case Arithmetic():
            result = _by_tests(statement, model, lambda dropped: statement.steps(timeout, dropped))
        case FlipSeen():
            result = _by_tests(
                statement, model, lambda dropped: statement.steps(model, timeout, EFFORT if dropped else 0, dropped)
            )
        case Composition():
            result = _composition(statement, model, timeout)
        case AnyPredicate():
            result = _any_predicate(statement, model)
    return replace(result, seconds=time.perf_counter() - start)


def _proved(statement: Statement, model: Model, steps: Iterable[Step]) -> Result:
    done = tuple(steps)
    last = next((step for step in done if step.truth is not Truth.UNSAT), done[-1])
    where = f"{last.name}: {last.why}" if last.why else last.name
    verdict = {Truth.UNSAT: "proved", Truth.SAT: "not proved", Truth.UNKNOWN: "unknown"}[last.truth]
    return Result(statement.name, statement.words, model.name, verdict, done, why="" if verdict == "proved" else where)


def _theorem(theorem: Theorem, model: Model, timeout: float) -> Result:
    result = _proved(theorem, model, Proof(theorem, model, timeout=timeout).steps())
    if result.verdict != "proved":
        return result
    dropped = []
    for hypothesis in theorem.assumed(model):
        steps = tuple(Proof(theorem, model, hypothesis, timeout=timeout, work=EFFORT).steps())
        example = counterexample(theorem, model, hypothesis)
        dropped.append(_dropped(hypothesis.name, hypothesis.words, steps, example))
    return replace(result, dropped=tuple(dropped), wrong=tuple(_empty_or_false(theorem, model)))


def _dropped(name: str, words: str, steps: Sequence[Step], example: Example) -> Dropped:
    """What dropping a hypothesis came to.

    The execution of a counterexample makes every sentence true that a proof could use and misses the goal, so that no
    proof exists, whether or not Z3 says so in the steps it is given.
    """
    if all(step.truth is Truth.UNSAT for step in steps):
        return Dropped(name, words, "proved", None, "the proof does not need it")
    if example.verdict != "allowed":
        return Dropped(name, words, "not proved", example, f"its counterexample is {example.verdict}")
    if example.events is None:
        return Dropped(name, words, "not proved", example, "its counterexample breaks another hypothesis, or none")
    return Dropped(name, words, "not proved", example)


def _empty_or_false(theorem: Theorem, model: Model) -> Iterable[str]:
    """What the ordinary engine says against the theorem: a test that misses it, or that no test reaches it."""
    for form in (None, *theorem.forms):
        missed, happens = instance(theorem, model, form)
        shown = form or "as stated"
        if missed.verdict != "forbidden":
            yield f"a test of it ({shown}) is {missed.verdict}"
        if happens.events is None:
            yield f"no execution of its test ({shown}) has all hypotheses"


def _by_tests(statement: Arithmetic | FlipSeen, model: Model, steps: Callable[[Any], Iterable[Step]]) -> Result:
    """A statement with values in it: its tests are decided, but no integers are read from their executions."""
    result = _proved(statement, model, steps(None))
    if result.verdict != "proved":
        return result
    dropped = []
    for one in statement.hypotheses if isinstance(statement, Arithmetic) else statement.assumed(model):
        text = statement.test(f"{statement.name}-without-{one.name}", one.broken)
        example = Example(text, _verdict(text, model), {})
        dropped.append(_dropped(one.name, one.words, tuple(steps(one)), example))
    wrong = []
    if (verdict := _verdict(statement.test(f"{statement.name}-holds", {}), model)) != "forbidden":
        wrong.append(f"a test of it is {verdict}")
    if (verdict := _verdict(statement.test(f"{statement.name}-holds", {}, misses=False), model)) != "allowed":
        wrong.append(f"its test is {verdict} to pass at all")
    return replace(result, dropped=tuple(dropped), wrong=tuple(wrong))


def _composition(statement: Composition, model: Model, timeout: float) -> Result:
    """Both theorems, without the hypotheses of the second that the first proves."""
    first, second = prove(statement.first, model, timeout), prove(statement.second, model, timeout)
    result = _proved(statement, model, (*first.steps, statement.joint(), *second.steps))
    proved_by_first = statement.joint().used
    needed = [one for one in second.dropped if one.hypothesis not in proved_by_first]
    return replace(result, dropped=(*first.dropped, *needed), wrong=(*first.wrong, *second.wrong))


def _any_predicate(statement: AnyPredicate, model: Model) -> Result:
    result = _proved(statement, model, statement.steps(model))
    tried = {name: _verdict(statement.test(name), model) for name in TRIED}
    wrong = tuple(
        f"its test with the predicate {n} is {verdict}" for n, verdict in tried.items() if verdict != "forbidden"
    )
    return replace(result, wrong=wrong)


def _verdict(text: str, model: Model) -> str:
    (program,) = read(text, "theorem.lit")
    return check(program, model, Options()).verdict
