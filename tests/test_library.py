"""The litmus library: every file says what it is for and what it expects, and gets it from both engines."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from ptxmm.batch import Piece, decide, read
from ptxmm.cat import DEFAULT_MODEL, shipped_models
from ptxmm.check import Options
from ptxmm.features import needs
from ptxmm.program import Program
from ptxmm.report.text import Standing, standing
from ptxmm.request import Request, ask, every_model
from ptxmm.verdict import Result

LITMUS = Path(__file__).parent.parent / "litmus"
FILES = sorted(LITMUS.rglob("*.lit"))
READINGS = {name for name in shipped_models() if name.startswith(f"{DEFAULT_MODEL}-")}


@cache
def results(path: Path, engine: str, seconds: float, models: tuple[str, ...]) -> tuple[Result, ...]:
    options = Options(properties=frozenset({"outcome"}), timeout=seconds, engine=engine)
    answers = decide(Piece(path), Request(options, models=models))
    assert all(isinstance(answer, Result) for answer in answers)
    return tuple(answer for answer in answers if isinstance(answer, Result))


def title(path: Path) -> str:
    return path.relative_to(LITMUS).with_suffix("").as_posix()


ASKED = Request(Options(properties=frozenset({"outcome"}), timeout=20))


def check_stated(path: Path, models: tuple[str, ...]) -> None:
    """Each test under some models, or under all that it states verdicts for, and under no other reading of the text."""
    for program in read(path, None):
        for model in models or every_model(program):
            result = ask(program, model, ASKED)
            assert isinstance(result, Result)
            assert result.ok is not False, (result.name, result.model, result.why, result.surprises)
            assert result.ok or models, (result.name, result.model)


PROTOCOLS = [path for path in FILES if path.parent.name == "protocols"]
QUICK_PROTOCOLS = PROTOCOLS[2::4]
WITHOUT_PROTOCOLS = [path for path in FILES if path not in PROTOCOLS]
UNDER_EVERY_MODEL = WITHOUT_PROTOCOLS[::3]
"""Most tests say under the other models what they say under the default one: these are for the slow tier."""


@pytest.fixture(scope="module")
def path(request: pytest.FixtureRequest) -> Path:
    """A file. A fixture of the module: all that is asked of one file follows one another, and it is read once."""
    assert isinstance(request.param, Path)
    return request.param


def of_files(files: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", files, ids=title, indirect=True)


# The protocols take longest.
@of_files([path for path in FILES if path in WITHOUT_PROTOCOLS or path in QUICK_PROTOCOLS])
def test_each_test_gets_the_verdicts_it_states(path: Path) -> None:
    check_stated(path, () if path in UNDER_EVERY_MODEL else (DEFAULT_MODEL,))


@pytest.mark.slow
@of_files(FILES)
def test_each_test_gets_the_verdicts_it_states_under_every_model(path: Path) -> None:
    check_stated(path, ())


QUICKLY = ("enumeration", 0.3, (DEFAULT_MODEL,))
THOROUGHLY = ("enumeration", 60.0, ())


def wrong(result: Result) -> bool:
    """Whether the second engine contradicts what the test states; that it ran out of time says nothing."""
    return standing(result) not in (Standing.EXPECTED, Standing.UNKNOWN)


# The second engine takes longest for the waits of protocols: they, and most of the other tests, are for the slow tier.
@of_files(WITHOUT_PROTOCOLS[::10])
def test_the_second_engine_agrees_under_the_default_model(path: Path) -> None:
    assert not [(r.name, r.surprises, r.why) for r in results(path, *QUICKLY) if wrong(r)]


@pytest.mark.slow
def test_the_second_engine_can_tell_nearly_always() -> None:
    standings = [standing(result) for path in WITHOUT_PROTOCOLS for result in results(path, *QUICKLY)]
    assert standings.count(Standing.UNKNOWN) <= len(standings) // 10


@pytest.mark.slow
@of_files(FILES)
def test_the_second_engine_agrees_under_every_model(path: Path) -> None:
    assert not [(r.name, r.model, r.surprises, r.why) for r in results(path, *THOROUGHLY) if wrong(r)]


def is_asynchronous(program: Program) -> bool:
    """Whether only ptx-9.4 and its readings have what the test needs."""
    kernels = {thread.place.kernel for thread in program.threads}
    return bool({"mbarriers", "copies", "async", "tensormap"} & set(needs(program))) or len(kernels) > 1


@of_files(FILES)
def test_each_test_has_a_purpose_and_states_verdicts_under_every_model(path: Path) -> None:
    for program in read(path, None):
        assert program.purpose, program.full_name
        asked = set(shipped_models()) - READINGS - ({"sc"} if program.condition is None else set())
        assert ({DEFAULT_MODEL} if is_asynchronous(program) else asked) <= set(every_model(program)), program.full_name


ASYNCHRONOUS = [path for path in FILES if path.parent.name in ("async", "mbarrier", "cluster", "tensormap")]


@pytest.mark.slow
@of_files(ASYNCHRONOUS)
def test_a_test_says_where_a_reading_differs_from_the_default(path: Path) -> None:
    named = {program.full_name: READINGS & set(every_model(program)) for program in read(path, None)}
    asked = frozenset({"outcome", "race", "undefined"})
    models = (DEFAULT_MODEL, *sorted(READINGS))
    answers = decide(Piece(path), Request(Options(properties=asked, timeout=60), models=models, properties=asked))
    seen = {
        (r.name, r.model): (r.verdict, r.race.verdict, r.race.on, r.undefined.verdict)
        for r in answers
        if isinstance(r, Result)
    }
    assert len(seen) == len(named) * (1 + len(READINGS))
    for name, readings in named.items():
        for reading in READINGS - readings:
            assert seen[name, reading] == seen[name, DEFAULT_MODEL], (name, reading)


def heading(path: Path) -> str:
    found = re.search(r"^ptx (\S+)", path.read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_library_has_at_least_120_tests_with_names_of_their_own() -> None:
    names = [heading(path) for path in FILES]
    assert len(names) >= 120
    assert len(set(names)) == len(names)


def test_each_file_is_named_as_its_test() -> None:
    assert [path.stem for path in FILES] == [heading(path) for path in FILES]
