"""A measurement as a picture: arms below each other, settings side by side, and a bar for each time or share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from ptxmm.gpu.measure.results import Measurement, Role, Row, Series, Standing
from ptxmm.report.measure import number, ratio_text

COLOURS = {Role.SUBJECT: "#0969da", Role.POSITIVE: "#bc4c00", Role.NEGATIVE: "#57606a"}
WRONG, FAINT, INK = "#cf222e", "#d0d7de", "#1f2328"
STANDINGS = {Standing.CONFIRMED: "#1a7f37", Standing.REFUTED: WRONG, Standing.OPEN: "#9a6700"}
FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
COLUMN, BAR, LINE, MARGIN, CHAR, BOLD = 190.0, 90.0, 17.0, 20.0, 6.8, 7.4
NARROWEST = 880.0
MOST_COLUMNS = 5


def measurement_svg(found: Measurement) -> str:
    """An SVG document of a measurement."""
    panels = [list(panel) for _, group in groupby(found.series, _shape) for panel in _chunks(list(group))]
    columns = max((len(panel) for panel in panels), default=1)
    left = MARGIN + CHAR * max((len(row.arm) for series in found.series for row in series.rows), default=0)
    width = max(NARROWEST, left + MARGIN + columns * COLUMN)
    body, y = [*_title(found)], MARGIN + 3.5 * LINE
    for panel in panels:
        lines, y = _panel(panel, left, y)
        body += lines
    lines, y = _claims(found, y, width)
    body += lines
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y + MARGIN:.0f}" '
        f'viewBox="0 0 {width:.0f} {y + MARGIN:.0f}" font-family="{FONT}" font-size="12">'
    )
    background = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, f"<title>{escape(found.name)}</title>", background, *body, "</svg>", ""])


def _shape(series: Series) -> tuple[str, ...]:
    """Series of the same arms share a panel."""
    return tuple(row.arm for row in series.rows)


def _chunks(series: list[Series]) -> Iterator[list[Series]]:
    for first in range(0, len(series), MOST_COLUMNS):
        yield series[first : first + MOST_COLUMNS]


def _title(found: Measurement) -> Iterator[str]:
    device = found.device
    yield _text(
        MARGIN, MARGIN + LINE, f"{found.name}: {device.name}, driver {device.driver}, {found.date}", weight="600"
    )
    x = MARGIN
    for role, colour in COLOURS.items():
        yield f'<rect x="{x:.1f}" y="{MARGIN + 1.5 * LINE:.1f}" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 15, MARGIN + 2.1 * LINE, role.value)
        x += 40 + CHAR * len(role.value)
    yield _text(x, MARGIN + 2.1 * LINE, "red: share that was wrong; lines: lowest to highest reading; ~: no difference")


def _panel(panel: Sequence[Series], left: float, y: float) -> tuple[list[str], float]:
    room = int(COLUMN / BOLD) - 1
    heads = [textwrap.wrap(f"{each.name}: {each.setting}", room) for each in panel]
    units = [textwrap.wrap(_unit(each), room + 2) for each in panel]
    lines = [
        _text(left + COLUMN * n, y + LINE * k, line, weight="600")
        for n, head in enumerate(heads)
        for k, line in enumerate(head)
    ]
    y += LINE * max(map(len, heads))
    lines += [
        _text(left + COLUMN * n, y + LINE * k, line) for n, unit in enumerate(units) for k, line in enumerate(unit)
    ]
    y += LINE * (max(map(len, units)) - 1)
    for row in range(len(panel[0].rows)):
        y += LINE
        first = panel[0].rows[row]
        lines.append(_text(MARGIN, y, first.arm, COLOURS[first.role]))
        for n, series in enumerate(panel):
            lines += _cell(series, series.rows[row], left + COLUMN * n, y)
    return lines, y + 2.5 * LINE


def _unit(series: Series) -> str:
    return series.unit if any(row.time for row in series.rows) else f"share of {series.wrong}"


def _cell(series: Series, row: Row, x: float, y: float) -> Iterator[str]:
    share = row.count.share if row.count is not None else None
    after = x
    if row.time is not None:
        scale = BAR / max(each.time.median for each in series.rows if each.time is not None)
        yield _bar(x, y, row.time.median * scale, COLOURS[row.role])
        low, high = (min(value * scale, BAR + 12) for value in (row.time.low, row.time.high))
        yield f'<path d="M{x + low:.1f} {y - 4:.1f}H{x + high:.1f}" stroke="{INK}" stroke-width="1"/>'
        after = x + max(row.time.median * scale, high) + 5
        label = ratio_text(series, row) or number(row.time.median)
        label = number(row.time.median) if row.arm == series.reference else label
        yield _text(after, y, label)
        after += CHAR * (len(label) + 1)
        if share:
            yield _text(after, y, f"{100 * share:.3g} %", WRONG)
    elif share is not None:
        yield _bar(x, y, BAR * share, WRONG)
        yield _text(x + BAR * share + 5, y, f"{100 * share:.3g} %", WRONG if share else INK)


def _claims(found: Measurement, y: float, width: float) -> tuple[list[str], float]:
    lines = []
    for claim in found.claims:
        said = textwrap.wrap(f"{claim.text} ({claim.because})", int((width - 2 * MARGIN - 100) / 6.0))
        lines.append(_text(MARGIN, y, claim.standing.value, STANDINGS[claim.standing], "600"))
        lines += [_text(MARGIN + 100, y + LINE * n, line) for n, line in enumerate(said)]
        y += LINE * (len(said) + 0.3)
    return lines, y


def _bar(x: float, y: float, length: float, colour: str) -> str:
    width = max(length, 0.5)
    return f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="{width:.1f}" height="12" fill="{colour}" opacity="0.55"/>'


def _text(x: float, y: float, text: str, colour: str = INK, weight: str = "400") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-weight="{weight}">{escape(text)}</text>'
