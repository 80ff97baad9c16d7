"""What a model says of the final states that were seen, in a test and in its controls."""

from __future__ import annotations

from dataclasses import replace

from ptxmm import evidence
from ptxmm.arith import PRED
from ptxmm.check import check
from ptxmm.compare.deciding import Deciding
from ptxmm.compare.logged import only_test, seen_states
from ptxmm.compare.standing import Contradiction, Seen
from ptxmm.gpu.log import Run
from ptxmm.gpu.weaker import shortfalls
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Binary, Condition, Const, Expr, Program, Quantifier, Unary
from ptxmm.states import Leaf, Reached
from ptxmm.syntax.print_lit import condition, to_lit

ALLOWED = Reached("allowed")


def asked_of(program: Program, model: Model, options: Options, leaves: tuple[Leaf, ...], states: tuple[Seen, ...],
             asked: Reached | None = None) -> tuple[tuple[Seen, ...], Reached | None]:  # fmt: skip
    """The states with the model's verdicts, and its verdict on what the condition asks for if it is not known."""
    deciding = Deciding(program, model, options, leaves if states else ())
    found = deciding.reached([tuple(zip(leaves, state.values, strict=True)) for state in states])
    told = [replace(state, verdict=one.verdict, why=one.why) for state, one in zip(states, found, strict=True)]
    if asked is None and program.condition is not None:
        failing, formula = fails(program.condition), program.condition.formula
        shown = any(state.verdict == "allowed" and state.holds != failing for state in told)
        asked = ALLOWED if shown else deciding.reached([Unary("!", formula) if failing else formula])[0]
    if any(state.verdict == "forbidden" for state in told):
        told = _unpromised(program, model, options, told)
    return tuple(_explained(program, model, options, leaves, state) for state in told), asked


def fails(condition: Condition) -> bool:
    """Whether what a condition asks for are the states in which its formula does not hold."""
    return condition.quantifier is Quantifier.FORALL


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


def of_controls(ran: list[Run], test: Program, model: Model, options: Options, leaves: tuple[Leaf, ...],
                known: tuple[Seen, ...], asked: Reached | None) -> tuple[list[Seen], str]:  # fmt: skip
    """The states that controls were seen in and the model does not allow, and whether it allows what is asked for.

    What a test reaches, its controls do too, so that what is `known` of it, or `asked`, is not asked again.
    """
    allowed = {state.values for state in known if state.verdict == "allowed"}
    found, verdicts = list[Seen](), list[str]()
    for text in dict.fromkeys(run.control.text for run in ran if run.control is not None):
        mine = [run for run in ran if run.control is not None and run.control.text == text]
        program = only_test(text, mine[0].path)
        if wrong := shortfalls(replace(program, name=test.name, variant=test.variant, purpose=test.purpose), test):
            raise Contradiction(f"the control is not weaker than the test: {wrong[0]}")
        runs = [replace(run, counted=run.control.counted) for run in mine if run.control is not None]
        states = tuple(state for state in seen_states(program, leaves, runs) if state.values not in allowed)
        told, its = asked_of(program, model, options, leaves, states, asked if asked == ALLOWED else None)
        verdicts += [its.verdict] if its is not None else []
        found += [replace(state, control=True) for state in told if state.verdict != "allowed"]
    return found, next((word for word in ("allowed", "unknown", "forbidden") if word in verdicts), "")


def verdict(program: Program, asked: Reached | None) -> str:
    """The model's verdict on a test, from that on what its condition asks for."""
    if asked is None or program.condition is None:
        return "no condition"
    found = asked.verdict
    return {"allowed": "fails", "forbidden": "holds"}.get(found, found) if fails(program.condition) else found
