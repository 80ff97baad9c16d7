"""An execution as a picture: thread columns with a box for each instruction, and curved, coloured, named edges."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from ptxmm.errors import printable
from ptxmm.program import Program
from ptxmm.report.columns import INIT, Edge, Layout, Row, lay_out, race_sentences
from ptxmm.verdict import Execution, Race

COLOURS = {"rf": "#1a7f37", "co": "#bc4c00", "fr": "#cf222e", "race": "#cf222e"}
SYNC_COLOUR = "#0969da"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHAR, LINE = 7.9, 17.0
PAD, GUTTER, GAP, EDGE_ROOM = 10.0, 110.0, 30.0, 80.0
HEADER, MARGIN = LINE + 8, 24.0
WRAP = 36

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with lines of text."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    racing: bool = False

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    def overlaps(self, other: Box) -> bool:
        """Whether two rectangles share an area."""
        across = self.x < other.x + other.width and other.x < self.x + self.width
        return across and self.y < other.y + other.height and other.y < self.y + self.height


@dataclass(frozen=True, slots=True)
class Curve:
    """The cubic Bézier curves, end to end, that draw an edge: a start, and two controls and an end for each."""

    edge: Edge
    points: tuple[Point, ...]

    def along(self) -> list[Point]:
        """Points on the curve, those nearest to the middle first."""
        steps = 12
        found = []
        for first in range(0, len(self.points) - 1, 3):
            found += [_bezier(self.points[first : first + 4], n / steps) for n in range(1, steps)]
        return [found[n] for n in sorted(range(len(found)), key=lambda n: abs(n - len(found) // 2))]


def _bezier(controls: tuple[Point, ...], t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (sum(w * p[i] for w, p in zip(weights, controls, strict=True)) for i in (0, 1))
    return x, y


@dataclass(frozen=True, slots=True)
class Drawing:
    """Where everything of a layout stands: headers, boxes by label, their column numbers, and the size."""

    headers: tuple[Box, ...]
    boxes: dict[str, Box]
    column: dict[str, int]
    row: dict[str, int]
    gaps: tuple[float, ...]
    width: float
    height: float


def execution_svg(
    execution: Execution, program: Program | None = None, race: Race | None = None, *, title: str = ""
) -> str:
    """An SVG document of an execution."""
    layout = lay_out(execution, program, race)
    edges = [*layout.edges, *_race_edge(layout, race)]
    drawing = _placed(layout)
    curves = _curves(edges, drawing)
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
        label = {id: row.label for column in layout.columns for row in column.rows for id in row.events}
        yield Edge("race", label[race.first], label[race.second])


# --- places ----------------------------------------------------------------------------------------------------------


def _lines(row: Row) -> tuple[str, ...]:
    text = textwrap.wrap(f"{row.label}: {row.text}", WRAP, subsequent_indent="   ", break_on_hyphens=False)
    return (*text, *textwrap.wrap(row.effect, WRAP))


def _placed(layout: Layout) -> Drawing:
    """Positions: the initial writes on top, a column for each thread below, rows aligned so that edges pass between."""
    init = tuple(textwrap.wrap("init: " + ", ".join(layout.initial), 60)) if layout.initial else ()
    top = (len(init) * LINE + PAD + EDGE_ROOM) if init else 0.0
    texts = {row.label: _lines(row) for column in layout.columns for row in column.rows}
    row_of = {row.label: n for column in layout.columns for n, row in enumerate(column.rows)}
    tops, gaps = _rows(texts, row_of, top + HEADER)
    x = GUTTER
    boxes: dict[str, Box] = {}
    headers, number = [], {INIT: -1}
    for n, column in enumerate(layout.columns):
        width = CHAR * max([len(column.title), *(len(t) for row in column.rows for t in texts[row.label])]) + 2 * PAD
        headers.append(Box(x, top, width, HEADER, (column.title,)))
        for row in column.rows:
            lines = texts[row.label]
            boxes[row.label] = Box(x, tops[row_of[row.label]], width, len(lines) * LINE + PAD, lines, row.races)
            number[row.label] = n
        x += width + GUTTER
    if init:
        width = CHAR * max(map(len, init)) + 2 * PAD
        boxes[INIT] = Box(max(0.0, (x - width) / 2), 0, width, len(init) * LINE + PAD, init)
        x = max(x, width)
    return Drawing(tuple(headers), boxes, number, row_of, gaps, x, gaps[-1] + GAP / 2)


def _rows(
    texts: dict[str, tuple[str, ...]], row_of: dict[str, int], top: float
) -> tuple[list[float], tuple[float, ...]]:
    """The top of each row, and the middle of the gap above each and below the last."""
    tops, gaps, y = [], [top + 6], top + GAP / 2
    for n in range(max(row_of.values(), default=-1) + 1):
        tops.append(y)
        y += max(len(texts[label]) for label, row in row_of.items() if row == n) * LINE + PAD + GAP
        gaps.append(y - GAP / 2)
    return tops, tuple(gaps)


def _curves(edges: list[Edge], drawing: Drawing) -> list[Curve]:
    """A curve for each edge whose ends are drawn; the ends at one side of a box are spread over that side."""
    drawn = [e for e in edges if e.source in drawing.boxes and e.target in drawing.boxes]
    ends: defaultdict[tuple[str, str], list[tuple[float, int, bool]]] = defaultdict(list)
    for n, edge in enumerate(drawn):
        leaving, entering = _sides(edge, drawing)
        ends[edge.source, leaving].append((_height(edge.target, drawing), n, True))
        ends[edge.target, entering].append((_height(edge.source, drawing), n, False))
    at: dict[tuple[int, bool], Point] = {}
    for (label, side), found in ends.items():
        for position, (_, n, leaves) in enumerate(sorted(found), 1):
            at[n, leaves] = _end(drawing.boxes[label], side, position / (len(found) + 1))
    return [Curve(e, _bend(e, at[n, True], at[n, False], drawing)) for n, e in enumerate(drawn)]


def _height(label: str, drawing: Drawing) -> float:
    box = drawing.boxes[label]
    return box.y + box.x / 10_000


def _sides(edge: Edge, drawing: Drawing) -> tuple[str, str]:
    source, target = drawing.column[edge.source], drawing.column[edge.target]
    if edge.source == INIT:
        return "bottom", "left"
    if source == target:
        return "right", "right"
    return ("right", "left") if source < target else ("left", "right")


def _end(box: Box, side: str, share: float) -> Point:
    match side:
        case "left":
            return box.x, box.y + box.height * share
        case "right":
            return box.x + box.width, box.y + box.height * share
    return box.x + box.width * share, box.y + box.height


def _bend(edge: Edge, start: Point, end: Point, drawing: Drawing) -> tuple[Point, ...]:
    """The curve of an edge: through the gutters and, past other columns, through a gap between rows."""
    (x0, y0), (x1, y1) = start, end
    source, target = drawing.column[edge.source], drawing.column[edge.target]
    if edge.source == INIT:
        down, top = x1 - GUTTER * 0.3 - x0 % 23, drawing.gaps[0] - HEADER - 6
        over = ((x0, y0 + EDGE_ROOM * 0.7), (down, top - EDGE_ROOM * 0.6), (down, top))
        return (start, *over, (down, y1), (down, y1), end)
    if source == target:
        out = min(GUTTER * 0.9, 30 + abs(y0 - y1) * 0.3)
        return start, (x0 + out, y0), (x1 + out, y1), end
    if abs(source - target) == 1:
        return (start, *_level(start, end))
    passed = [drawing.headers[n] for n in range(min(source, target) + 1, max(source, target))]
    low, high = min(b.x for b in passed) - 14, max(b.x + b.width for b in passed) + 14
    gap = drawing.gaps[max(drawing.row[edge.source], drawing.row[edge.target])] - 8 + (y0 + y1) % 17
    first, second = ((low, gap), (high, gap)) if x0 < x1 else ((high, gap), (low, gap))
    return (start, *_level(start, first), *_level(first, second), *_level(second, end))


def _level(start: Point, end: Point) -> tuple[Point, Point, Point]:
    """The rest of a curve that leaves and arrives horizontally."""
    middle = (start[0] + end[0]) / 2
    return (middle, start[1]), (middle, end[1]), end


# --- shapes ----------------------------------------------------------------------------------------------------------


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
