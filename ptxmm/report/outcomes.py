"""All final states in the shape that herd7 prints and its tools read."""

from __future__ import annotations

from ptxmm.arith import Type, shown
from ptxmm.program import Quantifier
from ptxmm.report.witness import execution_text
from ptxmm.verdict import Outcomes, Result, State

KINDS = {Quantifier.EXISTS: "Allowed", Quantifier.NOT_EXISTS: "Forbidden", Quantifier.FORALL: "Required"}


def outcomes_text(outcomes: Outcomes | Result, width: int = 100) -> str:
    """The states of one test, each with its execution if it has one; for a test without states, why.

    >>> states = (State((0, 1), False), State((1, 0), True))
    >>> columns = {"columns": ("A.r0", "x"), "types": (Type("u", 32),) * 2, "states": states}
    >>> print(outcomes_text(Outcomes("", "mp", None, "sc", "exists (A.r0 == 1)", "exists", **columns)))
    Test mp Allowed
    States 2
    A:r0=0; x=1;
    A:r0=1; x=0;
    Ok
    Witnesses
    Positive: 1 Negative: 1
    Condition exists (A.r0 == 1)
    Observation mp Sometimes 1 1
    Model sc
    Time mp 0.00
    """
    if isinstance(outcomes, Result):
        reason = "" if outcomes.verdict == "error" else f": {outcomes.why}"
        under = f" under {outcomes.model}" if outcomes.model else ""
        return f"Test {outcomes.name}\n{outcomes.verdict.capitalize()}{under}{reason}"
    positive = sum(state.satisfies for state in outcomes.states)
    negative = len(outcomes.states) - positive
    lines = [f"Test {outcomes.name} {_kind(outcomes)}".rstrip(), f"States {len(outcomes.states)}"]
    for state in outcomes.states:
        lines.append(_state(state, outcomes.columns, outcomes.types))
        if state.witness is not None:
            lines += ["", execution_text(state.witness, width=width), ""]
    if outcomes.quantifier is not None:
        lines += [
            _answer(Quantifier(outcomes.quantifier), positive, negative, outcomes.complete),
            "Witnesses",
            f"Positive: {positive} Negative: {negative}",
            f"Condition {outcomes.condition}",
            f"Observation {outcomes.name} {_how_often(positive, negative)} {positive} {negative}",
        ]
    if not outcomes.complete:
        lines.append(f"Incomplete {outcomes.why or 'a loop was cut at the bound'}")
    lines.append(f"Model {outcomes.model}")
    lines.append(f"Time {outcomes.name} {outcomes.seconds:.2f}")
    return "\n".join(lines)


def _kind(outcomes: Outcomes) -> str:
    return KINDS[Quantifier(outcomes.quantifier)] if outcomes.quantifier is not None else ""


def _state(state: State, columns: tuple[str, ...], types: tuple[Type, ...]) -> str:
    cells = zip(columns, state.values, types, strict=True)
    return " ".join(f"{column.replace('.', ':', 1)}={shown(value, kind)};" for column, value, kind in cells)


def _answer(quantifier: Quantifier, positive: int, negative: int, complete: bool) -> str:
    """`Ok` where the states validate the condition, `No` where they do not, `Unknown` where unseen ones decide."""
    found, validates = {
        Quantifier.EXISTS: (positive > 0, True),
        Quantifier.NOT_EXISTS: (positive > 0, False),
        Quantifier.FORALL: (negative > 0, False),
    }[quantifier]
    if not found and not complete:
        return "Unknown"
    return "Ok" if found == validates else "No"


def _how_often(positive: int, negative: int) -> str:
    if not positive:
        return "Never"
    return "Sometimes" if negative else "Always"
