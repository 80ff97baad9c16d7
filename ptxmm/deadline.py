"""A moment after which work on a question stops, and a size that formulas must not pass."""

from __future__ import annotations

import math
import time

from ptxmm.errors import Undecided


class Deadline:
    """The end of the time for one test; `check` raises Undecided after it.

    >>> Deadline.never().left()
    inf
    """

    __slots__ = ("at",)

    def __init__(self, at: float) -> None:
        self.at = at

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The moment some seconds from now."""
        return cls(time.perf_counter() + seconds)

    @classmethod
    def never(cls) -> Deadline:
        """No limit."""
        return cls(math.inf)

    def left(self) -> float:
        """Seconds until then, 0 when it has passed."""
        return max(0.0, self.at - time.perf_counter())

    def check(self) -> None:
        """Raise Undecided when it has passed."""
        if time.perf_counter() > self.at:
            raise Undecided("time-out")


NEVER = Deadline.never()
