"""What a measurement found, as frozen values that are written as JSON and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from ptxmm.gpu.measure.statistics import Count, Spread, ratio
from ptxmm.records import record

FORMAT = 1


class OtherFormat(ValueError):
    """A measurement that another version wrote."""


class Role(StrEnum):
    """What an arm is there for.

    What is wrong by the model and known to show is a positive control; what must never show is a negative one. The
    subjects are what a claim is about.
    """

    SUBJECT = "subject"
    POSITIVE = "positive control"
    NEGATIVE = "negative control"


class Standing(StrEnum):
    """What a measurement says of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    OPEN = "not exercised"


@dataclass(frozen=True, slots=True)
class Row:
    """One arm of a series: how long it took, and how often what it read or wrote was wrong."""

    arm: str
    role: Role
    time: Spread | None = None
    count: Count | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Arms that took turns under one setting.

    `unit` is that of the times, `wrong` says what is counted. `band` is how far the reference, run as two arms, was
    from itself: a ratio to it that is closer to 1 says nothing.
    """

    name: str
    setting: str
    unit: str
    wrong: str
    reference: str | None
    band: float | None
    rows: tuple[Row, ...]

    def row(self, arm: str) -> Row:
        return next(row for row in self.rows if row.arm == arm)

    def ratio(self, arm: str) -> float | None:
        """The time of an arm over the reference's, where both have one."""
        if self.reference is None:
            return None
        time, base = self.row(arm).time, self.row(self.reference).time
        return ratio(time, base) if time is not None and base is not None else None

    @property
    def exercised(self) -> bool:
        """Whether a zero of this series says anything: a positive control showed what is looked for."""
        return any(row.role is Role.POSITIVE and row.count is not None and row.count.wrong for row in self.rows)


@dataclass(frozen=True, slots=True)
class Code:
    """The machine code of one kernel: `label` and `remarks` as in the audit of a test.

    `instructions` are those that touch memory or order, each with how often it stands there.
    """

    kernel: str
    label: str
    instructions: tuple[tuple[str, int], ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """What a document says, and what the numbers say of it."""

    text: str
    standing: Standing
    because: str


@dataclass(frozen=True, slots=True)
class Device:
    """Where it was measured, and with which versions."""

    name: str
    capability: str
    multiprocessors: int
    driver: str
    cupy: str
    nvrtc: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """All series of one measurement, and what they say of its claims.

    `code` is the machine code that ran, where `ptxas` and `nvdisasm` are installed.
    """

    name: str
    device: Device
    date: str
    seconds: float
    series: tuple[Series, ...]
    claims: tuple[Claim, ...]
    ptxmm: str
    format: int = FORMAT
    code: tuple[Code, ...] = ()

    def failures(self) -> tuple[str, ...]:
        """What makes the measurement itself doubtful: a negative control that showed something, a wait without end."""
        rows = [(series, row, row.count) for series in self.series for row in series.rows if row.count is not None]
        return tuple(
            f"{series.name}, {series.setting}: {row.arm}: {said}"
            for series, row, count in rows
            if row.role is Role.NEGATIVE
            for said in [f"{count.wrong} of {count.tried} {series.wrong}" if count.wrong else "",
                         f"{count.stuck} waits reached their bound" if count.stuck else "",
                         "nothing was tried" if not count.tried else ""]
            if said
        )  # fmt: skip

    def silent(self) -> tuple[str, ...]:
        """The series with positive controls, none of which showed anything: their zeros are no evidence."""
        return tuple(
            f"{series.name}, {series.setting}"
            for series in self.series
            if any(row.role is Role.POSITIVE for row in series.rows) and not series.exercised
        )


def to_json(found: Measurement) -> dict[str, Any]:
    """A measurement as a JSON object; without `code` where nothing is known of it."""
    return {name: value for name, value in asdict(found).items() if name != "code" or value}


def from_json(found: Mapping[str, Any]) -> Measurement:
    """The measurement that a JSON object holds."""
    if found["format"] != FORMAT:
        raise OtherFormat(f"this measurement has format {found['format']}, and this is read: {FORMAT}")
    measurement = record(Measurement, dict(found))
    _ensure_sound(measurement)
    return measurement


def _ensure_sound(measurement: Measurement) -> None:
    """Its name is one of a file, series have arms and the reference is one of them; times and counts are possible."""
    name = measurement.name
    if not name or not name.isprintable() or PurePath(name).name != name:
        raise ValueError("its name is none of a picture")
    for series in measurement.series:
        arms = [row.arm for row in series.rows]
        if not arms or len(set(arms)) < len(arms) or series.reference not in (None, *arms):
            raise ValueError("arms that are not there, or twice")
        for row in series.rows:
            time, count = row.time, row.count
            if time is not None and not 0 < time.low <= time.median <= time.high:
                raise ValueError("a time that is none")
            if count is not None and not (0 <= count.wrong <= count.tried and count.stuck >= 0):
                raise ValueError("more wrong than tried")
