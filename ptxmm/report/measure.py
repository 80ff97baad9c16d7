"""Measurements on a GPU for people and for programs: series with their arms, controls and bands, then the claims."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ptxmm.gpu.measure.measure import Measure
from ptxmm.gpu.measure.results import Code, Measurement, Role, Row, Series, to_json
from ptxmm.gpu.measure.statistics import Count, differs

SIGNS = {Role.SUBJECT: " ", Role.POSITIVE: "+", Role.NEGATIVE: "-"}


def measure_report(found: Sequence[Measurement]) -> str:
    """The measurements as JSON, a line for each series and each claim."""
    return "[\n" + ",\n".join(_object(to_json(each)) for each in found) + "\n]"


def _object(found: dict[str, Any]) -> str:
    return "{" + ",\n".join(f'"{key}": {_listed(value)}' for key, value in found.items()) + "}"


def _listed(value: object) -> str:
    if not isinstance(value, list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return "[" + ",".join(f"\n {json.dumps(each, ensure_ascii=False)}" for each in value) + "]"


def exit_code(found: Iterable[Measurement]) -> int:
    """1 where a measurement contradicts itself: a negative control that shows something, or a wait without end."""
    return 1 if any(each.failures() for each in found) else 0


def list_text(measures: Iterable[Measure], width: int) -> str:
    """The measurements that there are, and the claims that each looks at."""
    lines: list[str] = []
    for measure in measures:
        lines += [measure.name, *_wrapped(measure.asks, width, "  ")]
        for claim in measure.claims:
            lines += _wrapped(claim.text, width, "    ", "  - ")
    return "\n".join(lines)


def measures_json(measures: Iterable[Measure]) -> str:
    """What `ptxmm measure --list --json` prints."""
    return _listed([{"name": one.name, "asks": one.asks, "claims": [c.text for c in one.claims]} for one in measures])


def measurement_text(found: Measurement, width: int) -> str:
    """One measurement as text."""
    device = found.device
    where = f"{device.name}, {device.multiprocessors} multiprocessors, driver {device.driver}"
    lines = [f"{found.name}: {where}, {found.date}, {found.seconds:.1f} s", ""]
    for series in found.series:
        lines += [*series_lines(series), ""]
    for claim in found.claims:
        lines += _wrapped(claim.text, width, "  ", f"{claim.standing}: ")
        lines += _wrapped(claim.because, width, "    ")
    lines += code_lines(found.code)
    lines += [f"failed: {failure}" for failure in found.failures()]
    lines += [f"not exercised: {series}: no control shows anything" for series in found.silent()]
    return "\n".join(lines)


def code_lines(code: Sequence[Code]) -> list[str]:
    """What the machine code says: how many kernels are as written, and what others lack."""
    if not code:
        return []
    labels = Counter(one.label for one in code)
    lines = [f"machine code of {len(code)} kernels: {', '.join(f'{n} {label}' for label, n in labels.most_common())}"]
    remarks = Counter((one.label, remark) for one in code for remark in one.remarks)
    return lines + [f"  {label}: {remark} (in {n})" for (label, remark), n in remarks.most_common()]


def series_lines(series: Series) -> Iterator[str]:
    """A series as a table: `+` marks controls that should show something, `-` those that must not."""
    yield f"  {series.name}: {series.setting}{_units(series)}"
    name = max(len(row.arm) for row in series.rows)
    for row in series.rows:
        cells = f"  {SIGNS[row.role]} {row.arm:{name}}  {_time(series, row)}  {wrong_text(row.count, series.wrong)}"
        yield cells.rstrip()


def _units(series: Series) -> str:
    band = f", {series.reference} twice: {100 * series.band:.1f} % apart" if series.band is not None else ""
    return f" ({series.unit}{band})" if series.unit and any(row.time for row in series.rows) else ""


def _time(series: Series, row: Row) -> str:
    if row.time is None:
        return " " * 33 if any(each.time for each in series.rows) else ""
    between = f"[{number(row.time.low)} {number(row.time.high)}]"
    return f"{number(row.time.median):>9} {ratio_text(series, row):>7} {between:<15}"


def ratio_text(series: Series, row: Row) -> str:
    """A time over the reference's; `~` marks a ratio that is closer to 1 than a reference is to itself."""
    ratio = series.ratio(row.arm) if row.time is not None else None
    if ratio is None or row.time is None or series.reference is None:
        return ""
    base = series.row(series.reference).time
    same = base is not None and not differs(row.time, base, series.band or 0.0)
    return f"{'~' if same and row.arm != series.reference else ''}{ratio:.3f}"


def wrong_text(count: Count | None, wrong: str) -> str:
    """What went wrong: a share where there is one, and waits without end apart."""
    if count is None or not count.tried:
        return f"{count.stuck} stuck" if count is not None and count.stuck else ""
    share = f"{100 * count.share:.3g} %" if count.share >= 1e-4 else f"{count.wrong} of {count.tried:.3g}"
    return f"{share} {wrong}" + (f", {count.stuck} stuck" if count.stuck else "")


def number(value: float) -> str:
    """A number with four digits, and no more than it needs.

    >>> number(1222.3), number(0.04567), number(123456.7)
    ('1222', '0.04567', '123457')
    """
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _wrapped(text: str, width: int, indent: str, head: str = "") -> list[str]:
    return textwrap.wrap(
        head + text, max(40, width), initial_indent=indent if not head else "", subsequent_indent=indent
    )
