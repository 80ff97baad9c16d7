"""The readers of test files, by the ending of the file: `.lit`, and two other tools' dialects."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

from ptxmm.errors import InputError, Span
from ptxmm.files import read_text
from ptxmm.program import Program

FORMATS = {".lit": "lit", ".litmus": "dartagnan", ".test": "nvidia"}
NO_TESTS = dict.fromkeys((".jsonl", ".gz"), "a log of `ptxmm run` is read by `ptxmm compare`")
NO_TESTS[".cat"] = "a model is named by `-m`"
"""The hint for files of ptxmm that hold no tests, by their ending."""


def read_programs(path: Path, format: str | None = None) -> tuple[Program, ...]:
    """The tests of a file: one for each variant or instance. `format` is `lit`, `dartagnan` or `nvidia`."""
    name = str(path)
    form = format or FORMATS.get(path.suffix)
    if form not in FORMATS.values():
        raise InputError(
            f"no reader for the ending `{path.suffix}`",
            Span(name, 0, 0),
            NO_TESTS.get(path.suffix, f"name the format: `--from {'|'.join(FORMATS.values())}`"),
        )
    read = cast(Callable[[str, str], tuple[Program, ...]], import_module(f"ptxmm.syntax.{form}").read)
    return read(read_text(path), name)
