"""An execution as a picture: thread columns with a box for each instruction, and curved, coloured, named edges."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from xml.sax.saxutils import escape

from ptxmm.errors import printable
from ptxmm.program import Program
from ptxmm.report.columns import INIT, Edge, Layout, lay_out, race_ends, race_sentences
from ptxmm.report.svg_places import CHAR, LINE, PAD, Box, Curve, Drawing, Point, curves_of, placed
from ptxmm.verdict import Execution, Race

COLOURS = {"rf": "#1a7f37", "co": "#bc4c00", "fr": "#cf222e", "race": "#cf222e"}
SYNC_COLOUR = "#0969da"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
MARGIN = 24.0


def execution_svg(
    execution: Execution, program: Program | None = None, race: Race | None = None, *, title: str = ""
) -> str:
    """An SVG document of an execution."""
    layout = lay_out(execution, program, race)
    edges = [*layout.edges, *_race_edge(layout, race)]
    drawing = placed(layout)
    curves = curves_of(edges, drawing)
    below = [f"mbarrier {mbarrier}" for mbarrier in layout.mbarriers]
    below += ["final: " + ", ".join(layout.final)] if layout.final else []
    below += race_sentences(layout, race) if race is not None else []
    final = [line for text in below for line in textwrap.wrap(text, max(40, int(drawing.width / CHAR)))]
    width = drawing.width + 2 * MARGIN
    height = drawing.height + LINE * (len(final) + 1) + 2 * MARGIN
    body = [
        *(_path(curve) for curve in curves),
        *_program_order(layout, drawing),
        *(_rectangle(box, label) for label, box in drawing.boxes.items()),
        *(_header(box) for box in drawing.headers),
        *_names(curves, drawing),
        *(_text(0, drawing.height + LINE * (n + 1), line) for n, line in enumerate(final)),
    ]
    return "\n".join([*_opening(width, height, title, edges), *body, "</g>", "</svg>", ""])


def _race_edge(layout: Layout, race: Race | None) -> Iterator[Edge]:
    if race is not None:
        yield Edge("race", *race_ends(layout, race))


def _colour(name: str) -> str:
    return COLOURS.get(name, SYNC_COLOUR)


def _opening(width: float, height: float, title: str, edges: list[Edge]) -> list[str]:
    colours = sorted({_colour(edge.name) for edge in edges} | {"#8c959f"})
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" font-size="13">',
        f"<title>{_escaped(title)}</title>",
        "<defs>",
        *(_arrowhead(colour) for colour in colours),
        "</defs>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        f'<g transform="translate({MARGIN:.0f} {MARGIN:.0f})">',
    ]


def _arrowhead(colour: str) -> str:
    return (
        f'<marker id="to-{colour[1:]}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    )


def _path(curve: Curve) -> str:
    colour, dashes = _colour(curve.edge.name), ' stroke-dasharray="6 4"' if curve.edge.name == "race" else ""
    arrow = "" if curve.edge.name == "race" else f' marker-end="url(#to-{colour[1:]})"'
    (x0, y0), *rest = curve.points
    bends = ", ".join(f"{x:.1f} {y:.1f}" for x, y in rest)
    return f'<path d="M{x0:.1f} {y0:.1f} C{bends}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}{arrow}/>'


def _program_order(layout: Layout, drawing: Drawing) -> Iterator[str]:
    for column in layout.columns:
        for above, below in zip(column.rows, column.rows[1:], strict=False):
            top, bottom = drawing.boxes[above.label], drawing.boxes[below.label]
            ends = f'x1="{top.middle:.1f}" y1="{top.y + top.height:.1f}" x2="{top.middle:.1f}" y2="{bottom.y:.1f}"'
            yield f'<line {ends} stroke="#8c959f" marker-end="url(#to-8c959f)"/>'


def _rectangle(box: Box, label: str) -> str:
    fill = "#f6f8fa" if label == INIT else "#ffffff"
    stroke = 'stroke="#cf222e" stroke-width="2"' if box.racing else 'stroke="#57606a"'
    area = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="4"'
    texts = (_text(box.x + PAD, box.y + LINE * (n + 1), line) for n, line in enumerate(box.lines))
    return f'<rect {area} fill="{fill}" {stroke}/>' + "".join(texts)


def _header(box: Box) -> str:
    return _text(box.middle, box.y + LINE, box.lines[0], ' text-anchor="middle" font-weight="bold"')


def _escaped(text: str) -> str:
    return escape(printable(text))


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" xml:space="preserve"{more}>{_escaped(text)}</text>'


def _names(curves: list[Curve], drawing: Drawing) -> Iterator[str]:
    """The edges' names, each where it covers no box and no other name if its curve has such a point."""
    taken = [*drawing.boxes.values(), *drawing.headers]
    for curve in curves:
        places = [_name_box(curve.edge.name, point) for point in curve.along()]
        best = min(places, key=lambda place: sum(place.overlaps(other) for other in taken))
        taken.append(best)
        area = f'x="{best.x:.1f}" y="{best.y:.1f}" width="{best.width:.1f}" height="{best.height:.1f}" rx="3"'
        yield f'<rect {area} fill="white" fill-opacity="0.9"/>'
        style = f' text-anchor="middle" font-size="12" fill="{_colour(curve.edge.name)}"'
        yield _text(best.middle, best.y + 12, curve.edge.name, style)


def _name_box(name: str, at: Point) -> Box:
    width = len(name) * 7.4 + 4
    return Box(at[0] - width / 2, at[1] - 8, width, 16, ())
