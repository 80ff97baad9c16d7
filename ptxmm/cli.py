"""The command `ptxmm`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from io import StringIO
from typing import Any

import click

from ptxmm import __version__
from ptxmm.batch import matches, read
from ptxmm.cli_compare import compare
from ptxmm.cli_measure import measure
from ptxmm.cli_options import (
    EXIT_CODES,
    Batch,
    colourful,
    ensure_matched,
    example,
    how_options,
    jobs_option,
    model_option,
    paths_argument,
    progress_option,
    property_option,
    unicode,
    which_options,
    width,
    witness_option,
)
from ptxmm.cli_output import BROKEN_PIPE, complain, finish, lead_nowhere, prepare, say
from ptxmm.cli_prove import prove
from ptxmm.cli_run import run
from ptxmm.errors import InputError, PtxmmError
from ptxmm.files import reason
from ptxmm.request import unforeseen
from ptxmm.verdict import Result

LISTED = """\b
Exit codes:
  0  all final states are listed
  2  a test, a model or the command line cannot be read
  3  some may be missing: a time-out, a loop cut at the bound
"""
SHOWN = """\b
Exit codes:
  0  everything is shown
  2  a test, a model or the command line cannot be read
"""
FORMS = ("program", "events", "smt2", "lit", "dot")


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example("ptxmm check litmus/", codes=EXIT_CODES),
)
@click.version_option(__version__, prog_name="ptxmm", message="%(prog)s %(version)s")
def cli() -> None:
    """Decide small GPU synchronisation protocols under the PTX memory model."""


@cli.command(epilog=example("ptxmm check litmus/", "ptxmm check mp.lit -m ptx-7.5 -m sc --witness", codes=EXIT_CODES))
@paths_argument
@model_option
@property_option
@progress_option
@how_options
@which_options
@jobs_option
@click.option("--format", "output", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True)
@click.option("-x", "stop", is_flag=True, help="Stop at the first surprise.")
@witness_option
@click.pass_context
def check(context: click.Context, /, output: str, stop: bool, **asked: Any) -> None:
    """Decide every test and compare with what it expects.

    PATH is a file (.lit, .litmus, .test), a folder or a glob.
    """
    from ptxmm.report.text import TextReport, exit_code, standing, stops

    start = time.perf_counter()
    batch = Batch.of("check", **asked)
    report = TextReport(partial(say, styled=True), colour=colourful(), unicode=unicode())
    results = []
    for result in batch.answers():
        assert isinstance(result, Result)
        results.append(result)
        if output == "text":
            report.add(result)
            _evidence(result, shown=batch.request.options.witness)
        _complain(result)
        if batch.pictures is not None:
            batch.pictures.add(result)
        if stop and stops(standing(result)):
            break
    if output == "json":
        from ptxmm.report.json import check_report

        say(check_report(results))
    elif output == "sarif":
        from ptxmm.report.sarif import sarif_report

        say(sarif_report(results))
    else:
        report.end(time.perf_counter() - start)
    context.exit(2 if batch.incomplete else exit_code(map(standing, results)))


def _evidence(result: Result, *, shown: bool) -> None:
    if not shown:
        return
    from ptxmm.report.witness import evidence

    if text := evidence(result, width()):
        say(f"\n{text}\n")


def _complain(result: Result) -> None:
    if result.verdict == "error":
        complain(result.why)


@cli.command(epilog=example("ptxmm outcomes mp.lit", "ptxmm outcomes litmus/basic --format json", codes=LISTED))
@paths_argument
@model_option
@how_options
@which_options
@jobs_option
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--witness", is_flag=True, help="Show an execution that ends in each state.")
@click.pass_context
def outcomes(context: click.Context, /, output: str, **asked: Any) -> None:
    """List all final states of each test, as herd7 does.

    PATH is a file (.lit, .litmus, .test), a folder or a glob.
    """
    from ptxmm.report.outcomes import outcomes_text
    from ptxmm.report.text import Standing, exit_code, standing

    batch = Batch.of("outcomes", **asked)
    found, standings = [], set()
    for answer in batch.answers():
        found.append(answer)
        if isinstance(answer, Result):
            standings.add(standing(answer))
            _complain(answer)
        elif not answer.complete:
            standings.add(Standing.UNKNOWN)
        if output == "text":
            say(outcomes_text(answer, width()) + "\n")
    if output == "json":
        from ptxmm.report.json import outcomes_report

        say(outcomes_report(found))
    context.exit(2 if batch.incomplete else exit_code(standings))


@cli.command(
    epilog=example(
        "ptxmm show mp.lit", "ptxmm show mp.lit --as smt2 | z3 -in", "ptxmm show MP.litmus --as lit", codes=SHOWN
    )
)
@paths_argument
@click.option("--as", "form", type=click.Choice(FORMS), default="program", show_default=True, help="What to show.")
@model_option
@how_options
@which_options
@click.pass_context
def show(context: click.Context, /, form: str, **asked: Any) -> None:
    """Show a test's program, its events, or the constraints that decide it.

    `program` is the test as it is decided, `lit` the test in our own language, `events` what its instructions do to
    memory, `smt2` the constraints for any SMT solver, `dot` an execution with the final state that is asked for, for
    Graphviz.
    """
    from ptxmm.report.show import shown

    batch = Batch.of("check", **asked, jobs=1)
    code, found = 2 if batch.incomplete else 0, False
    for path in batch.files:
        try:
            for program in read(path, batch.request.format):
                if matches(program.full_name, batch.request.pattern):
                    found = True
                    say(shown(program, form, batch.request), styled=not sys.stdout.isatty())
        except PtxmmError as failed:
            complain(str(failed) if isinstance(failed, InputError) else f"{path}: {failed}")
            code = 2
    if batch.files and code == 0:
        ensure_matched(batch.request.pattern, found=found)
    context.exit(code)


@cli.command(epilog=example("ptxmm models", "ptxmm models --format json"))
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def models(output: str) -> None:
    """List the models that come with ptxmm, and what each supports."""
    from ptxmm.report.models import models_json, models_text

    say(models_json() if output == "json" else models_text(width()))


cli.add_command(prove)
cli.add_command(measure)
cli.add_command(compare)
cli.add_command(run)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; whatever goes wrong is one sentence and an exit code."""
    prepare()
    code = _run(sys.argv[1:] if arguments is None else list(arguments))
    finish()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    try:
        with cli.make_context("ptxmm", arguments) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as wrong:
        text = StringIO()
        wrong.show(text)
        complain(text.getvalue().rstrip("\n"))
        return 2
    except (click.Abort, KeyboardInterrupt):
        complain("ptxmm: interrupted")
        return 130
    except BrokenPipeError:
        lead_nowhere(sys.stdout)
        return BROKEN_PIPE
    except PtxmmError as wrong:
        complain(f"ptxmm: {wrong}")
        return 2
    except OSError as wrong:
        where = f"{wrong.filename}: " if wrong.filename else ""
        complain(f"ptxmm: {where}{reason(wrong)}")
        return 2
    except Exception as wrong:
        if os.environ.get("PTXMM_DEBUG"):
            raise
        complain(f"ptxmm: {unforeseen(wrong)}")
        return 2
    return 0
