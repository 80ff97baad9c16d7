"""Lanes of a warp that meet: `bar.warp.sync`, `vote.sync`, `match.sync`, and barriers, at which warps arrive as one."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from dataclasses import dataclass, field

from machine.memory import Fault
from machine.scheduler import Gate, Scheduler

Values = dict[int, int]
ALL = (1 << 32) - 1


@dataclass(slots=True, eq=False)
class Meeting:
    """Lanes of a mask that come to one instruction, each with a value; the last of them opens the gate."""

    mask: int
    gate: Gate
    values: Values = field(default_factory=dict)
    outcome: object = None


@dataclass(slots=True, eq=False)
class Warp:
    """The lanes of a warp that have not exited, and the meetings for which some of them wait."""

    scheduler: Scheduler
    alive: int = 0
    meetings: dict[Hashable, Meeting] = field(default_factory=dict)

    def together(self, lane: int, mask: int, key: Hashable, value: int = 0) -> Generator[Gate, None, Meeting]:
        """Wait for the lanes of a mask that have not exited; afterwards the meeting has the values of all."""
        if not mask >> lane & 1:
            raise Fault(f"lane {lane} executes {key} with a mask without itself, {mask:#x}")
        meeting = self.meetings.get((key, mask))
        if meeting is None:
            meeting = self.meetings[key, mask] = Meeting(mask, self.scheduler.gate())
        meeting.values[lane] = value
        if not self._complete((key, mask), meeting):
            yield meeting.gate
        return meeting

    def exit(self, lane: int) -> None:
        """A lane waits for nobody any more, and nobody for it."""
        self.alive &= ~(1 << lane)
        for key, meeting in list(self.meetings.items()):
            self._complete(key, meeting)

    def _complete(self, key: Hashable, meeting: Meeting) -> bool:
        if any(lane not in meeting.values for lane in lanes(meeting.mask & self.alive)):
            return False
        del self.meetings[key]
        meeting.gate.open()
        return True


def lanes(mask: int) -> list[int]:
    """The lanes of a mask.

    >>> lanes(0b1010)
    [1, 3]
    """
    return [lane for lane in range(32) if mask >> lane & 1]


def ballot(meeting: Meeting) -> int:
    """The lanes for which the predicate holds."""
    return sum(1 << lane for lane, value in meeting.values.items() if value)


def same(meeting: Meeting, lane: int) -> int:
    """The lanes with the value of this one."""
    return sum(1 << other for other, value in meeting.values.items() if value == meeting.values[lane])
