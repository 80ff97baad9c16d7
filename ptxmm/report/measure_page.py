"""A measurement as a section of a page in Markdown: what is claimed, what was found, and the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ptxmm.gpu.measure.results import Measurement, Role, Row, Series
from ptxmm.report.measure import number, ratio_text

MARKS = {Role.SUBJECT: "", Role.POSITIVE: " ⁺", Role.NEGATIVE: " ⁻"}


def measurement_page(found: Measurement, asks: str, picture: str = "") -> str:
    """The section: a question, claims with their standing, a picture, and a table for settings with the same arms."""
    lines = [f"## {found.name}", "", asks, "", *_claims(found), ""]
    lines += [f"![{found.name}]({picture})", ""] if picture else []
    for _, panel in groupby(found.series, lambda series: tuple(row.arm for row in series.rows)):
        lines += [*_table(list(panel)), ""]
    silent = found.silent()
    lines += [f"No control shows anything, so zeros say nothing there: {'; '.join(silent)}.", ""] if silent else []
    lines += [f"**Failed:** {failure}.\n" for failure in found.failures()]
    return "\n".join(lines)


def _claims(found: Measurement) -> Iterator[str]:
    yield "| claim | standing | because |"
    yield "| --- | --- | --- |"
    for claim in found.claims:
        yield f"| {_cell(claim.text)} | **{claim.standing}** | {_cell(claim.because)} |"


def _table(panel: Sequence[Series]) -> Iterator[str]:
    heads = [f"{each.name}: {each.setting}" + (f" ({each.unit})" if _timed(each) else "") for each in panel]
    bands = [f"{100 * each.band:.1f} %" if each.band is not None else "" for each in panel]
    yield f"| | {' | '.join(map(_cell, heads))} |"
    yield "|" + " --- |" * (len(panel) + 1)
    for place, row in enumerate(panel[0].rows):
        cells = [_value(each, each.rows[place]) for each in panel]
        yield f"| {_cell(row.arm)}{MARKS[row.role]} | {' | '.join(cells)} |"
    if any(bands):
        yield f"| *{_cell(panel[0].reference or '')}, twice: apart by* | {' | '.join(bands)} |"


def _timed(series: Series) -> bool:
    return any(row.time is not None for row in series.rows)


def _value(series: Series, row: Row) -> str:
    ratio = ratio_text(series, row) if row.arm != series.reference else ""
    parts = []
    if row.time is not None:
        parts.append(number(row.time.median) + (f" ({ratio})" if ratio else ""))
    if row.count is not None and (row.count.wrong or row.time is None):
        parts.append(f"**{share_text(row)}**" if row.count.wrong else f"0 of {row.count.tried:.2g}")
    if row.count is not None and row.count.stuck:
        parts.append(f"{row.count.stuck} stuck")
    return ", ".join(parts)


def share_text(row: Row) -> str:
    """The share of a row that was wrong: in per cent, or per million where that is little."""
    share = row.count.share if row.count is not None else 0.0
    return f"{100 * share:.3g} %" if share >= 1e-4 else f"{1e6 * share:.2g} per million"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
