"""Executions as text: the threads side by side, each instruction with what it read or wrote, and the edges."""

from __future__ import annotations

import textwrap
from itertools import zip_longest

from ptxmm.program import Program
from ptxmm.report.columns import Column, Layout, Row, lay_out, race_sentences
from ptxmm.report.text import answers
from ptxmm.verdict import Execution, Race, Result

GAP = "  |  "
MARGIN = "    "
RACE = "       "


def evidence(result: Result, width: int = 100) -> str:
    """What stands behind a result: the execution of an `allowed`, the axioms of a `forbidden`, each race, each hang."""
    parts = []
    if result.witness is not None:
        parts.append(execution_text(result.witness, result.program, width=width))
    elif result.verdict in ("forbidden", "holds"):
        axioms = f"by {', '.join(result.by)}" if result.by else "whatever the axioms: no execution has these values"
        parts.append(f"{MARGIN}{result.verdict} {axioms}")
    parts += [execution_text(race.witness, result.program, race, width=width) for race in result.race.races]
    for noun, answer in answers(result).items():
        if answer.witness is not None:
            shown = execution_text(answer.witness, result.program, width=width)
            parts.append("\n".join([shown, *_sentences(noun, answer.why, width)]))
    return "\n\n".join(parts)


def _sentences(noun: str, why: str, width: int) -> list[str]:
    """Why an execution never ends, a line for each thread that does not."""
    first = MARGIN + f"{noun}:".ljust(6) + " "
    rest = " " * len(first)
    lines: list[str] = []
    for part in why.split("; "):
        lines += textwrap.wrap(part, width, initial_indent=rest if lines else first, subsequent_indent=rest + "  ")
    return lines


def execution_text(
    execution: Execution, program: Program | None = None, race: Race | None = None, *, width: int = 100
) -> str:
    """An execution as a table of threads with the edges below; a race pair is marked with `*`."""
    layout = lay_out(execution, program, race)
    room = max(40, width - len(MARGIN))
    lines = _listed("init", layout.initial, room)
    for group in _fitting(layout.columns, room):
        lines += [*_table(group, room), ""]
    for name in dict.fromkeys(edge.name for edge in layout.edges):
        lines += _listed(name, _arrows(layout, name), room)
    for mbarrier in layout.mbarriers:
        lines += textwrap.wrap(f"mbarrier {mbarrier}", room, subsequent_indent=RACE, break_on_hyphens=False)
    lines += _listed("final", layout.final, room)
    if race is not None:
        lines += _race_sentence(layout, race, room)
    return "\n".join((MARGIN + line).rstrip() for line in lines)


def _arrows(layout: Layout, name: str) -> tuple[str, ...]:
    edges = [edge for edge in layout.edges if edge.name == name]
    return tuple(f"{e.source} -> {e.target}" + (f" ({e.note})" if e.note else "") for e in edges)


def _listed(title: str, items: tuple[str, ...], room: int) -> list[str]:
    """`title` and its items, continued below each other where the line is full."""
    if not items:
        return []
    indent = " " * max(7, len(title) + 1)
    unbroken = [item.replace(" ", "\0") for item in items]
    lines = textwrap.wrap(", ".join(unbroken), room - len(indent), break_long_words=False, break_on_hyphens=False)
    return [(indent if n else title.ljust(len(indent))) + line.replace("\0", " ") for n, line in enumerate(lines)]


def _race_sentence(layout: Layout, race: Race, room: int) -> list[str]:
    pair, *missing = race_sentences(layout, race)
    lines = textwrap.wrap(pair, room, subsequent_indent=RACE)
    for sentence in missing:
        lines += textwrap.wrap(sentence, room, initial_indent=RACE, subsequent_indent=RACE + "  ")
    return lines


# --- the table -------------------------------------------------------------------------------------------------------


def _fitting(columns: tuple[Column, ...], room: int) -> list[list[Column]]:
    """The columns in groups that fit beside each other."""
    groups: list[list[Column]] = []
    used = 0
    for column in columns:
        wide = min(room, _width(column))
        if groups and used + len(GAP) + wide <= room:
            groups[-1].append(column)
            used += len(GAP) + wide
        else:
            groups.append([column])
            used = wide
    return groups


def _label_width(column: Column) -> int:
    return max((len(row.label) for row in column.rows), default=1) + 2


def _width(column: Column) -> int:
    texts = max((len(row.text) for row in column.rows), default=0)
    effects = max((len(row.effect) for row in column.rows), default=0)
    return max(len(column.title), _label_width(column) + texts + (2 + effects if effects else 0))


def _table(columns: list[Column], room: int) -> list[str]:
    blocks = [_block(column, min(room, _width(column))) for column in columns]
    widths = [max(map(len, block)) for block in blocks]
    rows = zip_longest(*blocks, fillvalue="")
    return [GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _block(column: Column, width: int) -> list[str]:
    lines = textwrap.wrap(column.title, width)
    effects = max((len(row.effect) for row in column.rows), default=0)
    for row in column.rows:
        lines += _cell(row, _label_width(column), width, effects)
    return lines


def _cell(row: Row, label: int, width: int, effects: int) -> list[str]:
    """The lines of one instruction: label, text, effect at the right, or below where it does not fit."""
    head = row.label.ljust(label - 2) + ("* " if row.races else "  ")
    room = width - label
    beside = room - effects - 2 if effects else room
    if len(row.text) <= beside:
        return [head + row.text.ljust(beside) + ("  " + row.effect.rjust(effects) if effects else "")]
    texts = textwrap.wrap(row.text, max(8, room), break_on_hyphens=False)
    below = textwrap.wrap(row.effect, max(8, room - 2)) if row.effect else []
    return [head + texts[0], *(" " * label + t for t in texts[1:]), *(" " * (label + 2) + t for t in below)]
