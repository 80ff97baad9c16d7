"""All final states of a test: found one by one, each blocked before the next, each checked without the solver."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ptxmm import evidence, execution
from ptxmm.conflicts import may_mix, race_pairs
from ptxmm.deadline import Deadline
from ptxmm.encode import Encoding, encode
from ptxmm.errors import Undecided, Unsupported
from ptxmm.events import Ending, asked_leaves
from ptxmm.formula import Lit
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Expr, FinalMem, FinalReg, Program
from ptxmm.question import Found, ask
from ptxmm.script import smt_lib
from ptxmm.solve import Truth, session
from ptxmm.verdict import Outcomes, State

MOST = 100_000

Leaf = FinalReg | FinalMem


def enumerate_states(program: Program, model: Model, options: Options) -> Outcomes:
    """All final states of a test under a model, as values of its columns.

    The columns are what the condition, the filter and `locations` name, or everything where there is none of them.
    `complete` is false where loops were cut, time ran out, or the axioms are void.
    """
    start = time.perf_counter()
    leaves = columns(program)
    names = tuple(column_name(program, leaf) for leaf in leaves)
    types = tuple(evidence.type_of(program, leaf) for leaf in leaves)
    condition = program.condition
    whole = str(condition.quantifier) if condition else ""
    found: tuple[State, ...] = ()
    complete, why = True, ""
    try:
        found, why = _states(program, model, options, leaves)
        complete = not why
    except (Unsupported, Undecided) as reason:
        complete, why = False, str(reason)
    quantifier = condition.quantifier.value if condition else None
    return Outcomes(
        program.path, program.name, program.variant, model.name, whole, quantifier, names, types, found, complete, why,
        time.perf_counter() - start,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reached:
    """Whether a final state can be reached: `allowed`, `forbidden` or `unknown`, with the reason of an unknown."""

    verdict: str
    why: str = ""


Question = tuple[tuple[Leaf, int], ...] | Expr
"""A final state, as the values in it, or a formula that holds in some."""


class Asking:
    """Questions about the final states of a test, in which all that is `shown` may be named.

    The test is encoded once, when the first of them is put: that raises Unsupported or Undecided, as `encode`.
    """

    def __init__(self, program: Program, model: Model, options: Options, shown: Iterable[Leaf]) -> None:
        self.program, self.model, self.options, self.shown = program, model, options, tuple(shown)

    @cached_property
    def _encoding(self) -> Encoding:
        return _encoded(self.program, self.model, self.options, self.shown)

    @cached_property
    def _doubt(self) -> str:
        return _doubt(self._encoding, self.options)

    def reached(self, questions: Sequence[Question]) -> list[Reached]:
        """Whether the model allows such final states; each "allowed" is an execution that was checked without Z3."""
        encoding, filtered = self._encoding, self.program.filter
        keep = [encoding.finals.truth(filtered)] if filtered is not None else []
        goals = {f"s{number}": self._goal(question) for number, question in enumerate(questions)}
        found = ask(encoding, goals, [-encoding.bad, *keep])
        for name, one in found.items():
            if one.assignment is not None and not execution.concrete(encoding, one.assignment).true(goals[name]):
                raise execution.Inconsistent("the execution that was found does not reach the final state")
        return [_reached(one, self._doubt if one.truth is Truth.UNSAT else "") for one in found.values()]

    def _goal(self, question: Question) -> Lit:
        finals = self._encoding.finals
        if not isinstance(question, tuple):
            return finals.truth(question)
        return self._encoding.formulas.conj([finals.leaf(leaf).get(value, -1) for leaf, value in question])


def _reached(one: Found, doubt: str) -> Reached:
    match one.truth:
        case Truth.SAT:
            return Reached("allowed")
        case Truth.UNKNOWN:
            return Reached("unknown", one.why)
    return Reached("unknown", doubt) if doubt else Reached("forbidden")


def columns(program: Program) -> list[Leaf]:
    """What a final state shows, each once, in the order of the test's text."""
    return list(dict.fromkeys(asked_leaves(program) or program.everything))


def column_name(program: Program, leaf: Leaf) -> str:
    """A column as the test would write it."""
    if isinstance(leaf, FinalReg):
        return f"{leaf.thread}.{leaf.reg}"
    return evidence.place_name(program, leaf.name, (leaf.offset, leaf.type.size))


def _encoded(program: Program, model: Model, options: Options, shown: Iterable[Leaf]) -> Encoding:
    """The formulas of a test of which all that is shown is looked at: of a long copy, only that is followed."""
    looked = replace(program, locations=tuple(dict.fromkeys((*program.locations, *shown))))
    return encode(looked, model, options.bound, deadline=Deadline.after(options.timeout))


def _states(program: Program, model: Model, options: Options, leaves: list[Leaf]) -> tuple[tuple[State, ...], str]:
    encoding = _encoded(program, model, options, leaves)
    why = _doubt(encoding, options)
    if -1 in encoding.asserted or any(literal == -1 for _, literal in encoding.axioms):
        return (), why
    tables = [encoding.finals.leaf(leaf) for leaf in leaves]
    here, formulas = session(), encoding.formulas
    prefix = here.prefix()
    keep = [encoding.finals.truth(program.filter)] if program.filter is not None else []
    equal = [(f"{prefix}c{i}_{value}", literal) for i, table in enumerate(tables) for value, literal in table.items()]
    exact = [-encoding.bad, *encoding.asserted, *keep, *(literal for _, literal in encoding.axioms)]
    text = smt_lib(formulas, exact, (), f"{prefix}v", equal)
    states: dict[tuple[int, ...], State] = {}
    with here.load(text, prefix, formulas.deadline) as loaded:
        while True:
            truth = loaded.check([], formulas.deadline)
            if truth is Truth.UNSAT:
                break
            if truth is Truth.UNKNOWN or len(states) >= MOST:
                return _sorted(states), "time-out" if truth is Truth.UNKNOWN else f"more than {MOST} states"
            state = _state(encoding, loaded.assignment(formulas.variables), leaves, options)
            states[state.values] = state
            parts = [
                f"{prefix}c{i}_{value}"
                for i, (table, value) in enumerate(zip(tables, state.values, strict=True))
                if len(table) > 1
            ]
            if not parts:
                break
            loaded.add(f"(assert (not (and {' '.join(parts)})))" if len(parts) > 1 else f"(assert (not {parts[0]}))")
    return _sorted(states), why


def _sorted(states: dict[tuple[int, ...], State]) -> tuple[State, ...]:
    return tuple(states[values] for values in sorted(states))


def _state(encoding: Encoding, assignment: dict[int, bool], leaves: list[Leaf], options: Options) -> State:
    one = execution.concrete(encoding, assignment)
    condition = encoding.program.condition
    holds = condition is not None and execution.satisfied(one, condition.formula)
    witness = evidence.shown(one, goal=condition.formula if condition else None) if options.witness else None
    return State(tuple(one.final(leaf) for leaf in leaves), holds, witness)


def _doubt(encoding: Encoding, options: Options) -> str:
    """Why the states may be not all, or nothing: loops cut, or a mixed-size race."""
    graph = encoding.graph
    mixes = may_mix(encoding)
    if graph.cut == -1 and not mixes:
        return ""
    prefix = encode(encoding.program, encoding.model, options.bound, Ending.PREFIX, encoding.formulas.deadline)
    pairs = race_pairs(prefix) or []
    mixed = prefix.formulas.disj([pair.literal for pair in pairs if pair.mixed])
    answers = ask(prefix, {"cut": prefix.graph.cut, "mixed": mixed}, prefix.defined())
    whys = {
        "cut": prefix.graph.tell_cut(options.bound),
        "mixed": "accesses of different sizes race, and then the axioms say nothing (PTX ISA 8.7.2)",
    }
    return next((why for name, why in whys.items() if answers[name].truth is not Truth.UNSAT), "")
