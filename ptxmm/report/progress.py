"""A progress bar on a terminal, for work that takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 0.7


def with_progress(items: Iterable[T], total: int, what: str) -> Generator[T, None, None]:
    """The items as they come; after a moment a bar shows how many have come, unless no terminal is there."""
    stream = next((s for s in (sys.stdout, sys.stderr) if s.isatty()), None)
    items, done, start = iter(items), 0, time.perf_counter()
    for item in items:
        yield item
        done += 1
        if stream is not None and time.perf_counter() - start > PATIENCE and done < total:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shared = stream is sys.stdout
    console = Console(file=stream)
    with Progress(*columns, console=console, transient=True, redirect_stdout=shared, redirect_stderr=shared) as bar:
        task = bar.add_task(what, total=total, completed=done)
        for item in items:
            yield item
            bar.advance(task)
