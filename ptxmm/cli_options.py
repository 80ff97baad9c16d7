"""The options that several commands share, and what they ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptxmm.batch import plan, run
from ptxmm.cli_output import complain
from ptxmm.options import PROGRESS, Options
from ptxmm.paths import find
from ptxmm.request import ENGINES, PROPERTIES, Answered, Request, model_named
from ptxmm.syntax import FORMATS

if TYPE_CHECKING:
    from ptxmm.report.pictures import Pictures

Command = TypeVar("Command", bound=Callable[..., Any])

SHOWN = "-"
LONGEST = 1_000_000
NARROWEST = 40

EXIT_CODES = """\b
Exit codes:
  0  everything is as expected
  1  something differs from what its test expects
  2  a test, a model or the command line cannot be read
  3  only "unknown" (a time-out, a loop cut at the bound) stands between this and 0
"""


def example(*lines: str, codes: str = "") -> str:
    """The end of a command's help: its exit codes and an example."""
    shown = "\n".join(["\b", "Example:", *(f"  {line}" for line in lines)])
    return f"{codes}\n{shown}" if codes else shown


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help text."""

    def apply(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return apply


def _properties(_context: click.Context, _option: click.Parameter, value: str | None) -> frozenset[str] | None:
    if value is None:
        return None
    words = frozenset(word.strip() for word in value.split(","))
    if words <= PROPERTIES:
        return words
    raise click.BadParameter(
        f"{', '.join(map(repr, sorted(words - PROPERTIES)))}: choose from {', '.join(sorted(PROPERTIES))}"
    )


class Seconds(click.FloatRange):
    """A time above 0; `nan`, which no range refuses, is none."""

    def __init__(self, longest: float = LONGEST) -> None:
        super().__init__(0, longest, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return seconds


class Target(click.Path):
    """Where results are written; an empty name, as of a variable of the shell that is not set, is none."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(file_okay=not folder)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not str(value):
            self.fail("the name is empty.", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


def once(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """What is named, each once."""
    return tuple(dict.fromkeys(values))


paths_argument = click.argument("paths", metavar="PATH...", nargs=-1)
model_option = click.option(
    "-m", "--model", "models", metavar="NAME|FILE.cat", multiple=True, callback=once,
    help="Ask this model; may be repeated. Default: ptx-9.4, and those that the test states verdicts for.",
)  # fmt: skip
how_options = options(
    click.option("--bound", type=click.IntRange(1, 1000), default=4, show_default=True, metavar="N",
                 help="Unroll loops N times; what a cut loop leaves open is unknown."),
    click.option("--timeout", type=Seconds(), default=60.0, show_default=True, metavar="SECONDS",
                 help="Give up on a test under a model after this time: unknown."),
    click.option("--engine", type=click.Choice(tuple(ENGINES)), default="z3", show_default=True,
                 help="Decide with a solver, or by trying every execution."),
)  # fmt: skip
which_options = options(
    click.option("-k", "pattern", metavar="PATTERN", help="Only tests whose name contains PATTERN; * and ? match any."),
    click.option(
        "--from",
        "format",
        type=click.Choice(tuple(FORMATS.values())),
        help="The format. Default: by the file's ending.",
    ),
)
jobs_option = click.option(
    "-j", "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Use N processes. Default: all cores."
)
property_option = click.option(
    "--property", "properties", callback=_properties, metavar="WORD[,WORD]...",
    help="What to decide: outcome, race, hang, undefined. Default: outcome, and all that the test states.",
)  # fmt: skip
progress_option = click.option(
    "--progress", type=click.Choice(PROGRESS), default="fair", show_default=True,
    help="How threads are scheduled: which of them `hang` may leave waiting for ever.",
)  # fmt: skip
witness_option = click.option(
    "--witness", is_flag=False, flag_value=SHOWN, default=None, metavar="[DIR]",
    help="Show the execution or the axioms behind each answer; with DIR, draw it too (SVG and DOT).",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Batch:
    """What a command line asks: the files, and how to decide them; `incomplete` where a path named no test."""

    files: list[Path]
    request: Request
    jobs: int
    incomplete: bool
    pictures: Pictures | None = None

    @classmethod
    def of(cls, question: str, *, paths: tuple[str, ...], models: tuple[str, ...] = (), **asked: Any) -> Batch:
        """The batch that options ask for; paths that name no test are complained about at once."""
        paths, drawn = _drawn(paths, asked.get("witness"))
        if not paths:
            raise click.UsageError("Missing argument 'PATH...'.", click.get_current_context())
        files, complaints = find(paths)
        for complaint in complaints:
            complain(f"ptxmm: {complaint}")
        read_models(models)
        options = Options(
            properties=frozenset({"outcome"}),
            bound=asked["bound"],
            timeout=asked["timeout"],
            witness=bool(asked.get("witness")),
            engine=asked["engine"],
            progress=asked.get("progress", "fair"),
        )
        request = Request(options, question, models, asked.get("properties"), asked["format"], asked["pattern"])
        return cls(files, request, asked["jobs"] or cores(), bool(complaints), drawn)

    def answers(self) -> Iterator[Answered]:
        """The answers in the files' order, with a progress bar on a terminal."""
        pieces, jobs = plan(self.files, self.request, self.jobs)
        lists = run(pieces, self.request, jobs)
        if sys.stdout.isatty() or sys.stderr.isatty():
            from ptxmm.report.progress import with_progress

            lists = with_progress(lists, len(pieces), self.request.question)
        found = False
        with closing(lists):
            for answers in lists:
                found = found or bool(answers)
                yield from answers
        if self.files:
            ensure_matched(self.request.pattern, found=found)


def read_models(names: tuple[str, ...]) -> None:
    """Complain about a model that cannot be read before any is asked, and of one that says nothing."""
    for name in names:
        if not model_named(name).axioms:
            complain(f"ptxmm: {name}: warning: the model has no axiom, so it allows everything")


def ensure_matched(pattern: str | None, *, found: bool) -> None:
    """A pattern that chooses no test is a mistake."""
    if pattern is not None and not found:
        raise click.UsageError(f"no test matches -k {pattern!r}.", click.get_current_context())


def _drawn(paths: tuple[str, ...], witness: str | bool | None) -> tuple[tuple[str, ...], Pictures | None]:
    """The paths, and where to draw: what follows `--witness` is a path where it is a file or the only word."""
    if not isinstance(witness, str) or witness == SHOWN:
        return paths, None
    if not paths or Path(witness).is_file():
        return (witness, *paths), None
    from ptxmm.report.pictures import Pictures

    return paths, Pictures(Path(witness))


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def width() -> int:
    """The columns of the terminal, but not fewer than text can be set in; 100 without one."""
    if not sys.stdout.isatty():
        return 100
    from shutil import get_terminal_size

    return max(NARROWEST, get_terminal_size((100, 24)).columns)


def colourful() -> bool:
    """Whether results may be coloured."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def unicode() -> bool:
    """Whether results may use signs beyond ASCII."""
    return (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "") in ("utf8", "utf16", "utf32")
