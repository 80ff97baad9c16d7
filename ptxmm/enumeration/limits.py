"""How much may be enumerated, and how an enumeration gives up."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from ptxmm.errors import PtxmmError

MOST_CANDIDATES = 3_000_000
THIN_AIR = "the model does not exclude values out of thin air, and the values of this test may form a cycle"


class GaveUp(PtxmmError):
    """The enumeration cannot answer, and the sentence says why: the answer is then `unknown`."""


class Options(Protocol):
    """What an enumeration needs to know of the options of a check."""

    @property
    def properties(self) -> frozenset[str]: ...

    @property
    def bound(self) -> int: ...

    @property
    def timeout(self) -> float: ...

    @property
    def progress(self) -> str: ...


@dataclass(slots=True)
class Budget:
    """Counts candidates and seconds, and gives up when there are too many."""

    seconds: float
    candidates: int = 0
    started: float = field(default_factory=time.monotonic)

    def spend(self) -> None:
        """Account for one more candidate."""
        self.candidates += 1
        if self.candidates > MOST_CANDIDATES:
            raise GaveUp("there are too many executions to enumerate")
        self.look()

    def look(self) -> None:
        """Give up when time is over."""
        if self.elapsed > self.seconds:
            raise GaveUp(f"the enumeration was stopped after {self.seconds:g} s")

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started
