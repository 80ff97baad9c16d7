"""An execution as Graphviz text: a cluster for each thread, named edges between instructions."""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.errors import printable
from ptxmm.program import Program
from ptxmm.report.columns import INIT, Column, Layout, lay_out, race_ends
from ptxmm.report.svg import COLOURS, SYNC_COLOUR
from ptxmm.verdict import Execution, Happening, Race


def execution_dot(execution: Execution, program: Program | None = None, race: Race | None = None) -> str:
    """A `digraph` of an execution."""
    layout = lay_out(execution, program, race)
    return "\n".join(["digraph execution {", *("  " + line for line in _body(layout, race)), "}", ""])


def events_dot(events: tuple[Happening, ...], program: Program) -> str:
    """A `digraph` of events in program order, where no execution is at hand."""
    return execution_dot(Execution(events, {}), program)


def _body(layout: Layout, race: Race | None) -> Iterator[str]:
    yield 'node [shape=box, fontname="monospace"];'
    yield 'edge [fontname="monospace"];'
    if layout.initial:
        yield f"{INIT} [label={quoted('init', *layout.initial)}, style=rounded];"
    for number, column in enumerate(layout.columns):
        yield from _cluster(number, column)
    for edge in layout.edges:
        colour = COLOURS.get(edge.name, SYNC_COLOUR)
        yield (
            f"{edge.source} -> {edge.target} "
            f'[label={quoted(edge.name)}, color="{colour}", fontcolor="{colour}", constraint=false];'
        )
    if race is not None:
        first, second = race_ends(layout, race)
        style = f'label="race", color="{COLOURS["race"]}", style=dashed, dir=none, constraint=false'
        yield f"{first} -> {second} [{style}];"


def _cluster(number: int, column: Column) -> Iterator[str]:
    yield f"subgraph cluster_{number} {{"
    yield f"  label={quoted(column.title)};"
    for row in column.rows:
        colour = f', color="{COLOURS["race"]}"' if row.races else ""
        lines = [f"{row.label}: {row.text}", *([row.effect] if row.effect else [])]
        yield f"  {row.label} [label={quoted(*lines)}{colour}];"
    if len(column.rows) > 1:
        yield "  " + " -> ".join(row.label for row in column.rows) + ' [color="#8c959f"];'
    yield "}"


def quoted(*lines: str) -> str:
    r"""A DOT string of several lines.

    >>> print(quoted('say "x"', "y"))
    "say \"x\"\ny"
    """
    return '"' + r"\n".join(printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
