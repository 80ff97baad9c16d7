"""The command `ptxmm measure`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ptxmm.cli_options import Seconds, Target, example, width
from ptxmm.cli_output import complain, say
from ptxmm.errors import PtxmmError
from ptxmm.files import writing

if TYPE_CHECKING:
    from ptxmm.gpu.measure.machine import Machine
    from ptxmm.gpu.measure.measure import Measure
    from ptxmm.gpu.measure.results import Measurement

CODES = """\b
Exit codes:
  0  measured; what the numbers say of the claims is in the output
  1  a negative control showed something, or a wait did not end: the measurement contradicts itself
  2  no GPU, no CuPy, or the command line cannot be read
"""
INTERRUPTED = 130


EXAMPLES = example("ptxmm measure wait-cost", "ptxmm measure --all --plot pictures --json > all.json", codes=CODES)


@click.command(epilog=EXAMPLES)
@click.argument("names", metavar="NAME...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Measure everything.")
@click.option("--list", "listed", is_flag=True, help="Say what can be measured, and which claims it looks at.")
@click.option("--seconds", type=Seconds(100_000), default=10.0, show_default=True,
              metavar="SECONDS", help="Repeat each NAME for this long; a few rounds in any case.")  # fmt: skip
@click.option("--device", type=click.IntRange(0, 1024), default=0, show_default=True, help="The number of the GPU.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the order of the arms.")
@click.option("--from", "recorded", type=click.Path(exists=True, dir_okay=False, path_type=Path), multiple=True,
              metavar="FILE", help="Show what --json wrote earlier instead of measuring; may be repeated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")
@click.option("--plot", "plotted", type=Target(folder=True), metavar="DIR",
              help="Draw each measurement too, as DIR/NAME.svg.")  # fmt: skip
@click.pass_context
def measure(context: click.Context, /, names: tuple[str, ...], every: bool, listed: bool, seconds: float, seed: int,
            device: int, recorded: tuple[Path, ...], as_json: bool, plotted: Path | None) -> None:  # fmt: skip
    """Measure on this machine's GPU what forms of synchronisation cost, and where a missing one shows.

    NAME is a measurement; --list tells which there are.
    """
    from ptxmm.gpu.measure.catalogue import MEASURES
    from ptxmm.report.measure import list_text, measures_json

    if listed:
        say(measures_json(MEASURES.values()) if as_json else list_text(MEASURES.values(), width()))
        return
    if (bool(names) + every + bool(recorded)) != 1:
        raise click.UsageError("Name measurements, or say --all, or --from a file: one of these.", context)
    for name in names:
        if name not in MEASURES:
            raise click.UsageError(f"{name!r} is no measurement: choose from {', '.join(MEASURES)}.", context)
    show = _Shown(as_json, plotted)
    if recorded:
        show.all(_read(path) for path in recorded)
        context.exit(show.end(failed=False))
    from ptxmm.gpu.measure.machine import Machine

    machine, failed = Machine(device), False
    for name in names or MEASURES:
        try:
            result, interrupted = _measured(MEASURES[name], machine, seconds, seed)
        except PtxmmError as wrong:
            complain(f"ptxmm: {wrong}")
            failed = True
            continue
        except Exception as wrong:
            if os.environ.get("PTXMM_DEBUG"):
                raise
            complain(f"ptxmm: {name}: {type(wrong).__name__}: {wrong}; the GPU is lost to this process")
            failed = True
            break
        show.add(result)
        if interrupted:
            show.end(failed=False)
            context.exit(INTERRUPTED)
    context.exit(show.end(failed=failed))


@dataclass(slots=True)
class _Shown:
    """Measurements as they come: text and pictures at once, JSON at the end."""

    as_json: bool
    plotted: Path | None
    found: list[Measurement] = field(default_factory=list)

    def add(self, result: Measurement) -> None:
        from ptxmm.report.measure import measurement_text

        self.found.append(result)
        if not self.as_json:
            say(measurement_text(result, width()) + "\n")
        if self.plotted is not None:
            _draw(result, self.plotted)

    def all(self, files: Iterable[Iterable[Measurement]]) -> None:
        for results in files:
            for each in results:
                self.add(each)

    def end(self, *, failed: bool) -> int:
        from ptxmm.report.measure import exit_code, measure_report

        if self.as_json:
            say(measure_report(self.found))
        return 2 if failed else exit_code(self.found)


def _judged(found: Measurement) -> Measurement:
    from ptxmm.gpu.measure.catalogue import MEASURES
    from ptxmm.gpu.measure.claims import judged

    measure = MEASURES.get(found.name)
    return found if measure is None else replace(found, claims=judged(measure.claims, found.series))


def _read(path: Path) -> list[Measurement]:
    """The measurements of a file that --json wrote, with what the numbers say of the claims as they are stated now."""
    from ptxmm.errors import InputError, Span
    from ptxmm.files import read_text
    from ptxmm.gpu.measure.results import OtherFormat, from_json

    try:
        found = json.loads(read_text(path, "measurement"))
        if not isinstance(found, list) or not found:
            raise ValueError("no list of measurements")
        return [_judged(from_json(each)) for each in found]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
        at, hint = Span(str(path), 0, 0), "`ptxmm measure NAME --json > FILE` writes such a file"
        message = "this is not what `ptxmm measure --json` writes"
        raise InputError(str(wrong) if isinstance(wrong, OtherFormat) else message, at, hint) from wrong


def _measured(measure: Measure, machine: Machine, seconds: float, seed: int) -> tuple[Measurement, bool]:
    """A measurement, and whether it was cut short: what was measured until then is kept."""
    from ptxmm.gpu.measure.measure import finished, series_of
    from ptxmm.report.progress import with_progress

    start, series, interrupted = time.perf_counter(), [], False
    try:
        found = series_of(measure, machine, seconds, seed)
        with closing(with_progress(found, len(measure.settings), measure.name)) as shown:
            for each in shown:
                series.append(each)
    except KeyboardInterrupt:
        interrupted = True
    return finished(measure, machine, tuple(series), start), interrupted


def _draw(found: Measurement, folder: Path) -> None:
    from ptxmm.report.measure_svg import measurement_svg

    target = folder / f"{found.name}.svg"
    with writing(target):
        folder.mkdir(parents=True, exist_ok=True)
        target.write_text(measurement_svg(found), encoding="utf-8")
