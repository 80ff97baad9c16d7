"""What repeated readings of the same thing say: medians, spreads, shares, and how much a thing differs from itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Spread:
    """Readings of one arm: the median, the extremes, and the drift from the first half of them to the second.

    >>> Spread.of([4.0, 2.0, 3.0])
    Spread(median=3.0, low=2.0, high=4.0, runs=3, drift=0.166667)
    """

    median: float
    low: float
    high: float
    runs: int
    drift: float

    @classmethod
    def of(cls, readings: Sequence[float]) -> Spread:
        middle = (len(readings) + 1) // 2
        first, second = readings[:middle], readings[len(readings) - middle :]
        drift = abs(median(second) / median(first) - 1) if median(first) else 0.0
        middle_reading, low, high = map(_digits, (median(readings), min(readings), max(readings)))
        return cls(middle_reading, low, high, len(readings), _digits(drift))


@dataclass(frozen=True, slots=True)
class Count:
    """How often something went wrong: `wrong` of `tried`; `stuck` waits reached their bound and count apart.

    >>> Count(1, 100) + Count(0, 100, 2)
    Count(wrong=1, tried=200, stuck=2)
    """

    wrong: int
    tried: int
    stuck: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.wrong + other.wrong, self.tried + other.tried, self.stuck + other.stuck)

    @property
    def share(self) -> float:
        return self.wrong / self.tried if self.tried else 0.0


def _digits(value: float) -> float:
    """A value to six digits: no clock here says more."""
    return float(f"{value:.6g}")


def orders(arms: Sequence[str], rounds: int, seed: int) -> list[tuple[str, ...]]:
    """The arms in a new random order for each round, so that no arm always follows the same one.

    >>> [sorted(order) for order in orders(["a", "b"], 2, seed=1)]
    [['a', 'b'], ['a', 'b']]
    """
    dice = random.Random(seed)
    return [tuple(dice.sample(list(arms), len(arms))) for _ in range(rounds)]


def ratio(value: Spread, reference: Spread) -> float:
    """A median over the reference's."""
    return value.median / reference.median


def differs(value: Spread, reference: Spread, band: float) -> bool:
    """Whether two medians are further apart than either is from itself.

    `band` is how far the reference, run as two arms, was from itself.

    >>> differs(Spread(1.03, 1, 1.1, 9, 0.01), Spread(1, 0.9, 1.1, 9, 0.02), band=0.001)
    True
    >>> differs(Spread(1.03, 1, 1.1, 9, 0.01), Spread(1, 0.9, 1.1, 9, 0.02), band=0.05)
    False
    """
    return abs(ratio(value, reference) - 1) > max(band, value.drift, reference.drift)
