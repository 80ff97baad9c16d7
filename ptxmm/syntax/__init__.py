"""The readers of test files, by the ending of the file: `.lit`, and two other tools' dialects."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

from ptxmm.errors import InputError, Span
from ptxmm.program import Program

FORMATS = {".lit": "lit", ".litmus": "dartagnan", ".test": "nvidia"}
LARGEST = 16 << 20


def read_programs(path: Path, format: str | None = None) -> tuple[Program, ...]:
    """The tests of a file: one for each variant or instance. `format` is `lit`, `dartagnan` or `nvidia`."""
    name = str(path)
    form = format or FORMATS.get(path.suffix)
    if form not in FORMATS.values():
        raise InputError(
            f"no reader for the ending `{path.suffix}`",
            Span(name, 1, 1),
            f"name the format: {', '.join(FORMATS.values())}",
        )
    read = cast(Callable[[str, str], tuple[Program, ...]], import_module(f"ptxmm.syntax.{form}").read)
    return read(read_text(path), name)


def read_text(path: Path) -> str:
    """The text of a file, which must be UTF-8."""
    name = str(path)
    try:
        if path.is_dir():
            raise InputError("this is a folder, not a test", Span(name, 1, 1))
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as failed:
        raise InputError(f"cannot read the file: {failed.strerror or failed}", Span(name, 1, 1)) from None
    if len(data) > LARGEST:
        raise InputError(f"the file is too large: more than {LARGEST >> 20} MiB", Span(name, 1, 1))
    if b"\0" in data:
        raise InputError("this is a binary file, not a test", Span(name, 1, 1))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        column = wrong.start - (data.rfind(b"\n", 0, wrong.start) + 1) + 1
        message = f"this is not UTF-8: the byte 0x{data[wrong.start]:02x}"
        raise InputError(message, Span(name, line, column), "save the file as UTF-8") from None
