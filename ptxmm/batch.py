"""Many tests at once: the tests of files, decided on several cores, in order."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from ptxmm.program import Branch, Program
from ptxmm.readings import READINGS, properties_that_may_differ, readings_that_may_differ, with_readings
from ptxmm.request import ASKED, Answered, Request, ask, default_model, failure, properties_of
from ptxmm.syntax import read_programs
from ptxmm.verdict import Result

FEW_FILES = 24
SMALL_WORK = 4000
BRIEF = 1.0


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
        return [failure(failed, str(piece.path), piece.path.stem, None, "")]
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
    asked = (request.properties or properties_of(program, mine.model)) & properties_that_may_differ(program)
    short = replace(request.options, timeout=min(request.options.timeout, BRIEF), witness=False)
    for reading in readings_that_may_differ(program) if asked and mine.seconds < BRIEF else ():
        if reading not in known:
            answer = ask(program, reading, replace(request, options=short, properties=asked))
            assert isinstance(answer, Result)
            known[reading] = answer
    told = with_readings(mine, [known[reading] for reading in READINGS if reading in known])
    return [told if answer is mine else answer for answer in answers]


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
