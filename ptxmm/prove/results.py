"""What `ptxmm prove` answers, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.prove.counterexamples import Example
from ptxmm.prove.proving import Step


@dataclass(frozen=True, slots=True)
class Dropped:
    """What became of a theorem without one hypothesis. `idle` says why the hypothesis is not seen to be needed."""

    hypothesis: str
    words: str
    verdict: str
    counterexample: Example | None
    idle: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A theorem under a model: `proved`, `not proved` or `unknown`; `wrong` lists what else is not as it must be."""

    name: str
    words: str
    model: str
    verdict: str
    steps: tuple[Step, ...]
    dropped: tuple[Dropped, ...] = ()
    wrong: tuple[str, ...] = ()
    why: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def idle(self) -> tuple[Dropped, ...]:
        """The hypotheses that are not seen to be needed."""
        return tuple(one for one in self.dropped if one.idle)

    @property
    def ok(self) -> bool:
        """Whether it is proved, from hypotheses that are all needed."""
        return self.verdict == "proved" and not self.idle and not self.wrong
