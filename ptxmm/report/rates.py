"""How often tests and their controls showed what they ask for, as a picture: one row a test, a logarithmic axis.

A disc is a rate, a ring that of the control; a line that ends in a bar is a zero, and the bar its upper bound. Dashes
stand for a test of which nothing ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from ptxmm.compare import Comparison, Standing
from ptxmm.errors import printable
from ptxmm.gpu.statistics import Rate

COLOURS = {
    Standing.FORBIDDEN_SEEN: "#cf222e",
    Standing.BROKEN: "#cf222e",
    Standing.SHOULD_END: "#bc4c00",
    Standing.SHOULD_RUN: "#bc4c00",
    Standing.UNKNOWN: "#8250df",
    Standing.UNDEFINED: "#8250df",
    Standing.AGREE: "#1a7f37",
    Standing.SEEN: "#0969da",
    Standing.HUNG: "#1a7f37",
    Standing.NOT_SEEN: "#0969da",
    Standing.NOT_EXERCISED: "#bf8700",
    Standing.UNSUPPORTED: "#8c959f",
}
NOTHING_ENDED = (Standing.SHOULD_END, Standing.SHOULD_RUN, Standing.HUNG)
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHAR, ROW, MARGIN, TOP = 7.3, 18.0, 16.0, 64.0
DECADE, TICK = 56.0, 5.0
LEAST, MOST = -12, 0


def rates_svg(results: Sequence[Comparison], *, title: str = "") -> str:
    """An SVG document of all comparisons that have a rate or hung, in their order."""
    rows = [result for result in results if _rates(result) or result.standing in NOTHING_ENDED]
    first = min([_decade(rate.rate or rate.high) for row in rows for rate in _rates(row)], default=-6)
    left = MARGIN + CHAR * max([len(row.name) for row in rows], default=8) + 12
    right = left + DECADE * (MOST - first)
    width, height = right + 170, TOP + ROW * len(rows) + MARGIN + 22
    axis = Axis(first, left)
    body = [
        *_grid(axis, TOP + ROW * len(rows)),
        *_legend({row.standing for row in rows}, hung=not all(map(_rates, rows))),
        *(part for n, row in enumerate(rows) for part in _row(row, axis, TOP + ROW * (n + 0.5), right)),
    ]
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    opening = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" font-size="12">',
        f"<title>{escape(printable(title))}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    return "\n".join([*opening, *body, "</svg>", ""])


class Axis:
    """Rates on a logarithmic axis that begins at a power of ten."""

    def __init__(self, first: int, left: float) -> None:
        self.first, self.left = first, left

    def x(self, rate: float) -> float:
        """Where a rate stands; what is smaller than the axis stands at its beginning."""
        return self.left + DECADE * max(0.0, math.log10(max(rate, 1e-30)) - self.first)


def _rates(row: Comparison) -> list[Rate]:
    """The rate of a test and that of its control; none of a test of which no instance ended."""
    found = [rate for rate in (row.rate, row.control) if rate is not None and rate.instances]
    return found if row.rate in found else []


def _decade(rate: float) -> int:
    return max(LEAST, min(-1, math.floor(math.log10(max(rate, 1e-30)))))


def _grid(axis: Axis, bottom: float) -> Iterator[str]:
    for power in range(axis.first, MOST + 1):
        x, each = axis.x(10.0**power), power + 6
        label = f"{10**each:,}" if 0 <= each <= 3 else f"1e{each}"
        yield f'<line x1="{x:.1f}" y1="{TOP - 6:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="#d8dee4"/>'
        yield _text(x, bottom + 16, label, ' text-anchor="middle" fill="#57606a"')
    yield _text(axis.x(1.0) + 24, bottom + 16, "per million", ' fill="#57606a"')


def _legend(standings: set[Standing], *, hung: bool) -> Iterator[str]:
    x = MARGIN
    yield from (_disc(x + 4, 16, "#57606a"), _text(x + 14, 20, "test"))
    yield from (_ring(x + 64, 16), _text(x + 74, 20, "control"))
    yield _bound(x + 150, x + 174, 16, "#57606a")
    yield _text(x + 182, 20, "none seen, up to the bound at 95 %")
    if hung:
        yield _dashes(x + 450, x + 474, 16, "#57606a")
        yield _text(x + 482, 20, "nothing ended")
    for standing in Standing:
        if standing in standings:
            yield f'<rect x="{x:.1f}" y="32" width="9" height="9" fill="{COLOURS[standing]}"/>'
            yield _text(x + 14, 41, standing)
            x += 14 + CHAR * len(standing) + 18


def _row(row: Comparison, axis: Axis, y: float, right: float) -> Iterator[str]:
    colour = COLOURS[row.standing]
    yield _text(axis.left - 10, y + 4, row.name, f' text-anchor="end" fill="{colour}"')
    yield from _rate(row, axis, y, colour) if _rates(row) else [_dashes(axis.left, right, y, colour)]
    yield _text(right + 12, y + 4, row.standing, f' fill="{colour}"')


def _rate(row: Comparison, axis: Axis, y: float, colour: str) -> Iterator[str]:
    if row.control is not None and row.control.seen:
        yield _ring(axis.x(row.control.rate), y)
    assert row.rate is not None
    if row.rate.seen:
        low, high = axis.x(row.rate.low), axis.x(row.rate.high)
        yield f'<line x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="1.5"/>'
        yield _disc(axis.x(row.rate.rate), y, colour)
    else:
        yield _bound(axis.left, axis.x(row.rate.high), y, colour)


def _dashes(start: float, end: float, y: float, colour: str) -> str:
    shape = f'd="M{start:.1f} {y:.1f}H{end:.1f}"'
    return f'<path {shape} stroke="{colour}" fill="none" stroke-width="1.5" stroke-dasharray="2 6"/>'


def _bound(start: float, end: float, y: float, colour: str) -> str:
    shape = f"M{end:.1f} {y - TICK:.1f}V{y + TICK:.1f}M{end:.1f} {y:.1f}H{start:.1f}"
    return f'<path d="{shape}" stroke="{colour}" fill="none" stroke-width="1.5"/>'


def _disc(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def _ring(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="white" stroke="#57606a" stroke-width="1.5"/>'


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" xml:space="preserve"{more}>{escape(printable(text))}</text>'
