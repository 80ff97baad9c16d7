"""What a comparison of runs with a model comes to, as frozen values that the reports print."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ptxmm.errors import PtxmmError
from ptxmm.gpu.statistics import Rate
from ptxmm.verdict import Answer


class Standing(StrEnum):
    """How what was seen stands to what the model allows."""

    FORBIDDEN_SEEN = "FORBIDDEN BUT SEEN"
    BROKEN = "no evidence"
    SHOULD_END = "hung, should end"
    SHOULD_RUN = "failed, should run"
    UNDEFINED = "undefined"
    UNKNOWN = "unknown"
    AGREE = "agree"
    SEEN = "allowed, seen"
    HUNG = "hung, as it may"
    NOT_SEEN = "allowed, not seen"
    NOT_EXERCISED = "not exercised"
    UNSUPPORTED = "unsupported here"


@dataclass(frozen=True, slots=True)
class Seen:
    """A final state that was seen `count` times, what the model says of it, and by which axioms or why.

    `question` is the test that asks for it, as `.lit` text, where the model does not allow it. `control` says that it
    was seen in the control alone.
    """

    values: tuple[int, ...]
    count: int
    holds: bool
    verdict: str
    by: tuple[str, ...] = ()
    why: str = ""
    asks: str = ""
    question: str = ""
    control: bool = False


@dataclass(frozen=True, slots=True)
class Hanging:
    """What a model says of a test that did not end: whether it may hang under the `progress` that CUDA promises.

    `verdict` is `yes`, `no`, `unknown`, or `undefined` where an undefined step is reached; `why` says who waits for
    what, why it is not known, or which step that is. Of a test that ends, `ordinary` is the verdict under the weaker
    promise for any grid, where a thread may never start.
    """

    verdict: str
    progress: str
    why: str = ""
    ordinary: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One test under one model, all its runs together.

    `verdict` is the model's for the condition; `told` says in a sentence what was seen, `rate` and `control` how often
    what the condition asks for (for `forall`, what it excludes) was seen in the test and in its control, where the
    model says of it `control_verdict`; `changes` say what was taken from the test in that control, or in those of its
    profiles. `stuck` instances did not end, nor did `hung` launches: `hanging` is what the model says of that.
    `undefined` is its answer where launches `failed`: whether an execution reaches an undefined step.
    `label` is that of the audit, the worst of all runs; `notes` what the reader should know besides.
    """

    test: str
    variant: str | None
    path: str
    hash: str
    model: str
    standing: Standing
    told: str = ""
    condition: str = ""
    verdict: str = "no condition"
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    states: tuple[Seen, ...] = ()
    rate: Rate | None = None
    control: Rate | None = None
    control_verdict: str = ""
    changes: tuple[str, ...] = ()
    stuck: int = 0
    hung: int = 0
    hanging: Hanging | None = None
    failed: int = 0
    undefined: Answer | None = None
    label: str = ""
    profiles: tuple[str, ...] = ()
    device: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """`NAME[VARIANT]`."""
        return f"{self.test}[{self.variant}]" if self.variant is not None else self.test


class Contradiction(PtxmmError):
    """A log that contradicts itself: the sentence says how."""
