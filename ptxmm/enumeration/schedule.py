"""Whether the events of a candidate can happen in some order that the execution barriers let pass."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.enumeration.barriers import Plan
from ptxmm.enumeration.base import cta
from ptxmm.enumeration.skeleton import Event, Skeleton
from ptxmm.program import Program


@dataclass
class Schedule:
    """The least fixpoint of what has happened: events, complete barrier generations, ended threads."""

    skeleton: Skeleton
    plan: Plan
    sources: dict[int, set[int]]
    happened: set[int] = field(default_factory=set)
    complete: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)

    def run(self) -> None:
        """Let everything happen that can."""
        self.happened = {event.id for event in self.skeleton.events if event.thread is None}
        before = None
        while before != (before := (len(self.happened), len(self.complete), len(self.ended))):
            for event in self.skeleton.events:
                if event.id not in self.happened and self.can_happen(event):
                    self.happened.add(event.id)
            for thread, path in enumerate(self.skeleton.paths):
                if path.end == "end" and self.has_started(thread) and self.has_done(thread, len(path.steps)):
                    self.ended.add(thread)
            for number in range(len(self.plan.generations)):
                if self.can_complete(number):
                    self.complete.add(number)

    def has_done(self, thread: int, steps: int) -> bool:
        """Whether a thread's first steps have happened and its waits among them are over."""
        ids = [self.skeleton.at[thread, position] for position in range(steps)]
        return all(one in self.happened for one in ids) and self.has_passed(thread, steps)

    def has_passed(self, thread: int, steps: int) -> bool:
        waits = (self.skeleton.at[thread, at] for at in range(steps) if self.skeleton.paths[thread].steps[at].waits)
        return all(self.plan.generation[one] in self.complete for one in waits)

    def can_happen(self, event: Event) -> bool:
        """Memory events wait for what they depend on and for earlier barriers, barriers for all that is before them."""
        assert event.thread is not None
        if not self.has_started(event.thread):
            return False
        if event.kind == "B":
            number = self.plan.generation[event.id]
            previous = self.plan.generations[number].previous
            return (previous is None or previous in self.complete) and self.has_done(event.thread, event.position)
        return self.sources.get(event.id, set()) <= self.happened and self.has_passed(event.thread, event.position)

    def has_started(self, thread: int) -> bool:
        """Whether the CTA that a thread is placed after has ended."""
        return self.skeleton.program.threads[thread].after is None or all(
            other in self.ended for other in predecessors(self.skeleton.program, thread)
        )

    def can_complete(self, number: int) -> bool:
        group = self.plan.generations[number]
        arrived = len(group.arrivals & self.happened)
        enough = len(group.arrivals) if group.enough is None else group.enough
        return group.possible and arrived >= enough and group.ended <= self.ended


def predecessors(program: Program, thread: int) -> list[int]:
    """The threads of the CTA that a thread is placed after."""
    name = program.threads[thread].after
    first = program.thread(name).place if name is not None else None
    return [i for i, other in enumerate(program.threads) if first is not None and cta(other.place) == cta(first)]


def possible(skeleton: Skeleton, plan: Plan, sources: dict[int, set[int]]) -> bool:
    """Whether all of the candidate happens, its waits end, and those where a thread is stuck do not."""
    schedule = Schedule(skeleton, plan, sources)
    schedule.run()
    stuck = {
        skeleton.at[thread, len(path.steps) - 1] for thread, path in enumerate(skeleton.paths) if path.end == "stuck"
    }
    waiting = (thread for thread, path in enumerate(skeleton.paths) if path.end == "waiting")
    if any(schedule.has_started(thread) for thread in waiting):
        return False
    return len(schedule.happened) == len(skeleton.events) and all(
        (plan.generation[event.id] in schedule.complete) != (event.id in stuck)
        for event, step in skeleton.steps()
        if step.waits
    )
