"""docs/proxies.md tells what the library proves: its right forms are right, its wrong ones wrong as it says."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from ptxmm.cat import read_model
from ptxmm.check import Options, check
from ptxmm.expect import judged, property_of, stated_words
from ptxmm.program import Program, Word
from ptxmm.syntax import read_programs

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "proxies.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (.+) \| (.+) \| `(ptxmm check .+)` \| (.+) \|$", re.MULTILINE)
WRONG = re.compile(r"`\[([\w-]+)\]` ([^;]+)")


@dataclass(frozen=True)
class Line:
    subject: str
    command: str
    path: Path
    right: str
    wrong: dict[str, str]


def lines() -> list[Line]:
    found = []
    for subject, _, command, without in ROW.findall(PAGE):
        path, flag, pattern = shlex.split(command)[2:]
        assert flag == "-k"
        found.append(Line(subject, command, ROOT / path, pattern.strip("[]"), dict(WRONG.findall(without))))
    return found


LINES = lines()


def variant(line: Line, name: str) -> Program:
    (found,) = (program for program in read_programs(line.path) if program.variant == name)
    return found


def stated(program: Program) -> dict[str, Word]:
    """What a test of the library states under the default model, and is tested for, by what it is about."""
    return {property_of(word): word for word in stated_words(program, "ptx-9.4", "ptx-9.4")}


def words(text: str) -> list[Word]:
    """The words of a cell.

    >>> [str(word) for word in words("race on data, scale, hang, undefined")]
    ['race on data, scale', 'hang', 'undefined']
    """
    found = re.findall(r"race on (?:[\w@]+(?:, (?!hang|undefined))?)+|hang|undefined", text)
    return [
        Word("race", tuple(w.removeprefix("race on ").split(", "))) if w.startswith("race") else Word(w) for w in found
    ]


def test_the_page_has_lines_on_every_kind_of_asynchronous_operation() -> None:
    assert len(LINES) >= 70
    assert {line.path.parent.name for line in LINES} == {"async", "cluster", "mbarrier", "tensormap"}
    assert all(line.wrong for line in LINES)


@pytest.mark.parametrize("line", LINES, ids=[line.command.removeprefix("ptxmm check litmus/") for line in LINES])
def test_the_right_form_of_a_line_is_right(line: Line) -> None:
    said = {str(word) for word in stated(variant(line, line.right)).values()}
    assert said & {"no race", "no undefined"}
    assert said <= {"forbidden", "holds", "no race", "no undefined", "no hang"}


@pytest.mark.parametrize("line", LINES, ids=[line.command.removeprefix("ptxmm check litmus/") for line in LINES])
def test_a_wrong_form_goes_wrong_as_its_line_says(line: Line) -> None:
    for name, cell in line.wrong.items():
        program = variant(line, name)
        known, told = stated(program), words(cell)
        assert told, cell
        bad = {about: word for about, word in known.items() if word.word in ("race", "hang", "undefined")}
        assert {str(word) for word in bad.values()} <= {str(word) for word in told}, name
        open_words = tuple(word for word in told if word not in bad.values())
        if open_words:
            options = Options(properties=frozenset(property_of(word) for word in open_words))
            assert judged(check(program, read_model("ptx-9.4"), options), open_words).surprises == ()
