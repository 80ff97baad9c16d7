"""The command `ptxmm run`."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from click.core import ParameterSource

from ptxmm.batch import matches, read
from ptxmm.cli_options import Seconds, Target, ensure_matched, example, which_options
from ptxmm.cli_output import complain, say
from ptxmm.errors import PtxmmError
from ptxmm.files import writing
from ptxmm.gpu.profiles import PROFILES, USUAL
from ptxmm.paths import find
from ptxmm.syntax import FORMATS

if TYPE_CHECKING:
    from ptxmm.gpu.log import Run
    from ptxmm.gpu.process import Process
    from ptxmm.gpu.runs import Wish
    from ptxmm.gpu.session import Session
    from ptxmm.program import Program

CODES = """\b
Exit codes:
  0  every test ran; where one was skipped, hung or failed, the reason is told
  2  there is no GPU or no CuPy, or a test or the command line cannot be read
"""


FOR_A_RUN = ("log", "seconds", "profiles", "seed", "device", "audit", "controls")
"""Parameters that say how tests run."""


def _log_file(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """A file that can be one: what is named like a test would be lost, and a folder that is not there is told early."""
    if path is not None and path.suffix in FORMATS:
        raise click.BadParameter(f"{str(path)!r} is named like a test, which the log would overwrite.")
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(path.parent)!r}.")
    return path


def _only_emitted(context: click.Context) -> None:
    """What says how tests run has no effect where none does."""
    given = [
        f"`{'/'.join((option.opts[0], *option.secondary_opts))}`"
        for option in context.command.params
        if option.name in FOR_A_RUN and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--emit only writes PTX and runs nothing: leave {', '.join(given)} away.", context)


@click.command(epilog=example("ptxmm run litmus/basic --log runs.jsonl", "ptxmm run mp.lit --emit ptx", codes=CODES))
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--log", "-o", type=Target(), callback=_log_file, metavar="FILE",
              help="Write a log for `compare`, compressed if FILE ends in .gz.")  # fmt: skip
@click.option("--emit", type=Target(), metavar="DIR", help="Only write PTX there; needs no GPU.")
@click.option("--seconds", type=Seconds(86400), default=0.2, show_default=True,
              metavar="SECONDS", help="Run each test, with its controls, for so long.")  # fmt: skip
@click.option("--profile", "profiles", type=click.Choice((*PROFILES, "each")), multiple=True,
              help=f"How to look for weak outcomes; may be repeated. Default: {', '.join(USUAL)}.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choices of a profile.")
@click.option("--device", type=click.IntRange(0, 1024), default=0, show_default=True,
              help="The number of the GPU; tests of several devices run on those behind it too.")  # fmt: skip
@click.option("--audit/--no-audit", default=False, help="Read the machine code of each test, with nvdisasm, or not.")
@click.option("--controls/--no-controls", default=True, help="Run weaker siblings of each test beside it, or not.")
@which_options
@click.pass_context
def run(context: click.Context, /, paths: tuple[str, ...], log: Path | None, emit: Path | None, seconds: float,
        profiles: tuple[str, ...], seed: int, device: int, audit: bool, controls: bool, pattern: str | None,
        format: str | None) -> None:  # fmt: skip
    """Run tests on a GPU, and count their final states.

    PATH is a file (.lit, .litmus, .test), a folder or a glob. `ptxmm compare` holds the log against a model.
    """
    if emit is not None:
        _only_emitted(context)
    running = _started(device) if emit is None else None
    files, complaints = find(paths)
    for complaint in complaints:
        complain(f"ptxmm: {complaint}")
    reader = _Reader(files, format, pattern)
    if emit is not None:
        _emit(reader, emit)
    else:
        from ptxmm.gpu.runs import Wish
        from ptxmm.gpu.session import Session

        names = tuple(PROFILES) if "each" in profiles else profiles or USUAL
        wish = Wish(tuple(PROFILES[name] for name in dict.fromkeys(names)), seconds, seed, controls, audit)
        if _run(reader, wish, Session(device, running=running), log):
            context.exit(130)
    if files and not reader.failed:
        ensure_matched(pattern, found=reader.found)
    context.exit(2 if complaints or reader.failed else 0)


def _started(device: int) -> Process:
    """The process that will launch: CuPy is imported there while tests are read here."""
    from ptxmm.gpu.process import Process

    return Process.started(device)


class _Reader:
    """The tests of files, one after another; files that cannot be read are complained about."""

    def __init__(self, files: list[Path], format: str | None, pattern: str | None) -> None:
        self.files, self.format, self.pattern = files, format, pattern
        self.failed = self.found = False

    def __iter__(self) -> Iterator[Program]:
        for path in self.files:
            try:
                programs = read(path, self.format)
            except PtxmmError as wrong:
                complain(str(wrong))
                self.failed = True
                continue
            for program in programs:
                if matches(program.full_name, self.pattern):
                    self.found = True
                    yield program


def _emit(programs: Iterable[Program], folder: Path) -> None:
    from ptxmm.errors import Unsupported
    from ptxmm.gpu.source import kernel
    from ptxmm.report.pictures import FreshNames

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    names = FreshNames()
    for program in programs:
        try:
            made = kernel(program)
        except Unsupported as wrong:
            say(f"{program.full_name}: skipped: {wrong}")
            continue
        target = folder / f"{names.of(program.full_name)}.ptx"
        with writing(target):
            target.write_text(made.text, encoding="utf-8")
        say(f"{program.full_name}: {target} (PTX {made.version[0]}.{made.version[1]}, {made.target})")


def _run(reader: _Reader, wish: Wish, session: Session, log: Path | None) -> bool:
    """Run the tests; whether it was interrupted."""
    from ptxmm.gpu.runs import runs
    from ptxmm.report.run import RunReport

    report, written = RunReport(say), _Log(log)

    def told() -> Iterator[None]:
        """Tell of each test; one item for each file that is through."""
        path = None
        for each in runs(reader, session, wish):
            report.add(each)
            written.add(each)
            if path not in (None, each[0].path):
                yield
            path = each[0].path

    interrupted = False
    try:
        with closing(_with_bar(told(), len(reader.files))) as files:
            for _ in files:
                pass
    except KeyboardInterrupt:
        interrupted = True
        complain("ptxmm: interrupted: what was measured is kept")
    finally:
        session.close()
        written.close()
    report.end()
    return interrupted


class _Log:
    """The log of a command, which leaves an older one alone until there is something to write."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.stream: TextIO | None = None

    def add(self, each: list[Run]) -> None:
        """Write the runs of a test."""
        from ptxmm.gpu.lines import to_line

        if self.path is None:
            return
        if self.stream is None:
            self.stream = _opened(self.path)
        with writing(self.path):
            self.stream.writelines(to_line(one) + "\n" for one in each)
            self.stream.flush()

    def close(self) -> None:
        """End the log."""
        if self.stream is not None and self.path is not None:
            with writing(self.path):
                self.stream.close()


def _opened(log: Path) -> TextIO:
    with writing(log):
        if log.suffix == ".gz":
            return gzip.open(log, "wt", encoding="utf-8")
        return log.open("w", encoding="utf-8")


def _with_bar(files: Iterator[None], total: int) -> Generator[None, None, None]:
    if not (sys.stdout.isatty() or sys.stderr.isatty()):
        yield from files
        return
    from ptxmm.report.progress import with_progress

    yield from with_progress(files, total, "run")
