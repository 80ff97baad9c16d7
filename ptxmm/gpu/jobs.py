"""What the command and the process that launches kernels tell each other: jobs, and answers in their order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptxmm.gpu.counting import Tally
from ptxmm.gpu.kernel import Entry, Kernel, entry
from ptxmm.gpu.log import Profile
from ptxmm.gpu.reach import ALONE, Reach


@dataclass(frozen=True, slots=True)
class Job:
    """A test and its controls, in one entry, for `seconds` over all profiles.

    `failing` says that what is looked for is that the formula does not hold; `audited` that the machine code is asked
    for; `bold` that the last control may break what its test keeps, so that a launch fails.
    """

    number: int
    entry: Entry
    profiles: tuple[Profile, ...]
    seconds: float
    seed: int
    failing: bool = False
    audited: bool = False
    bold: bool = False

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel of the test, then those of the controls."""
        return self.entry.kernels

    def alone(self) -> Job:
        """The test without controls."""
        return replace(self, entry=entry(self.kernels[0]), bold=False)

    def safer(self) -> Job:
        """The test without its bold control, or else without all."""
        return replace(self, entry=entry(*self.kernels[:-1]), bold=False) if self.bold else self.alone()


@dataclass(frozen=True, slots=True)
class Found:
    """The compute capability of the device, told before it can be used: `9.0`; and the GPUs that it has beside it."""

    capability: str
    reach: Reach = ALONE


@dataclass(frozen=True, slots=True)
class Started:
    """The entry of a job is loaded, and from now on it only takes its time; `code` is its machine code."""

    number: int
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class Passed:
    """One pass of the test of a job has ended, without its controls: what fails now may be their fault."""

    number: int


@dataclass(frozen=True, slots=True)
class Played:
    """What one profile came to: a tally of the test, and of each control, None where it had no turn.

    `beside` says which of the controls ran in one launch with the test.
    """

    tallies: tuple[Tally | None, ...]
    beside: tuple[bool, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Done:
    """What each profile of a job came to; or what failed.

    `fatal` says that the process cannot go on, `alone` that it was the test's own fault. `spoilt` says why the
    test ran without controls; `kernels` is the number of kernels that ran, where not all did.
    """

    number: int
    played: tuple[Played, ...] = ()
    failed: str = ""
    fatal: bool = False
    alone: bool = False
    spoilt: str = ""
    kernels: int = 1
