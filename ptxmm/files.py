"""Texts from files: what is read at all, how much of it, in which encoding; and what is said where writing fails."""

from __future__ import annotations

import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ptxmm.errors import InputError, PtxmmError, Span

LARGEST = 16 << 20
GZIP = b"\x1f\x8b"
SPECIAL = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a block device"}


def read_text(
    path: Path, what: str = "test", *, otherwise: str | None = None, largest: int = LARGEST, compressed: bool = False
) -> str:
    r"""The text of a file that holds a `what`, with `\n` at the ends of lines: UTF-8, or the encoding `otherwise`.

    Regular files and character devices are read, and the pipes below `/dev` (`/dev/stdin`, `/dev/fd/63`), which are the
    process's own; any other special file could keep the reader waiting for ever. `largest` bytes of text are allowed,
    also of what is `compressed` by gzip.
    """
    start = Span(str(path), 0, 0)
    try:
        _ensure_readable(path, what, start)
        data = _bytes(path, what, largest, compressed=compressed)
    except (OSError, ValueError) as failed:
        raise InputError(f"cannot read the file: {_said(failed)}", start) from None
    if len(data) > largest:
        raise InputError(f"the file is too large: more than {largest >> 20} MiB", start)
    if compressed and data.startswith(GZIP):
        raise InputError(f"this {what} is compressed by gzip twice", start, "unpack it once, as by `gunzip`")
    return _decoded(data, what, start, otherwise).replace("\r\n", "\n").replace("\r", "\n")


def _bytes(path: Path, what: str, largest: int, *, compressed: bool) -> bytes:
    """The first bytes of a file, one more than are allowed."""
    if not compressed:
        with path.open("rb") as file:
            return file.read(largest + 1)
    import gzip
    from zlib import error

    try:
        with gzip.open(path) as unpacked:
            return unpacked.read(largest + 1)
    except (gzip.BadGzipFile, EOFError, error):
        raise ValueError(f"it is not a whole {what} compressed by gzip") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what could not be written where writing below it fails."""
    try:
        yield
    except FileExistsError as failed:
        raise PtxmmError(f"{path}: cannot be written: {failed.filename} is a file, not a folder") from failed
    except OSError as failed:
        raise PtxmmError(f"{path}: cannot be written: {reason(failed)}") from failed


def reason(failed: Exception) -> str:
    """Why a file could not be used, in words that may stand in a sentence."""
    return (_said(failed) or type(failed).__name__).lower()


def _said(failed: Exception) -> str:
    return getattr(failed, "strerror", None) or str(failed)


def _ensure_readable(path: Path, what: str, start: Span) -> None:
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind == stat.S_IFDIR:
        raise InputError(f"this is a folder, not a {what}", start, "name a file in it")
    if kind in SPECIAL and not (kind == stat.S_IFIFO and path.absolute().is_relative_to("/dev")):
        raise InputError(f"this is {SPECIAL[kind]}, not a file with a {what}", start)


def _decoded(data: bytes, what: str, start: Span, otherwise: str | None) -> str:
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InputError("this is UTF-16, not UTF-8", start, "save the file as UTF-8")
    if data.startswith(GZIP):
        hint = "a compressed log must end in `.gz`" if what == "log" else "unpack it first, as by `gunzip`"
        raise InputError(f"this is compressed by gzip, not a {what}", start, hint)
    if b"\0" in data:
        raise InputError(f"this is a binary file, not a {what}", start)
    data = data.removeprefix(BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        if otherwise is not None:
            return data.decode(otherwise)
        line = data.count(b"\n", 0, wrong.start) + 1
        column = wrong.start - (data.rfind(b"\n", 0, wrong.start) + 1) + 1
        message = f"this is not UTF-8 (Latin-1, perhaps): the byte 0x{data[wrong.start]:02x}"
        raise InputError(message, Span(start.path, line, column), "save the file as UTF-8") from None
