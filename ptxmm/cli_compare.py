"""The command `ptxmm compare`."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptxmm.cli_options import Seconds, Target, colourful, cores, example, jobs_option, once, read_models, unicode
from ptxmm.cli_output import say
from ptxmm.errors import PtxmmError
from ptxmm.files import writing
from ptxmm.options import Options

if TYPE_CHECKING:
    from ptxmm.compare import Comparison
    from ptxmm.gpu.log import Run
    from ptxmm.program import Program

CODES = """\b
Exit codes:
  0  no final state was seen that a model forbids
  1  one was: FORBIDDEN BUT SEEN
  2  a log cannot be read or contradicts itself, or the command line is wrong
  3  only "unknown", "hung, should end" or "failed, should run" stands between this and 0
"""

Item = tuple[tuple["Run", ...], tuple[str, ...]]
"""The runs of a test, and the models of which the first that has what the test needs is asked."""

OLDER = ("ptx-7.5", "ptx-6.0")
"""The models with proxies that the default one has not: of textures, surfaces and constants."""

OTHER_PICTURES = (".png", ".pdf", ".jpg", ".jpeg", ".gif", ".eps", ".ps", ".html")
"""What somebody who names such a file expects, and does not get."""


def _picture(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """A file that ends in .svg, or a folder; the name of a picture of another kind is no folder's."""
    if path is not None and path.suffix.lower() in OTHER_PICTURES and not path.is_dir():
        raise click.BadParameter(f"pictures are SVG: name a file that ends in .svg, or a folder, not {str(path)!r}.")
    return path


@click.command(epilog=example("ptxmm compare runs.jsonl", "ptxmm compare *.jsonl.gz", codes=CODES))
@click.argument("logs", metavar="LOG...", nargs=-1, required=True)
@click.option("-m", "--model", "models", metavar="NAME|FILE.cat", multiple=True, callback=once,
              help="Ask this model; may be repeated. Default: ptx-9.4, or an older one with its proxies.")  # fmt: skip
@click.option("-k", "pattern", metavar="PATTERN", help="Only tests whose name contains PATTERN; * and ? match any.")
@click.option("--tests", metavar="PATH", multiple=True, help="Say which tests differ from those of these files.")
@click.option("--bound", type=click.IntRange(1, 1000), default=4, show_default=True, metavar="N",
              help="Unroll loops N times; what a cut loop leaves open is unknown.")  # fmt: skip
@click.option("--timeout", type=Seconds(), default=60.0, show_default=True,
              metavar="SECONDS", help="Give up on a test under a model after this time: unknown.")  # fmt: skip
@jobs_option
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--picture", type=Target(), callback=_picture,
              metavar="FILE.svg|DIR",
              help="Draw the rates of all tests as SVG; in DIR, one picture for each folder of tests.")  # fmt: skip
@click.pass_context
def compare(context: click.Context, /, logs: tuple[str, ...], models: tuple[str, ...], pattern: str | None,
            tests: tuple[str, ...], bound: int, timeout: float, jobs: int | None, output: str,
            picture: Path | None) -> None:  # fmt: skip
    """Hold what tests did on a GPU against a model.

    LOG is what `ptxmm run` wrote, a file or a glob. Each final state that was seen is asked of the model, under
    ptx-9.4 without -m, or of an older one where ptx-9.4 lacks a proxy of the test.
    """
    from ptxmm.report.compare import CompareReport, compare_report, exit_code

    start = time.perf_counter()
    groups = _tests(logs, pattern, context)
    report = CompareReport(partial(say, styled=True), colour=colourful(), unicode=unicode())
    found = []
    options = Options(bound=bound, timeout=timeout)
    with closing(_compared(groups, models, options, jobs or cores(), tests)) as results:
        for result in results:
            found.append(result)
            if output == "text":
                report.add(result)
    if output == "json":
        say(compare_report(found))
    else:
        report.end(sum(map(len, groups)), time.perf_counter() - start)
    if picture is not None:
        _draw(picture, found)
    context.exit(exit_code(found))


def _tests(logs: tuple[str, ...], pattern: str | None, context: click.Context) -> list[tuple[Run, ...]]:
    from ptxmm.batch import matches
    from ptxmm.compare import by_test
    from ptxmm.gpu.lines import read_log
    from ptxmm.paths import expand

    files: dict[Path, None] = {}
    for log in logs:
        found, complaint = expand(log)
        if complaint:
            raise PtxmmError(complaint)
        files.update(dict.fromkeys(found))
    groups = by_test(run for file in files for run in read_log(file) if matches(run.name, pattern))
    if not groups:
        raise click.UsageError(f"no test matches -k {pattern!r}." if pattern else "the logs hold no run.", context)
    return groups


def _compared(groups: list[tuple[Run, ...]], models: tuple[str, ...], options: Options, jobs: int,
              tests: tuple[str, ...]) -> Generator[Comparison, None, None]:  # fmt: skip
    """The comparisons, in the order of the log, with a progress bar on a terminal."""
    from ptxmm.pool import Pool
    from ptxmm.report.progress import with_progress
    from ptxmm.request import default_model

    named: list[tuple[str, ...]] = [(name,) for name in models] or [(default_model(), *OLDER)]
    read_models(models)
    items = [(runs, names) for runs in groups for names in named]
    work = partial(_compare, options=options, present=_present(tests) if tests else None)
    jobs = min(jobs, len(items))
    results: Iterator[Comparison] = map(work, items)
    if jobs > 1:
        results = Pool(work, items, _killed, jobs).ordered()
    yield from with_progress(results, len(items), "compare")


def _compare(item: Item, *, options: Options, present: dict[str, Program] | None) -> Comparison:
    from ptxmm.compare import compare, since
    from ptxmm.request import model_named

    runs, (name, *others) = item
    result = compare(runs, model_named(name), options)
    if result.verdict == "unsupported" and others:
        further = (compare(runs, model_named(other), options) for other in others)
        result = next((one for one in further if one.verdict != "unsupported"), result)
    return result if present is None else since(result, runs, present.get(runs[0].name))


def _killed(item: Item) -> Comparison:
    from ptxmm.compare import lost

    return lost(item[0], item[1][0], "the process that decided it was killed (out of memory?)")


def _present(paths: tuple[str, ...]) -> dict[str, Program]:
    """The tests that files hold now, by name."""
    from ptxmm.batch import read
    from ptxmm.paths import find

    files, complaints = find(paths)
    if complaints:
        raise PtxmmError(complaints[0])
    return {program.full_name: program for file in files for program in read(file, None)}


def _draw(picture: Path, found: list[Comparison]) -> None:
    """One picture of all tests, or in a folder one for each folder of tests."""
    from ptxmm.report.rates import rates_svg

    title = "Rates of tests and of their controls"
    drawn = {picture: (title, found)}
    if picture.suffix.lower() != ".svg":
        folders = dict.fromkeys(Path(result.path).parent.name for result in found)
        drawn = {
            picture / f"{name or 'tests'}.svg": (
                f"{title}: {name}",
                [r for r in found if Path(r.path).parent.name == name],
            )
            for name in folders
        }
    for path, (heading, results) in drawn.items():
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(rates_svg(results, title=heading), encoding="utf-8")
