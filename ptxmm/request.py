"""What is asked of a test: under which models, for which properties, of which engine; and its answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from ptxmm.errors import InputError, PtxmmError, Undecided, Unsupported, printable
from ptxmm.expect import asked_words, judged, property_of, stated_words
from ptxmm.files import reason
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Expect, Program
from ptxmm.verdict import Answer, Outcomes, Result

Answered = Result | Outcomes

ENGINES = {"z3": "ptxmm.check", "enumeration": "ptxmm.enumeration"}

PROPERTIES = frozenset({"outcome", "race", "hang", "undefined"})

INTERRUPTED = "interrupted from keyboard"
REPORT_IT = "this is a mistake in ptxmm: please report it with the test (PTXMM_DEBUG=1 shows where)"


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask of every test, and how; without `models` or `properties`, those that the test states verdicts for."""

    options: Options
    question: str = "check"
    models: tuple[str, ...] = ()
    properties: frozenset[str] | None = None
    format: str | None = None
    pattern: str | None = None


def every_model(program: Program) -> tuple[str, ...]:
    """The default model, and those that a test states verdicts for."""
    others = [model for expect in program.expects for model in expect.models or ()]
    return tuple(dict.fromkeys([default_model(), *others]))


def one_model(program: Program) -> tuple[str, ...]:
    """The default model, or another if the test states verdicts for that alone."""
    known = [model for expect in program.expects for model in expect.models or (default_model(),)]
    return (default_model(),) if not known or default_model() in known else (known[0],)


ASKED = {"check": every_model, "outcomes": one_model}


def properties_of(program: Program, model: str) -> frozenset[str]:
    """What to ask where nothing is named: the outcome, and all that the test states verdicts for."""
    words = {property_of(word) for expect in stated(program, model) for word in expect.words}
    return frozenset({"outcome"} | (words & PROPERTIES))


def stated(program: Program, model: str) -> Iterator[Expect]:
    """The verdicts that a test states for a model."""
    return (expect for expect in program.expects if model in (expect.models or (default_model(),)))


def default_model() -> str:
    """The model that is meant where none is named."""
    from ptxmm.cat import DEFAULT_MODEL

    return DEFAULT_MODEL


def ask(program: Program, model: str, request: Request) -> Answered:
    """The answer of one engine for one test under one model."""
    start = time.perf_counter()
    try:
        engine = import_module(ENGINES[request.options.engine])
        question: Callable[..., Answered] = getattr(engine, request.question)
        properties = request.properties or properties_of(program, model)
        answer = question(program, model_named(model), replace(request.options, properties=properties))
    except Exception as failed:
        seconds = time.perf_counter() - start
        return replace(failure(failed, program.path, program.name, program.variant, model), seconds=seconds)
    if INTERRUPTED in answer.why:
        raise KeyboardInterrupt
    if isinstance(answer, Result):
        line = next((expect.at.line for expect in stated(program, answer.model)), 0)
        answer = _as_asked(answer, properties)
        words = asked_words(stated_words(program, answer.model, default_model()), properties)
        answer = judged(answer, words)
        return replace(answer, line=line, program=program if request.options.witness else None)
    from ptxmm.syntax.print_lit import condition

    return replace(answer, condition=condition(program))


def _as_asked(result: Result, properties: frozenset[str]) -> Result:
    """The result of an engine that decides less, or more, than it is asked."""
    if "outcome" not in properties and result.verdict not in ("unsupported", "error", "no condition"):
        result = replace(result, verdict="not asked", why="", by=(), witness=None)
    if result.verdict == "unsupported":
        return result
    unknown = Answer("unknown", why="this engine does not decide it")
    for noun in properties - {"outcome"}:
        if getattr(result, noun).verdict == "not asked":
            changes: dict[str, Any] = {noun: unknown}
            result = replace(result, **changes)
    return result


@lru_cache(maxsize=64)
def model_named(name: str) -> Model:
    """The model of that name or file, read once a process."""
    from ptxmm.cat import read_model

    return read_model(name)


def failure(failed: Exception, path: str, test: str, variant: str | None, model: str) -> Result:
    """A result that says why there is none."""
    verdict, why = "error", str(failed)
    if isinstance(failed, Unsupported):
        verdict = "unsupported"
    elif isinstance(failed, Undecided):
        verdict = "unknown"
    elif isinstance(failed, MemoryError):
        verdict, why = "unknown", "out of memory"
    elif isinstance(failed, OSError):
        why = f"{path}: {reason(failed)}"
    elif not isinstance(failed, PtxmmError):
        if os.environ.get("PTXMM_DEBUG"):
            raise failed
        why = f"{printable(path)}: {unforeseen(failed)}"
    at = failed.at if isinstance(failed, InputError) else None
    return Result(
        path=path, test=test, variant=variant, model=model, verdict=verdict, why=why, line=at.line if at else 0
    )


def unforeseen(failed: Exception) -> str:
    """What is said of a failure that no code expects."""
    package = (failed.name or "").partition(".")[0] if isinstance(failed, ModuleNotFoundError) else ""
    if package not in ("", "ptxmm"):
        return f"the package {package} is missing: install ptxmm with pip, which brings it along"
    return f"{type(failed).__name__} ({failed}); {REPORT_IT}"
