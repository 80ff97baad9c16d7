"""The rules of asynchronous operations as models/README.md tells them, held against the models and the library.

And what `check` says of a verdict that depends on how the text is read.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from ptxmm.batch import Piece, decide
from ptxmm.cat import read_model
from ptxmm.check import Options, check
from ptxmm.expect import judged, property_of, stated_words
from ptxmm.model import Axiom, Let, LetRec
from ptxmm.program import Program, Word
from ptxmm.readings import readings_that_may_differ, with_readings
from ptxmm.request import Request
from ptxmm.syntax import read_programs
from ptxmm.verdict import Result
from ptxmm.vocabulary import VOCABULARY

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "models" / "README.md").read_text()
READINGS = ("ptx-9.4", "ptx-9.4-strict", "ptx-9.4-literal")
NOTED = frozenset({"outcome", "race"})
GENERIC_ONLY = {"A5", "A6", "A12", "A13", "A19", "A24", "A25"}
GRAMMAR = "A23"


def table(*head: str) -> list[list[str]]:
    """The rows of the table with this head."""
    start = README.index("| " + " | ".join(head) + " |\n")
    lines = README[start : README.index("\n\n", start)].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


RULES = table("rule", "says", "status", "section", "formula", "where")
LINES = table("rule", "test", "ptx-9.4", "strict", "literal")
ANSWERS = table("ambiguity", "we say", "test", "ptx-9.4", "strict", "literal")
STATED = [
    (test.strip("`"), model, verdicts)
    for test, *cells in [line[1:] for line in LINES] + [line[2:] for line in ANSWERS]
    for model, verdicts in zip(READINGS, cells, strict=True)
]


@cache
def from_the_library(name: str) -> Program:
    path, _, variant = name.partition("[")
    programs = read_programs(ROOT / "litmus" / f"{path}.lit")
    (found,) = (program for program in programs if program.variant == (variant.rstrip("]") or None))
    return found


def words(text: str) -> tuple[Word, ...]:
    """The verdicts of a cell.

    >>> [str(word) for word in words("allowed, race on f, x, undefined")]
    ['allowed', 'race on f, x', 'undefined']
    """
    parts = re.findall(r"race on [\w@]+(?:, (?!undefined|hang|no )[\w@]+)*|[a-z]+(?: [a-z]+)?", text)
    return tuple(
        Word("race", tuple(part.removeprefix("race on ").split(", "))) if part.startswith("race on") else Word(part)
        for part in parts
    )


def of_the_library(name: str, model: str) -> tuple[Word, ...]:
    """What a test states and is tested for elsewhere; a reading that it does not name agrees with `ptx-9.4`."""
    program = from_the_library(name)
    return stated_words(program, model, "ptx-9.4") or stated_words(program, "ptx-9.4", "ptx-9.4")


def answer(name: str, model_name: str, stated: tuple[Word, ...]) -> Result:
    asked = {"race": "race", "undefined": "undefined", "hang": "hang"}
    properties = {asked.get(word.word.removeprefix("no "), "outcome") for word in stated}
    return check(from_the_library(name), read_model(model_name), Options(properties=frozenset(properties)))


def test_every_rule_has_its_row_and_a_test() -> None:
    assert [row[0] for row in RULES] == [f"R{number}" for number in range(1, 21)]
    assert {row[0] for row in LINES} == {row[0] for row in RULES}


def test_every_ambiguity_that_can_be_asked_has_a_test() -> None:
    answered = {row[0].split(":")[0] for row in ANSWERS} - {""}
    every = {f"A{number}" for number in range(1, 30)}
    assert answered | GENERIC_ONLY | {GRAMMAR} == every
    assert all(f"**{name}: " in README for name in GENERIC_ONLY)


@pytest.mark.parametrize("row", RULES, ids=[row[0] for row in RULES])
def test_the_formulas_of_a_rule_are_in_the_models(row: list[str]) -> None:
    defined = set(VOCABULARY)
    for name in READINGS:
        for statement in read_model(name).statements:
            match statement:
                case Let(let, _):
                    defined.add(let)
                case LetRec(bindings):
                    defined |= {let for let, _ in bindings}
    named = re.findall(r"`([^`]+)`", row[4])
    assert named
    assert set(named) <= defined


@pytest.mark.parametrize(("name", "model", "verdicts"), STATED, ids=[f"{name}-{model}" for name, model, _ in STATED])
def test_a_test_of_a_rule_gets_the_verdicts_that_its_row_states(name: str, model: str, verdicts: str) -> None:
    stated = words(verdicts)
    assert stated
    known = of_the_library(name, model)
    about = {property_of(word): word for word in stated}
    assert [word for word in known if about.get(property_of(word), word) != word] == []
    left = tuple(word for word in stated if word not in known)
    assert not left or judged(answer(name, model, left), left).surprises == ()


@pytest.mark.parametrize("reading", READINGS[1:])
def test_the_flags_of_a_model_are_those_of_the_readme(reading: str) -> None:
    documented = {row[0].strip("`") for row in table("flag", "section", "raised where")}
    for name in ("ptx-9.4", reading):
        flags = {s.name for s in read_model(name).statements if isinstance(s, Axiom) and s.flag}
        assert flags == documented


@pytest.mark.parametrize(
    ("definition", "reading", "name"),
    [
        ("into-async", "ptx-9.4-strict", "cluster/fence-place[writer]"),
        ("into-async", "ptx-9.4-literal", "async/bulk-store[issuer]"),
        ("completion-scope", "ptx-9.4-strict", "cluster/multicast[default]"),
        ("async-async", "ptx-9.4-literal", "cluster/multicast-forward[right]"),
        ("arrival-edge", "ptx-9.4-literal", "mbarrier/two-scopes[direct]"),
        ("cluster-barrier", "ptx-9.4-literal", "cluster/relaxed-cluster-barrier[relaxed]"),
        ("across-proxies", "ptx-9.4-literal", "async/strong-copy-write[right]"),
        ("alias-async", "ptx-9.4-literal", "async/bulk-alias[both-fences]"),
        ("alias-alone", "ptx-9.4-literal", "proxies/MP+alias-halves[release-alone]"),
    ],
)
def test_one_definition_alone_makes_the_difference_between_two_readings(
    definition: str, reading: str, name: str, tmp_path: Path
) -> None:
    shipped = (ROOT / "models" / "ptx-9.4.cat").read_text()
    other = (ROOT / "models" / f"{reading}.cat").read_text()
    line = rf"^let {definition} = .*$"
    helper = "let fence-here = (reach & inspace) ; [two-way]\n" if reading.endswith("strict") else ""
    (replacement,) = re.findall(line, other, re.MULTILINE)
    mixed = tmp_path / "mixed.cat"
    given = helper + replacement if definition == "into-async" else replacement
    mixed.write_text(re.sub(line, lambda _: given, shipped, flags=re.MULTILINE))
    both = words("allowed, no race")
    before, between, after = (answer(name, model, both) for model in ("ptx-9.4", str(mixed), reading))
    assert (before.verdict, before.race.verdict) != (after.verdict, after.race.verdict)
    assert (between.verdict, between.race.verdict) == (after.verdict, after.race.verdict)


# --- the note --------------------------------------------------------------------------------------------------------


def notes(name: str, *models: str) -> tuple[str, ...]:
    """The notes of the default model's answer for a test of the library."""
    path, _, variant = name.partition("[")
    request = Request(Options(), models=models, pattern=f"[{variant}" if variant else None)
    found = decide(Piece(ROOT / "litmus" / f"{path}.lit"), request)
    return next(result.notes for result in found if isinstance(result, Result) and result.model == "ptx-9.4")


def test_a_verdict_that_depends_on_the_reading_is_told_in_one_line() -> None:
    assert notes("async/bulk-store[both]") == ("depends on the reading: allowed, race on s under ptx-9.4-literal",)
    assert notes("async/bulk-fetch[writer-fence]") == (
        "depends on the reading: allowed, race on g under ptx-9.4-strict, ptx-9.4-literal",
    )


def test_readings_that_differ_from_each_other_are_told_apart() -> None:
    assert notes("cluster/push[cta-wait]") == (
        "depends on the reading: allowed, race on x under ptx-9.4-strict; allowed, race on s under ptx-9.4-literal",
    )


def test_a_verdict_that_all_readings_share_has_no_note() -> None:
    assert notes("async/bulk-store[none]") == notes("cluster/multicast[cluster-wait]") == ()


def test_who_names_models_is_told_of_these_alone() -> None:
    assert notes("async/bulk-store[both]", "ptx-9.4") == ()


def test_a_reading_that_is_not_decided_is_no_difference() -> None:
    mine = Result("", "store", None, "ptx-9.4", verdict="forbidden")
    assert with_readings(mine, [Result("", "store", None, "ptx-9.4-literal", verdict="unknown")]) == mine


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_the_readings_that_may_differ_are_asked(every: int) -> None:
    missed = []
    for folder in ("async", "barriers", "cluster", "mbarrier", "proxies", "tensormap"):
        for path in sorted((ROOT / "litmus" / folder).glob("*.lit"))[::every]:
            for program in read_programs(path):
                own = {word for word in stated_words(program, "ptx-9.4", "ptx-9.4") if property_of(word) in NOTED}
                for reading in READINGS[1:]:
                    theirs = {word for word in stated_words(program, reading, "ptx-9.4") if property_of(word) in NOTED}
                    if theirs - own and reading not in readings_that_may_differ(program):
                        missed.append((program.full_name, reading))
    assert missed == []
