"""The command `ptxmm prove`."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING

import click

from ptxmm.cli_options import Seconds, example, once, width
from ptxmm.cli_output import say

if TYPE_CHECKING:
    from ptxmm.prove.results import Result

DEFAULT = ("ptx-6.0", "ptx-9.4")

CODES = """\b
Exit codes:
  0  everything is proved, and every hypothesis is needed
  1  something is not proved, or a hypothesis is idle
  2  a model or the command line cannot be read
  3  only "unknown" (the solver gave up) stands between this and 0
"""


@click.command(epilog=example("ptxmm prove --all", "ptxmm prove visible-after-close -m ptx-9.4", codes=CODES))
@click.argument("names", metavar="NAME...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Prove all theorems.")
@click.option("--list", "listed", is_flag=True, help="Say what the theorems are.")
@click.option(
    "-m", "--model", "models", metavar="NAME|FILE.cat", multiple=True, callback=once,
    help="Prove under this model; may be repeated. Default: ptx-6.0 and ptx-9.4.",
)  # fmt: skip
@click.option(
    "--counterexamples/--brief", "examples", default=None,
    help="Show what happens without each hypothesis. Default: shown, except with --all.",
)  # fmt: skip
@click.option("--timeout", type=Seconds(), default=60.0, show_default=True,
              metavar="SECONDS", help="Give up on a step after this time: unknown.")  # fmt: skip
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def prove(context: click.Context, /, names: tuple[str, ...], every: bool, listed: bool, models: tuple[str, ...],
          examples: bool | None, timeout: float, output: str) -> None:  # fmt: skip
    """Prove theorems for any number of threads, and show that each of their hypotheses is needed.

    NAME is a theorem; --list tells which there are.
    """
    from ptxmm.report.prove import exit_code, list_json, list_text, prove_report, summary, theorem_text

    if listed:
        say(list_json() if output == "json" else list_text(width()))
        return
    if bool(names) == every:
        raise click.UsageError("Name theorems, or say --all: one of these.", context)
    start, results = time.perf_counter(), []
    shown = bool(names) if examples is None else examples
    with closing(_results(names, models or DEFAULT, timeout)) as found:
        for result in found:
            results.append(result)
            if output == "text":
                say(theorem_text(result, width(), examples=shown))
    say(prove_report(results) if output == "json" else summary(results, time.perf_counter() - start))
    context.exit(exit_code(results))


def _results(names: tuple[str, ...], models: tuple[str, ...], timeout: float) -> Generator[Result, None, None]:
    """The results, one theorem after another, with a progress bar on a terminal."""
    from ptxmm.cat import read_model
    from ptxmm.prove.run import named, prove, stated_of
    from ptxmm.report.progress import with_progress

    pairs = [(s, model) for s in named(names) for model in map(read_model, models) if stated_of(s, model)]
    results = (prove(statement, model, timeout) for statement, model in pairs)
    yield from with_progress(results, len(pairs), "prove")
