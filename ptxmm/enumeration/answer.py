"""The answers of the second engine, in the same values as those of the first."""

from __future__ import annotations

import time

from ptxmm.enumeration.final import column_name, column_type
from ptxmm.enumeration.findings import Findings, enumerate_all
from ptxmm.enumeration.limits import Options
from ptxmm.model import Model
from ptxmm.program import Program, Quantifier
from ptxmm.verdict import Answer, Outcomes, Result, State


def check(program: Program, model: Model, options: Options) -> Result:
    """Decide a test under a model by trying every candidate execution."""
    started = time.monotonic()
    races = "race" in options.properties
    asked = dict.fromkeys([options.progress, *named_progress(program)]) if "hang" in options.properties else ()
    undefined = "undefined" in options.properties
    found = enumerate_all(
        program, model, options, races=races, undefined=undefined, hangs=sorted(asked, key="fair".__ne__)
    )
    verdict, why = decide(program, found)
    return Result(
        path=program.path,
        test=program.name,
        variant=program.variant,
        model=model.name,
        condition=quantifier(program) or "",
        verdict=verdict,
        why=why,
        race=race_answer(program, found) if races else Answer(),
        hang=found.hangs.get(options.progress, Answer()),
        progress=options.progress,
        undefined=undefined_answer(found) if undefined else Answer(),
        hangs=tuple((name, answer) for name, answer in found.hangs.items() if name != options.progress),
        bound=options.bound,
        complete=not found.cut and not found.gave_up,
        seconds=time.monotonic() - started,
        program=program,
    )


def outcomes(program: Program, model: Model, options: Options, *, waits: bool = True) -> Outcomes:
    """All final states of a test under a model, by trying every candidate execution.

    Without `waits`, loops that only wait are unrolled to the bound like all others.
    """
    started = time.monotonic()
    found = enumerate_all(program, model, options, races=False, waits=waits)
    return Outcomes(
        path=program.path,
        test=program.name,
        variant=program.variant,
        model=model.name,
        condition=quantifier(program) or "",
        quantifier=quantifier(program),
        columns=tuple(column_name(program, one) for one in found.columns),
        types=tuple(column_type(program, one) for one in found.columns),
        states=tuple(State(values, satisfies) for values, satisfies in sorted(found.states.items())),
        complete=not found.unsure and not found.unsupported,
        why=found.unsupported or found.unsure,
        seconds=time.monotonic() - started,
    )


def named_progress(program: Program) -> list[str]:
    """The progress models that a test's own verdicts name."""
    words = (word for expect in program.expects for word in expect.words)
    return [word.progress or "fair" for word in words if word.word in ("hang", "no hang")]


def quantifier(program: Program) -> str | None:
    """The quantifier of the condition."""
    return str(program.condition.quantifier) if program.condition is not None else None


def decide(program: Program, found: Findings) -> tuple[str, str]:
    """The verdict on the condition, and why it is none."""
    if found.unsupported:
        return "unsupported", found.unsupported
    if found.void:
        return "unknown", found.void
    if program.condition is None:
        return "no condition", ""
    if program.condition.quantifier is Quantifier.FORALL:
        decided, otherwise = not all(found.states.values()), ("fails", "holds")
    else:
        decided, otherwise = any(found.states.values()), ("allowed", "forbidden")
    if decided:
        return otherwise[0], ""
    return ("unknown", found.unsure) if found.unsure else (otherwise[1], "")


def race_answer(program: Program, found: Findings) -> Answer:
    """Whether there is a race, and on which objects."""
    if found.unsupported:
        return Answer()
    if found.blind:
        return Answer("unknown", why=found.blind)
    if found.raced:
        return Answer("yes", tuple(one.name for one in program.objects if one.name in found.raced), why=found.unsure)
    return Answer("unknown", why=found.unsure) if found.unsure else Answer("no")


def undefined_answer(found: Findings) -> Answer:
    """Whether an execution reaches an undefined step."""
    if found.unsupported:
        return Answer()
    if found.undefined or found.flagged:
        return Answer("yes", why=found.undefined or found.flagged)
    return Answer("unknown", why=found.unsure) if found.unsure else Answer("no")
