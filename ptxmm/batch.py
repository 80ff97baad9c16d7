"""Many tests at once: which models to ask, and deciding all of it on several cores, in order."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ptxmm.errors import InputError, PtxmmError, Undecided, Unsupported, printable
from ptxmm.expect import asked_words, judged, property_of, stated_words
from ptxmm.files import reason
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Branch, Expect, Program
from ptxmm.readings import READINGS, readings_that_may_differ, with_readings
from ptxmm.syntax import read_programs
from ptxmm.verdict import Answer, Outcomes, Result

Answered = Result | Outcomes

ENGINES = {"z3": "ptxmm.check", "enumeration": "ptxmm.enumeration"}

PROPERTIES = frozenset({"outcome", "race", "hang", "undefined"})

FEW_FILES = 24
SMALL_WORK = 4000
BRIEF = 1.0

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


@dataclass(frozen=True, slots=True)
class Piece:
    """All tests of a file, or the one at an index."""

    path: Path
    index: int | None = None


def matches(name: str, pattern: str | None) -> bool:
    """Whether `-k PATTERN` selects a test: it contains the pattern, in which `*` and `?` are wildcards.

    >>> matches("wait-chain[right]", "chain"), matches("wait-chain[right]", "mp*"), matches("a[b]", "[b]")
    (True, False, True)
    """
    if pattern is None:
        return True
    wild = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.search(wild, name, re.IGNORECASE) is not None


# --- one file --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=FEW_FILES)
def read(path: Path, format: str | None) -> tuple[Program, ...]:
    """The tests of a file."""
    return read_programs(path, format)


def decide(piece: Piece, request: Request) -> list[Answered]:
    """The answers for the tests of one file, in the file's order; what cannot be read or decided is an answer too."""
    try:
        programs = read(piece.path, request.format)
    except Exception as failed:
        return [_failure(failed, str(piece.path), piece.path.stem, None, "")]
    chosen = programs if piece.index is None else programs[piece.index : piece.index + 1]
    return [
        answer
        for program in chosen
        if matches(program.full_name, request.pattern)
        for answer in _readings_told(
            program,
            request,
            [ask(program, model, request) for model in request.models or ASKED[request.question](program)],
        )
    ]


def _readings_told(program: Program, request: Request, answers: list[Answered]) -> list[Answered]:
    """The answers, the default model's with a note where a reading of the text gives another, if no model is named.

    A reading that the test states no verdicts for is asked where that takes little time.
    """
    known = {answer.model: answer for answer in answers if isinstance(answer, Result)}
    mine = known.get(default_model())
    if request.models or mine is None or mine.verdict in ("error", "unsupported", "unknown"):
        return answers
    asked = (request.properties or properties_of(program, mine.model)) & {"outcome", "race"}
    short = replace(request.options, timeout=min(request.options.timeout, BRIEF), witness=False)
    for reading in readings_that_may_differ(program) if asked and mine.seconds < BRIEF else ():
        if reading not in known:
            answer = ask(program, reading, replace(request, options=short, properties=asked))
            assert isinstance(answer, Result)
            known[reading] = answer
    told = with_readings(mine, [known[reading] for reading in READINGS if reading in known])
    return [told if answer is mine else answer for answer in answers]


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
        return replace(_failure(failed, program.path, program.name, program.variant, model), seconds=seconds)
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


def _failure(failed: Exception, path: str, test: str, variant: str | None, model: str) -> Result:
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


# --- many files ------------------------------------------------------------------------------------------------------


def plan(files: Sequence[Path], request: Request, jobs: int) -> tuple[list[Piece], int]:
    """The pieces of work, and how many processes they are worth: one for a few small tests."""
    pieces = [Piece(path) for path in files]
    if jobs > 1 and len(files) <= FEW_FILES:
        tests = {path: _read_or_nothing(path, request.format) for path in files}
        if sum(_work(program) for programs in tests.values() for program in programs) <= SMALL_WORK:
            return pieces, 1
        pieces = [Piece(path, i) for path, programs in tests.items() for i in range(max(1, len(programs)))]
    return pieces, min(jobs, len(pieces))


def run(pieces: list[Piece], request: Request, jobs: int) -> Generator[list[Answered], None, None]:
    """The answers for all pieces, in their order, a list at a time, by `jobs` processes."""
    if jobs > 1:
        from ptxmm.pool import Pool

        yield from Pool(partial(decide, request=request), pieces, _killed, jobs).ordered()
    else:
        yield from (decide(piece, request) for piece in pieces)


def _read_or_nothing(path: Path, format: str | None) -> tuple[Program, ...]:
    try:
        return read(path, format)
    except Exception:
        return ()


def _work(program: Program) -> int:
    """A rough measure of how long a test takes: 4000 are about 0.2 seconds."""
    size = sum(len(thread.body) for thread in program.threads)
    loops = any(isinstance(s, Branch) for thread in program.threads for s in thread.body)
    return size * size * (4 if loops else 1)


def _killed(piece: Piece) -> list[Answered]:
    why = "the process that decided it was killed (out of memory?)"
    return [Result(path=str(piece.path), test=piece.path.stem, variant=None, model="", verdict="unknown", why=why)]
