"""What a model says of the final states that were seen, in a test and in its controls."""

from __future__ import annotations

from dataclasses import replace

from ptxmm import evidence
from ptxmm.arith import PRED
from ptxmm.check import check
from ptxmm.compare.logged import seen_states
from ptxmm.compare.standing import Contradiction, Seen
from ptxmm.gpu.log import Run
from ptxmm.gpu.weaker import shortfalls
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Binary, Condition, Const, Expr, Program, Quantifier, Unary
from ptxmm.states import Leaf, Reached, reached
from ptxmm.syntax import lit
from ptxmm.syntax.print_lit import condition, to_lit


def goal(program: Program) -> Expr | None:
    """What a test's condition asks for: its formula, or what `forall` excludes."""
    if program.condition is None:
        return None
    formula = program.condition.formula
    return Unary("!", formula) if program.condition.quantifier is Quantifier.FORALL else formula


def asked_of(program: Program, model: Model, options: Options, leaves: tuple[Leaf, ...],
           states: tuple[Seen, ...]) -> tuple[tuple[Seen, ...], Reached | None]:  # fmt: skip
    """The states with the model's verdicts, and its verdict on what the condition asks for."""
    wanted = [dict(zip(leaves, state.values, strict=True)) for state in states]
    asks = goal(program)
    *found, last = [*reached(program, model, options, wanted, () if asks is None else (asks,)), None]
    asked = found.pop() if asks is not None else last
    told = [replace(state, verdict=one.verdict, why=one.why) for state, one in zip(states, found, strict=True)]
    if any(state.verdict == "forbidden" for state in told):
        told = _unpromised(program, model, options, told)
    return tuple(_explained(program, model, options, leaves, state) for state in told), asked


def _unpromised(program: Program, model: Model, options: Options, states: list[Seen]) -> list[Seen]:
    """States that the model forbids, of a test that reaches an undefined step: PTX promises nothing of them."""
    steps = check(program, model, replace(options, properties=frozenset({"undefined"}))).undefined
    if steps.verdict != "yes":
        return states
    return [replace(s, verdict="undefined", why=steps.why) if s.verdict == "forbidden" else s for s in states]


def _explained(program: Program, model: Model, options: Options, leaves: tuple[Leaf, ...], state: Seen) -> Seen:
    """A state that the model does not allow, with the question that asks for it, and the axioms that forbid it."""
    if state.verdict == "allowed":
        return state
    formula: Expr | None = None
    for leaf, value in zip(leaves, state.values, strict=True):
        one = Binary("==", leaf, Const(value), evidence.type_of(program, leaf))
        formula = one if formula is None else Binary("&&", formula, one, PRED)
    asking = replace(program, condition=Condition(Quantifier.EXISTS, formula or Const(1)), expects=())
    by = check(asking, model, options).by if state.verdict == "forbidden" else ()
    try:
        text = to_lit(asking)
    except ValueError:
        text = ""
    return replace(state, by=by, asks=condition(asking), question=text)


def of_controls(ran: list[Run], model: Model, options: Options, leaves: tuple[Leaf, ...],
                known: tuple[Seen, ...]) -> tuple[list[Seen], str]:  # fmt: skip
    """The states that controls were seen in and the model does not allow, and whether it allows what is asked for.

    What a test reaches, its controls do too, so that these states are not asked again.
    """
    allowed = {state.values for state in known if state.verdict == "allowed"}
    found, verdicts = list[Seen](), list[str]()
    for text in dict.fromkeys(run.control.text for run in ran if run.control is not None):
        mine = [run for run in ran if run.control is not None and run.control.text == text]
        (program,), (test,) = lit.read(text, mine[0].path), lit.read(mine[0].text, mine[0].path)
        if wrong := shortfalls(replace(program, name=test.name, variant=test.variant, purpose=test.purpose), test):
            raise Contradiction(f"the control is not weaker than the test: {wrong[0]}")
        runs = [replace(run, counted=run.control.counted) for run in mine if run.control is not None]
        states = tuple(state for state in seen_states(program, leaves, runs) if state.values not in allowed)
        told, asked = asked_of(program, model, options, leaves, states)
        verdicts += [asked.verdict] if asked is not None else []
        found += [replace(state, control=True) for state in told if state.verdict != "allowed"]
    return found, next((word for word in ("allowed", "unknown", "forbidden") if word in verdicts), "")


def verdict(program: Program, asked: Reached | None) -> str:
    """The model's verdict on a test, from that on what its condition asks for."""
    if asked is None or program.condition is None:
        return "no condition"
    every = program.condition.quantifier is Quantifier.FORALL
    return {"allowed": "fails", "forbidden": "holds"}.get(asked.verdict, asked.verdict) if every else asked.verdict
