"""What counts of a run say: rates, bounds that allow for lanes of a warp being alike, and whether a zero says anything.

The instances of one warp are not independent: they start together and meet the same traffic. The design effect is how
much larger that makes the variance of a rate; a rate of `n` instances is as good as one of `n` divided by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ptxmm.gpu.log import Counted

WARP = 32
CONFIDENCE = 0.95
NORMAL = 1.959964
ENOUGH = -math.log(1 - CONFIDENCE)


@dataclass(frozen=True, slots=True)
class Rate:
    """`seen` of `instances`: the rate, and an interval of 95 % confidence around it, for independent trials or not."""

    seen: int
    instances: int
    effect: float

    @property
    def rate(self) -> float:
        return self.seen / self.instances if self.instances else 0.0

    @property
    def independent(self) -> float:
        """As many independent instances would say as much."""
        return self.instances / self.effect

    @property
    def low(self) -> float:
        return max(0.0, self._middle - self._half) if self.seen else 0.0

    @property
    def high(self) -> float:
        """The upper bound: for none seen, the rate that would show nothing with a probability of 5 %."""
        if not self.instances:
            return 1.0
        return min(1.0, self._middle + self._half if self.seen else ENOUGH / self.independent)

    @property
    def _middle(self) -> float:
        n = self.independent
        return (self.rate + NORMAL**2 / (2 * n)) / (1 + NORMAL**2 / n)

    @property
    def _half(self) -> float:
        n, p = self.independent, self.rate
        return NORMAL / (1 + NORMAL**2 / n) * math.sqrt(p * (1 - p) / n + NORMAL**2 / (4 * n * n))


def rate_of(counted: Counted, *, failing: bool = False) -> Rate:
    """How often the condition holds, or with `failing` does not, in the instances that ended in a state that counts."""
    seen = counted.finished - counted.holding if failing else counted.holding
    return Rate(seen, counted.finished, design_effect(counted))


def design_effect(counted: Counted) -> float:
    """How much the instances of a group are alike: 1 where they are independent, at most the size of a group.

    Where the condition holds always or never, nothing is known of it, and each group counts as one instance.

    >>> from ptxmm.gpu.log import Outcome
    >>> seen = (Outcome(values=(1,), holds=True, count=64), Outcome(values=(0,), holds=False, count=3136))
    >>> together = Counted(instances=3200, outcomes=seen, groups=100, squares=2 * 32**2)
    >>> apart = Counted(instances=3200, outcomes=seen, groups=100, squares=64)
    >>> round(design_effect(together), 1), design_effect(apart)
    (32.0, 1.0)
    """
    if not counted.instances:
        return 1.0
    groups = counted.groups or -(-counted.instances // WARP)
    size = max(1.0, counted.instances / groups)
    rate = counted.holding / counted.instances
    if not counted.groups or rate in (0.0, 1.0):
        return size
    between = counted.squares / groups - (counted.holding / groups) ** 2
    return min(size, max(1.0, between / (size * rate * (1 - rate))))


def together(rates: list[Rate]) -> Rate:
    """Several rates as one: counts add up, and the worst design effect counts."""
    seen, instances = sum(r.seen for r in rates), sum(r.instances for r in rates)
    return Rate(seen, instances, max((r.effect for r in rates), default=1.0))


def exercised(test: Rate, control: Rate) -> bool:
    """Whether a test that shows nothing could have: its control's rate would have shown in it with 95 % probability.

    >>> exercised(Rate(0, 5_000_000_000, 32), Rate(74_000_000, 5_000_000_000, 4))
    True
    >>> exercised(Rate(0, 5_000_000_000, 32), Rate(0, 5_000_000_000, 32))
    False
    >>> exercised(Rate(0, 1_000_000, 32), Rate(1, 1_000_000, 1))
    False
    """
    return control.low * test.instances / control.effect >= ENOUGH


def sentence(test: Rate, control: Rate | None, kind: str = "") -> str:
    """What was seen, and for nothing what that means; `kind` is that of the control.

    >>> sentence(Rate(0, 5_000_000_000, 32), Rate(74_000_000, 5_000_000_000, 4), "relaxed")
    '0 of 5.0e9 (below 0.019 per million), control relaxed 14,800 per million'
    >>> sentence(Rate(0, 5_000_000_000, 32), Rate(0, 4_000_000, 32))
    'not exercised: 0 of 5.0e9, control 0 of 4.0e6'
    >>> sentence(Rate(5_000, 1_000_000, 2), None)
    '5,000 of 1.0e6 (5,000 per million)'
    """
    if test.seen:
        return f"{test.seen:,} of {count(test.instances)} ({per_million(test.rate)})"
    named = f"{kind} " if kind else ""
    if control is None:
        return f"not exercised: 0 of {count(test.instances)}, no control"
    if exercised(test, control):
        bound = per_million(test.high)
        return f"0 of {count(test.instances)} (below {bound}), control {named}{per_million(control.rate)}"
    shown = f"{count(control.seen)} of {count(control.instances)}"
    return f"not exercised: 0 of {count(test.instances)}, control {named}{shown}"


def per_million(rate: float) -> str:
    """A rate as people compare it.

    >>> per_million(0.0148), per_million(3.2e-7), per_million(2e-12), per_million(0)
    ('14,800 per million', '0.32 per million', '2.0e-6 per million', '0 per million')
    """
    each = rate * 1e6
    if not each:
        return "0 per million"
    if each < 1e-3:
        return f"{power(each)} per million"
    digits = max(0, 1 - math.floor(math.log10(each)))
    return f"{float(f'{each:.3g}'):,.{digits}f} per million"


def count(number: int) -> str:
    """A count in two digits, small ones in full.

    >>> count(960), count(1_234_567), count(5_000_000_000)
    ('960', '1.2e6', '5.0e9')
    """
    return f"{number:,}" if number < 10_000 else power(number)


def power(number: float) -> str:
    """A number in two digits and a power of ten."""
    mantissa, _, exponent = f"{number:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
