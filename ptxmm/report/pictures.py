"""The executions behind results as files: SVG and DOT, one of each for a witness, each race and each hang."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ptxmm.files import writing
from ptxmm.report.dot import execution_dot
from ptxmm.report.svg import execution_svg
from ptxmm.report.text import answers, verdict_words
from ptxmm.verdict import Execution, Race, Result


@dataclass(slots=True)
class FreshNames:
    """Names of files in a folder, each of which is given once.

    >>> names = FreshNames()
    >>> names.of("MP[relaxed]"), names.of("MP[relaxed]")
    ('MP-relaxed', 'MP-relaxed.2')
    """

    given: set[str] = field(default_factory=set)

    def of(self, text: str) -> str:
        """A name that every file system takes and no file of this run has, after `text`."""
        stem = name = file_name(text)
        number = 1
        while name in self.given:
            number += 1
            name = f"{stem}.{number}"
        self.given.add(name)
        return name


@dataclass(slots=True)
class Pictures:
    """A folder of pictures, made when the first is written; no picture replaces another of the same run."""

    folder: Path
    names: FreshNames = field(default_factory=FreshNames)

    def add(self, result: Result) -> None:
        """Write the pictures of a result."""
        title = f"{result.name} under {result.model}: {verdict_words(result)}"
        for stem, execution, race in _executions(result):
            name = self.names.of(stem)
            self._write(name + ".svg", execution_svg(execution, result.program, race, title=title))
            self._write(name + ".dot", execution_dot(execution, result.program, race))

    def _write(self, name: str, text: str) -> None:
        with writing(self.folder / name):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")


def _executions(result: Result) -> Iterator[tuple[str, Execution, Race | None]]:
    stem = file_name(f"{result.name}.{result.model}")
    if result.witness is not None:
        yield stem, result.witness, None
    for race in result.race.races:
        yield file_name(f"{stem}.race-{race.on}"), race.witness, race
    for noun, answer in answers(result).items():
        if answer.witness is not None:
            yield file_name(f"{stem}.{noun}"), answer.witness, None


def file_name(text: str) -> str:
    """A name that every file system takes.

    >>> file_name("wait-chain[no close].ptx-9.4")
    'wait-chain-no-close.ptx-9.4'
    """
    return re.sub(r"[^\w.+-]+", "-", text).replace("-.", ".").strip("-.")[:120] or "test"
