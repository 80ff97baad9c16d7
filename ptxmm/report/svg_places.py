"""Where the boxes of an execution's picture stand, and the curves between them."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from dataclasses import dataclass

from ptxmm.report.columns import INIT, Edge, Layout, Row

CHAR, LINE = 7.9, 17.0
PAD, GUTTER, GAP, EDGE_ROOM = 10.0, 110.0, 30.0, 80.0
HEADER = LINE + 8
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


def _lines(row: Row) -> tuple[str, ...]:
    text = textwrap.wrap(f"{row.label}: {row.text}", WRAP, subsequent_indent="   ", break_on_hyphens=False)
    return (*text, *textwrap.wrap(row.effect, WRAP))


def placed(layout: Layout) -> Drawing:
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


def curves_of(edges: list[Edge], drawing: Drawing) -> list[Curve]:
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
