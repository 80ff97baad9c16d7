"""What the numbers say of a claim: each judge looks at the series of a measurement and answers with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from ptxmm.gpu.measure.results import Claim, Role, Row, Series, Standing

Answer = tuple[Standing, str]
Judge = Callable[[Sequence[Series]], Answer]

SHOWN = 3
RANK = (Standing.REFUTED, Standing.OPEN, Standing.CONFIRMED)


@dataclass(frozen=True, slots=True)
class Stated:
    """A claim as it is stated, and the judge that compares it with the numbers."""

    text: str
    judge: Judge


def judged(stated: Sequence[Stated], series: Sequence[Series]) -> tuple[Claim, ...]:
    """The claims, each with what the series say of it."""
    return tuple(Claim(each.text, *each.judge(series)) for each in stated)


def every(*judges: Judge) -> Judge:
    """A claim of several parts: it stands where all of them do, and it falls with the first."""

    def judge(series: Sequence[Series]) -> Answer:
        answers = [each(series) for each in judges]
        worst = min((standing for standing, _ in answers), key=RANK.index)
        reasons = [said for standing, said in answers if standing is worst]
        more = f"; and {len(reasons) - SHOWN} more" if len(reasons) > SHOWN else ""
        return worst, "; ".join(reasons[:SHOWN]) + more

    return judge


def never(name: str, arm: str, where: str = "") -> Judge:
    """The arm was never wrong, in series where a positive control shows that it could have been."""

    def judge(series: Sequence[Series]) -> Answer:
        rows = _rows(series, name, arm, where)
        wrong, tried = _total([row for _, row in rows])
        said = f"{arm}: {wrong:,} of {tried:,} {rows[0][0].wrong}" if rows else f"{name} was not measured"
        if wrong:
            return Standing.REFUTED, said
        shown = [control for found, _ in rows if (control := _control(found))]
        if not shown or not tried or len(shown) < len(rows):
            return Standing.OPEN, f"{said}, and no control showed any in {name}"
        return Standing.CONFIRMED, f"{said}, control {shown[0]}"

    return judge


def shows(name: str, arm: str, where: str = "", least: float = 0.0, most: float = 1.0) -> Judge:
    """The arm goes wrong, in a share between the bounds in every series."""

    def judge(series: Sequence[Series]) -> Answer:
        rows = _rows(series, name, arm, where)
        shares = [row.count.share for _, row in rows if row.count is not None and row.count.tried]
        if not shares:
            return Standing.OPEN, f"{name} was not measured"
        low, high = min(shares), max(shares)
        said = f"{arm}: {_range(_percent(low), _percent(high))} {rows[0][0].wrong}"
        right = low > 0 and low >= least and high <= most
        return (Standing.CONFIRMED if right else Standing.REFUTED), said

    return judge


def rare(name: str, arm: str, where: str, most: float) -> Judge:
    """The arm goes wrong in a share of at most `most`, where other settings of the same series show that it can."""

    def judge(series: Sequence[Series]) -> Answer:
        shares = [row.count.share for _, row in _rows(series, name, arm, where) if row.count is not None]
        elsewhere = [row.count.wrong for _, row in _rows(series, name, arm, "") if row.count is not None]
        if not shares or not any(elsewhere):
            return Standing.OPEN, f"{name} showed nothing in any setting"
        said = f"{arm}, {where}: {_percent(max(shares))}"
        return (Standing.CONFIRMED if max(shares) <= most else Standing.REFUTED), said

    return judge


def costs(name: str, arm: str, where: str = "", least: float = 0.0, most: float = inf) -> Judge:
    """The arm takes between `least` and `most` times as long as the reference, give or take its own band."""

    def judge(series: Sequence[Series]) -> Answer:
        found = [(each, each.ratio(arm)) for each, _ in _rows(series, name, arm, where)]
        ratios = [(value, each.band or 0.0) for each, value in found if value is not None]
        if not ratios:
            return Standing.OPEN, f"{name} was not measured"
        right = all(least * (1 - band) <= value <= most * (1 + band) for value, band in ratios)
        values = [value for value, _ in ratios]
        shown = _range(f"{min(values):.3f}", f"{max(values):.3f}")
        reference = found[0][0].reference
        return (Standing.CONFIRMED if right else Standing.REFUTED), f"{arm}: {shown} times {reference}"

    return judge


def grows(name: str, arm: str, before: str, after: str, least: float = 0.0, most: float = inf) -> Judge:
    """The arm takes between `least` and `most` times as long in one setting as in another."""

    def judge(series: Sequence[Series]) -> Answer:
        times = [row.time for where in (before, after) for _, row in _rows(series, name, arm, where)[:1]]
        first, second = times if len(times) == 2 else (None, None)
        if first is None or second is None:
            return Standing.OPEN, f"{name} was not measured"
        value, slack = second.median / first.median, max(first.drift, second.drift)
        right = least * (1 - slack) <= value <= most * (1 + slack)
        said = f"{arm}: {value:.3f} times as long"
        return (Standing.CONFIRMED if right else Standing.REFUTED), said

    return judge


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _rows(series: Sequence[Series], name: str, arm: str, where: str) -> list[tuple[Series, Row]]:
    named = [each for each in series if each.name == name and where in each.setting]
    return [(each, row) for each in named for row in each.rows if row.arm == arm]


def _total(rows: Sequence[Row]) -> tuple[int, int]:
    counts = [row.count for row in rows if row.count is not None]
    return sum(count.wrong for count in counts), sum(count.tried for count in counts)


def _control(series: Series) -> str:
    shown = [row for row in series.rows if row.role is Role.POSITIVE and row.count is not None and row.count.wrong]
    best = max(shown, key=lambda row: row.count.share if row.count is not None else 0.0, default=None)
    return f"{_percent(best.count.share)} ({best.arm})" if best is not None and best.count is not None else ""


def _percent(share: float) -> str:
    """A share in per cent, small ones per million.

    >>> _percent(0.5), _percent(1.0), _percent(2e-6)
    ('50 %', '100 %', '2 per million')
    """
    return f"{100 * share:.3g} %" if share >= 1e-4 or not share else f"{1e6 * share:.3g} per million"
