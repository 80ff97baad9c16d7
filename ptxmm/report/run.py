"""Runs on a GPU for people: one line a test, a summary last."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from ptxmm.gpu.log import REASONS, kinds
from ptxmm.gpu.statistics import count, per_million

if TYPE_CHECKING:
    from ptxmm.gpu.log import Counted, Run


class RunReport:
    """Writes runs as they come."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write
        self.begun = time.perf_counter()
        self.tests = self.instances = 0
        self.others: Counter[str] = Counter()

    def add(self, runs: list[Run]) -> None:
        """One line for a test: how often its condition held over all profiles, and in its control, of which kind."""
        first = runs[0]
        measured = [run.counted for run in runs if run.counted is not None]
        others = [(word, why) for run in runs for word in REASONS if (why := getattr(run, word)) is not None]
        if not measured:
            word, why = next(iter(others), ("skipped", "nothing was counted"))
            self.others[word] += 1
            self.write(f"{first.name}: {word}: {why}")
            return
        self.tests += 1
        self.instances += sum(one.instances for one in measured)
        line = f"{first.name}: {seen(measured)}"
        controls = [run.control for run in runs if run.control is not None]
        if controls:
            which = kinds(control.change for control in controls)
            line += f"; control {which} {seen([control.counted for control in controls])}"
        reasons = [why for _, why in others]
        reasons += [f"no control: {run.uncontrolled}" for run in runs if run.uncontrolled is not None]
        self.write(line + "".join(f"; {reason}" for reason in dict.fromkeys(reasons)))

    def end(self) -> None:
        """The summary."""
        seconds = time.perf_counter() - self.begun
        counts = [f"{self.tests} test{'' if self.tests == 1 else 's'}"]
        counts += [f"{self.others[word]} {word}" for word in REASONS if self.others[word] or word == "skipped"]
        self.write(f"{', '.join(counts)}, {count(self.instances)} instances in {seconds:.1f} s")


def seen(counted: list[Counted]) -> str:
    """How often a condition held, in the words of `ptxmm compare`.

    >>> from ptxmm.gpu.log import Counted, Outcome
    >>> seen([Counted(instances=4_000_000, outcomes=(Outcome(values=(1,), holds=True, count=1_008),), stuck=2)])
    '1,008 of 4.0e6 (252 per million), 2 stuck'
    """
    instances, holding = sum(c.instances for c in counted), sum(c.holding for c in counted)
    rate = f" ({per_million(holding / instances)})" if holding else ""
    stuck, unlisted = sum(c.stuck for c in counted), sum(c.unlisted for c in counted)
    rest = (f", {stuck:,} stuck" if stuck else "") + (f", {unlisted:,} in no row of the table" if unlisted else "")
    return f"{holding:,} of {count(instances)}{rate}{rest}"
