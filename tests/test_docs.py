"""The documentation tells the truth: its transcripts run, its tests are read and get the verdicts they state.

`PTXMM_REWRITE=1 pytest tests/test_docs.py` writes the present output into the pages.
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click
import pytest

from ptxmm.batch import Piece, decide
from ptxmm.check import Options
from ptxmm.cli import cli, main
from ptxmm.compare import by_test
from ptxmm.gpu.lines import read_log
from ptxmm.report.run import RunReport
from ptxmm.request import Request
from ptxmm.solve import session
from ptxmm.verdict import Result

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "models" / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REWRITE = bool(os.environ.get("PTXMM_REWRITE"))


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(kind: str) -> list[Block]:
    return [block for page in PAGES if page.exists() for block in _blocks(page) if block.kind == kind]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])


def output_of(command: str) -> str:
    """What a command writes to both streams, with a solver of its own."""
    words = shlex.split(command)
    assert words[0] == "ptxmm", "a transcript holds ptxmm commands only"
    session.cache_clear()
    written = TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True)
    with chdir(ROOT), redirect_stdout(written), redirect_stderr(written), pytest.raises(SystemExit):
        main(words[1:])
    return written.buffer.getvalue().decode().strip("\n")


def without_times(text: str) -> str:
    """The text without what differs from run to run.

    >>> without_times("allowed    12 ms\\n1 test; 0.31 s\\nTime SB 0.02")
    'allowed _\\n1 test; _\\nTime SB _'
    """
    text = re.sub(r" +\d+(\.\d+)? m?s\b", " _", text)
    text = re.sub(r"^(Time \S+) [\d.]+$", r"\1 _", text, flags=re.MULTILINE)
    return re.sub(r'("seconds": )[\d.e-]+', r"\1_", text)


def transcript(text: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that follows it."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return [(command, output.strip("\n")) for command, output in zip(parts[1::2], parts[2::2], strict=True)]


LONGEST = "prove grid-barrier-by-sign-flip"


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=str(block), marks=pytest.mark.slow if LONGEST in block.text else ())
        for block in blocks("console")
    ],
)
def test_every_transcript_shows_what_the_command_prints(block: Block) -> None:
    shown = transcript(block.text)
    assert shown
    printed = [(command, output_of(command)) for command, _ in shown]
    if REWRITE:
        text = "\n".join(f"$ {command}\n{output}" for command, output in printed) + "\n"
        page = block.page.read_text(encoding="utf-8")
        block.page.write_text(page.replace(block.text, text, 1), encoding="utf-8")
        return
    for (command, expected), (_, got) in zip(shown, printed, strict=True):
        assert without_times(got) == without_times(expected), command


def test_the_page_on_runs_shows_what_the_run_printed_whose_log_is_an_example() -> None:
    printed: list[str] = []
    report = RunReport(printed.append)
    for runs in by_test(read_log(ROOT / "docs" / "examples" / "MP.jsonl.gz")):
        report.add(list(runs))
    shown = (ROOT / "docs" / "hardware-runs.md").read_text(encoding="utf-8")
    assert "\n".join(["```text", *printed, "```"]) in shown


@pytest.mark.parametrize("block", blocks("pycon"), ids=str)
def test_every_python_session_shows_what_python_prints(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    session = doctest.DocTestParser().get_doctest(block.text, {}, str(block), str(block.page), block.line)
    assert session.examples
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    runner.run(session, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "ptxmm").rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_examples_in_docstrings_run(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    if name != "ptxmm.__main__":
        failed, _ = doctest.testmod(importlib.import_module(name))
        assert not failed


def whole_tests() -> list[Block]:
    return [block for block in blocks("lit") if re.match(r"\s*(//[^\n]*\n\s*)*ptx\s", block.text)]


@pytest.mark.parametrize("block", whole_tests(), ids=str)
def test_every_whole_test_in_the_documentation_gets_the_verdicts_it_states(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "shown.lit"
    path.write_text(block.text, encoding="utf-8")
    answers = decide(Piece(path), Request(Options(properties=frozenset({"outcome"}))))
    assert answers
    for answer in answers:
        assert isinstance(answer, Result)
        assert answer.verdict != "error", answer.why
        assert answer.ok is not False, answer.surprises


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_help_an_example_and_a_place_in_the_documentation(name: str) -> None:
    command = cli.commands[name]
    with click.Context(command, info_name=f"ptxmm {name}") as context:
        text = command.get_help(context)
    assert command.help
    assert re.search(rf"Example:\n\s+ptxmm {name}.*\Z", text, re.DOTALL)
    assert f"ptxmm {name}" in (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_option_says_what_it_does_or_what_may_follow_it(name: str) -> None:
    for parameter in cli.commands[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help or isinstance(parameter.type, click.Choice), parameter.name


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        if page.exists():
            prose = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
            for target in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
