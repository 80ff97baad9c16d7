"""The lines of a log of runs: one JSON object for each run (`docs/hardware-runs.md`), written and read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ptxmm.errors import InputError, Span
from ptxmm.files import read_text
from ptxmm.gpu.log import FORMAT, LABELS, Run, uncounted
from ptxmm.records import record

LARGEST = 1 << 30
"""Bytes of a log that is not compressed: the whole library under a few profiles has tens of millions."""

WRITTEN = "`ptxmm run --log FILE` writes a log; what it prints is none"
"""The hint for a file that is no log."""


def to_line(run: Run) -> str:
    """A run as one line of JSON."""
    return json.dumps({"hash": run.hash, **asdict(run)}, separators=(",", ":"), ensure_ascii=False)


def read_log(path: Path) -> Iterator[Run]:
    """The runs of a log, in order; a name that ends in `.gz` is that of a compressed one."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            yield from_line(line, Span(str(path), number, 1))


def _text(path: Path) -> str:
    return read_text(path, "log", largest=LARGEST, compressed=path.suffix == ".gz")


def from_line(line: str, at: Span) -> Run:
    """The run that a line of a log holds."""
    try:
        found = json.loads(line, object_pairs_hook=_once)
        told = found.pop("hash")
        if isinstance(found.get("format"), int) and found["format"] != FORMAT:
            hint = f"ptxmm {found.get('ptxmm') or 'of another version'} wrote it, and reads it"
            raise InputError(f"this log has format {found['format']}, and this is read: {FORMAT}", at, hint)
        run = record(Run, found)
        _ensure_sound(run)
        if run.skipped is not None:
            run = uncounted(run, run.skipped)
        changed = told != run.hash
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
        raise InputError("this is no line of a log of `ptxmm run`", at, WRITTEN) from wrong
    if changed:
        raise InputError("the text of the test is not the one that ran: its hash differs", at)
    return run


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no name stands twice: of two values, each reader of JSON may take another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _ensure_sound(run: Run) -> None:
    """Something was counted, or one reason says why not; counts and bit patterns are numbers from 0 on; there is a GPU.

    There is one pattern for each column.
    """
    if sum(each is not None for each in (run.counted, run.skipped, run.hung, run.failed)) != 1:
        raise ValueError("it says of nothing, or of several things, how it ended")
    if run.gpus < 1 or run.seconds < 0:
        raise ValueError("it ran on no GPU, or in no time")
    for counted in (run.counted, run.control.counted if run.control is not None else None):
        if counted is None:
            continue
        rest = (counted.instances, counted.stuck, counted.filtered, counted.unlisted, counted.groups, counted.squares)
        if min(*rest, *(each.count for each in counted.outcomes), *(v for o in counted.outcomes for v in o.values)) < 0:
            raise ValueError("a number is negative")
        if counted.audit.label not in LABELS:
            raise ValueError("the audit has no such label")
        if any(len(each.values) != len(run.columns) for each in counted.outcomes) or len(run.types) != len(run.columns):
            raise ValueError("values and columns differ in number")
