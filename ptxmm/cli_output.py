"""What the commands write: results to standard output, messages to standard error; both may be closed, full or gone."""

from __future__ import annotations

import os
import signal
import sys
from typing import TextIO

import click

from ptxmm.errors import PtxmmError, printable
from ptxmm.files import reason

BROKEN_PIPE = 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 1


def prepare() -> None:
    """Make standard streams that a caller closed lead nowhere, and let every name be written in any encoding."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, styled: bool = False) -> None:
    """Write a result; unless it is `styled`, what would act on a terminal is replaced."""
    try:
        click.echo(text if styled else printable(text, "\n"))
    except BrokenPipeError:
        raise
    except OSError as failed:
        raise PtxmmError(f"standard output cannot be written: {reason(failed)}") from failed


def complain(text: str) -> None:
    """Write a message, if anybody can read it."""
    try:
        sys.stdout.flush()
    except OSError:
        lead_nowhere(sys.stdout)
    try:
        click.echo(printable(text, "\n"), err=True)
    except OSError:
        lead_nowhere(sys.stderr)


def finish() -> None:
    """Leave nothing in a buffer that the interpreter would fail to write when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            lead_nowhere(stream)


def lead_nowhere(stream: TextIO) -> None:
    """Send what a stream still holds, and all that follows, nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
