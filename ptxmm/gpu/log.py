"""What runs on a GPU leave: for each test, variant and profile what was counted, or why nothing was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

FORMAT = 1

NOT_AUDITED = "not audited"
LABELS = ("as written", "merged", "reordered by ptxas", NOT_AUDITED)

NOT_ENDED = "a launch did not end"
NOT_MET = "a thread was stuck while others waited for it at a barrier"
FAILED = "the launch failed: "
FAULTS = (
    "an illegal memory access",
    "an illegal instruction",
    "misaligned address",
    "invalid program counter",
    "operation not supported on global/shared",
    "hardware stack error",
    "unspecified launch failure",
)
"""How the driver begins to say what a kernel did that the device does not do."""

REASONS = {
    "hung": (NOT_ENDED, NOT_MET, f"{FAILED}the launch timed out"),
    "failed": tuple(FAILED + fault for fault in FAULTS),
    "skipped": ("",),
}
"""The fields of a run that say why nothing was counted, with how their sentences begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One final state: a bit pattern for each column, whether the condition holds there, and how often it was seen."""

    values: tuple[int, ...]
    holds: bool
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What the assembler made of the instructions: one of `LABELS`, and a sentence for each difference."""

    label: str = NOT_AUDITED
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted: every instance is in one of `outcomes`, or `stuck`, `filtered` or `unlisted`.

    `stuck` are those in which a wait reached its bound, `filtered` those that the test's `filter` or an `assume` leaves
    out, `unlisted` those in a state that the table of states had no room for. `groups` is the number of groups of
    instances that ran side by side in one warp, and `squares` the sum over them of the square of how many
    instances of the group the condition holds in: the variance between groups, from which the design effect follows.
    """

    instances: int
    outcomes: tuple[Outcome, ...] = ()
    stuck: int = 0
    filtered: int = 0
    unlisted: int = 0
    groups: int = 0
    squares: int = 0
    audit: Audit = Audit()

    @property
    def holding(self) -> int:
        """In how many instances the condition holds."""
        return sum(outcome.count for outcome in self.outcomes if outcome.holds)

    @property
    def finished(self) -> int:
        """How many instances ended in a state that counts."""
        return sum(outcome.count for outcome in self.outcomes)

    @property
    def adds_up(self) -> bool:
        """Whether every instance was counted once."""
        return self.finished + self.stuck + self.filtered + self.unlisted == self.instances


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A weaker sibling that ran with the test: `change` says what was taken from it.

    `beside` says that it was in the same launches, on the other half of the CTAs; else the two took turns.
    """

    change: str
    text: str
    counted: Counted
    beside: bool = False


def kinds(changes: Iterable[str]) -> str:
    """The kinds of controls with these changes, each once.

    >>> kinds(["relaxed: A: st.release -> st.relaxed", "torn: A: atom.add -> a load and a store", "relaxed: B: gone"])
    'relaxed/torn'
    """
    return "/".join(dict.fromkeys(change.partition(":")[0] for change in changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Where it ran, and with which versions; `ptxas` is the driver's own assembler where none is named."""

    name: str
    capability: str
    multiprocessors: int
    driver: str
    cupy: str
    ptxas: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How the harness ran it: `docs/hardware-runs.md` says what each knob does.

    `working_set` is `cold` (several times L2) or `hot` (inside L2), `preload` `none`, `late` or `all`, `busy` how many
    unrelated stores precede the test in threads that store, `ctas_per_sm` the most CTAs of 256 threads on an SM, `slot`
    the bytes from one instance to the next. With `stress` *n*, each *n*th cluster of CTAs only stresses memory.
    """

    name: str
    working_set: str = "cold"
    preload: str = "late"
    busy: int = 0
    ctas_per_sm: int = 8
    slot: int = 128
    stress: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One test under one profile. Nothing was counted where one of `skipped`, `hung` and `failed` is there.

    `skipped` says why it did not run, `hung` how a launch hung, `failed` with which error of the device it ended.
    `control` is the one that showed most of what the test asks for; `tried` has the changes of the others that ran, and
    `uncontrolled` says why none could.

    `text` is the test as `ptxmm show --as lit` prints it, `hash` that of the text. `condition` is the formula with its
    quantifier, as printed; `columns` name the registers and memory of an outcome, as `A.r0` and `x`, with `types`.
    `gpus` is how many GPUs it needs: `device` and those behind it.
    """

    test: str
    variant: str | None
    path: str
    text: str
    condition: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    profile: Profile
    seed: int
    device: Device | None = None
    gpus: int = 1
    counted: Counted | None = None
    control: Control | None = None
    tried: tuple[str, ...] = ()
    uncontrolled: str | None = None
    skipped: str | None = None
    hung: str | None = None
    failed: str | None = None
    seconds: float = 0.0
    ptxmm: str = ""
    format: int = FORMAT

    @property
    def hash(self) -> str:
        return text_hash(self.text)

    @property
    def name(self) -> str:
        """`NAME[VARIANT]` for a row of `variants`."""
        return f"{self.test}[{self.variant}]" if self.variant is not None else self.test


def uncounted(run: Run, why: str) -> Run:
    """The run of which nothing was counted, with the reason in its field: `hung`, `failed` or `skipped`."""
    found = next(name for name, beginnings in REASONS.items() if why.startswith(beginnings))
    fields: dict[str, Any] = {name: why if name == found else None for name in REASONS}
    return replace(run, **fields)


def text_hash(text: str) -> str:
    """What a test's text is known by.

    >>> text_hash("ptx MP")
    '4186a701dad8e30c'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]
