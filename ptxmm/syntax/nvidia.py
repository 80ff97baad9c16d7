"""Reads the tests of NVIDIA's mixed-proxy artifact (`.test`): threads in blocks, global registers, instance tables.

Each row of the table after `$$` makes a test of its own, and so does each `assert`, `permit` or `check` of a file. The
stated verdicts are expectations under `ptx-7.5`, the model that the artifact is about. `ld r0, [x] == 1` keeps only the
executions in which 1 is read, and `.shared` is memory that every thread reaches, as in the artifact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from ptxmm.errors import InputError, Span
from ptxmm.program import Expect, Program, Word
from ptxmm.syntax._common import Text, blanked
from ptxmm.syntax._instance import COMMANDS, Instance

MODEL = "ptx-7.5"
LARGEST = 1 << 20
PARAMETER = re.compile(r"\$(\d{1,3})", re.ASCII)


def read(text: str, path: str) -> tuple[Program, ...]:
    r"""The tests of a file: one for each row of its table and each of its commands.

    >>> source = ".global x; d0.b0.t0 { st [x], $0; ld r0, [x]; } assert (r0 == 1) as seen; $$\n1\n2"
    >>> [(test.full_name, str(test.expects[0].words[0])) for test in read(source, "w.test")]
    [('w[1]', 'holds'), ('w[2]', 'holds')]
    """
    body, table, rows = text.partition("$$")
    body = blanked(body, {"//": "\n"})
    if not table:
        return tuple(_programs(Text(path, body), None))
    whole, start, programs, number = Text(path, text), len(text) - len(rows), list[Program](), 0
    for first, last in whole.pieces(start, len(text), "\n"):
        row = text[first:last]
        if not row.strip() or row.startswith("#"):
            continue
        number += 1
        at = whole.span(whole.first(first, last), len(row.strip()))
        instance = _instance(body, [cell.strip() for cell in row.split("|")], at)
        try:
            programs += _programs(Text(path, instance), str(number))
        except InputError as error:
            raise InputError(f"{error.message}, in row {number} of the table", error.at, error.hint) from None
    if not programs:
        raise whole.error("the table has no rows", start - 2, 2, "write a row, or leave `$$` out")
    return tuple(programs)


def _instance(body: str, cells: list[str], at: Span) -> str:
    """The test with the cells of one row in the places of its parameters."""
    used = Counter(int(found) for found in PARAMETER.findall(body))
    if used and max(used) >= len(cells):
        raise InputError(f"this row has {len(cells)} cells, and the test uses `${max(used)}`", at, "separate by `|`")
    if len(body) + sum(count * len(cells[cell]) for cell, count in used.items()) > LARGEST:
        raise InputError(f"this row makes a test of more than {LARGEST} characters", at)
    return PARAMETER.sub(lambda found: cells[int(found.group(1))], body)


def _programs(text: Text, row: str | None) -> Iterator[Program]:
    """One test, once for each command; the names of several commands tell its variants apart."""
    reader = Instance(text)
    reader.everything()
    threads = tuple(thread.finished() for thread in reader.threads.values())
    if not threads:
        raise text.error("there are no threads", len(text.text), hint="write `d0.b0.t0 { … }`")
    program = Program(
        PurePath(text.path).stem, tuple(reader.memory.objects.values()), threads,
        views=tuple(reader.memory.views.values()), variant=row, path=text.path,
    )  # fmt: skip
    names = Counter[str]()
    for word, tokens in reader.commands:
        name, condition = reader.command(word, tokens)
        names[name] += 1
        unique = name if names[name] == 1 else f"{name}-{names[name]}"
        several = ".".join(part for part in (row, unique) if part)
        expect = Expect((Word(COMMANDS[word][1]),), (MODEL,), condition[1])
        yield replace(
            program, condition=condition[0], expects=(expect,), variant=several if len(reader.commands) > 1 else row
        )
    if not reader.commands:
        yield program
