"""The litmus library: every file says what it is for and what it expects, and gets it from both engines."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ptxmm.batch import Piece, Request, decide, every_model, read
from ptxmm.cat import DEFAULT_MODEL, shipped_models
from ptxmm.check import Options
from ptxmm.report.text import Standing, standing
from ptxmm.verdict import Result

LITMUS = Path(__file__).parent.parent / "litmus"
FILES = sorted(LITMUS.rglob("*.lit"))


@cache
def results(path: Path, engine: str = "z3", seconds: float = 20, models: tuple[str, ...] = ()) -> tuple[Result, ...]:
    options = Options(properties=frozenset({"outcome"}), timeout=seconds, engine=engine)
    answers = decide(Piece(path), Request(options, models=models))
    assert all(isinstance(answer, Result) for answer in answers)
    return tuple(answer for answer in answers if isinstance(answer, Result))


def title(path: Path) -> str:
    return path.relative_to(LITMUS).with_suffix("").as_posix()


@pytest.mark.parametrize("path", FILES, ids=title)
def test_each_test_gets_the_verdicts_it_states(path: Path) -> None:
    for result in results(path):
        assert result.ok is True, (result.name, result.model, result.why, result.surprises)


QUICKLY = ("enumeration", 0.3, (DEFAULT_MODEL,))
THOROUGHLY = ("enumeration", 60.0, ())


def wrong(result: Result) -> bool:
    """Whether the second engine contradicts what the test states; that it ran out of time says nothing."""
    return standing(result) not in (Standing.EXPECTED, Standing.UNKNOWN)


# The second engine cuts the waits of the protocols at the bound and takes long to say so: they are for the slow tier.
WITHOUT_WAITS = [path for path in FILES if path.parent.name != "protocols"]


@pytest.mark.parametrize("path", WITHOUT_WAITS, ids=title)
def test_the_second_engine_agrees_under_the_default_model(path: Path) -> None:
    assert not [(r.name, r.surprises, r.why) for r in results(path, *QUICKLY) if wrong(r)]


@pytest.mark.slow
def test_the_second_engine_can_tell_nearly_always() -> None:
    standings = [standing(result) for path in WITHOUT_WAITS for result in results(path, *QUICKLY)]
    assert standings.count(Standing.UNKNOWN) <= len(standings) // 10


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=title)
def test_the_second_engine_agrees_under_every_model(path: Path) -> None:
    assert not [(r.name, r.model, r.surprises, r.why) for r in results(path, *THOROUGHLY) if wrong(r)]


@pytest.mark.parametrize("path", FILES, ids=title)
def test_each_test_has_a_purpose_and_states_verdicts_under_every_model(path: Path) -> None:
    for program in read(path, None):
        assert program.purpose, program.full_name
        asked = set(shipped_models()) - ({"sc"} if program.condition is None else set())
        assert asked <= set(every_model(program)), program.full_name


def test_the_library_has_at_least_120_tests_with_names_of_their_own() -> None:
    names = [program.full_name for path in FILES for program in read(path, None)]
    assert len(names) >= 120
    assert len(set(names)) == len(names)


def test_each_file_is_named_as_its_test() -> None:
    assert [path.stem for path in FILES] == [read(path, None)[0].name for path in FILES]
