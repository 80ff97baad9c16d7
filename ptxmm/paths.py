"""What the paths of a command line mean: the test files that files, folders and globs name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape, glob
from pathlib import Path

from ptxmm.files import reason
from ptxmm.syntax import FORMATS


def find(paths: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """The test files that files, folders and globs name, each once, and a sentence for each path that names none."""
    found: dict[str, Path] = {}
    complaints = []
    for text in paths:
        try:
            files, complaint = _files(text)
        except (OSError, ValueError) as failed:
            files, complaint = [], f"{text!r}: {reason(failed)}"
        for file in files:
            found.setdefault(os.path.realpath(file), file)
        if complaint:
            complaints.append(complaint)
    return list(found.values()), complaints


def expand(text: str) -> tuple[list[Path], str]:
    """The files and folders that a path or glob names, or a sentence where it names none."""
    if text and Path(text).exists():
        return [Path(text)], ""
    if any(c in text for c in "*?["):
        hits = sorted(set(map(Path, _globbed(text))))
        return hits, "" if hits else f"{text}: no file matches"
    return [], f"{text or repr(text)}: there is no such file or folder"


def _globbed(pattern: str) -> Iterator[str]:
    """The files and folders that a glob means; `**` follows no link to a folder, which could lead round in a circle."""
    parts = pattern.split("/")
    if "**" not in parts:
        yield from glob(pattern)
        return
    at = parts.index("**")
    head, tail = "/".join([*parts[:at], ""]), "/".join(parts[at + 1 :])
    for top in glob(head) if head else ["."]:
        for folder, _ in _walk(Path(top)):
            below = "" if folder == "." else folder.removeprefix("./")
            yield from _globbed(os.path.join(escape(below), tail)) if tail else [below or "."]


def _files(text: str) -> tuple[list[Path], str]:
    hits, complaint = expand(text)
    files = [f for hit in hits for f in (sorted(_inside(hit)) if hit.is_dir() else [hit])]
    if files or complaint:
        return files, complaint
    if hits == [Path(text)]:
        return [], f"{text}: the folder holds no test ({', '.join(FORMATS)})"
    return [], f"{text}: no file matches"


def _inside(folder: Path) -> Iterator[Path]:
    for root, names in _walk(folder):
        yield from (Path(root, name) for name in names if Path(name).suffix in FORMATS and not name.startswith("."))


def _walk(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folders below one and what they hold; neither hidden ones nor links to folders."""
    for root, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".")]
        yield root, names
