"""Whether the events of a candidate can happen in some order that the execution barriers let pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from ptxmm.enumeration.barriers import Plan
from ptxmm.enumeration.base import proxy
from ptxmm.enumeration.launch import blocks, depends_on, ended_before, members, several, triggers
from ptxmm.enumeration.limits import THIN_AIR, GaveUp
from ptxmm.enumeration.path import MEETINGS
from ptxmm.enumeration.scopes import cta
from ptxmm.enumeration.skeleton import Event, Skeleton
from ptxmm.program import Program

if TYPE_CHECKING:
    from ptxmm.enumeration.search import Found


@dataclass
class Schedule:
    """The least fixpoint of what has happened: events, complete barrier generations, ended threads."""

    skeleton: Skeleton
    plan: Plan
    sources: dict[int, set[int]]
    first: frozenset[int] = frozenset()
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
        """Whether a thread's first steps have happened, those of copies apart, and its waits among them are over."""
        path = self.skeleton.paths[thread]
        ids = [self.skeleton.at[thread, at] for at in range(steps) if not path.steps[at].late]
        return all(one in self.happened for one in ids) and self.has_passed(thread, steps)

    def has_passed(self, thread: int, steps: int) -> bool:
        waits = (at for at in range(steps) if self.skeleton.paths[thread].steps[at].waits)
        return all(self.is_over(self.skeleton.events[self.skeleton.at[thread, at]]) for at in waits)

    def is_over(self, wait: Event) -> bool:
        """Whether a wait for others is over."""
        if wait.id in self.plan.generation:
            return self.plan.generation[wait.id] in self.complete
        place = self.skeleton.place(wait)
        assert place is not None
        program = self.skeleton.program
        return self.ended.issuperset(members(program, depends_on(program, place.kernel)))

    def can_happen(self, event: Event) -> bool:
        """All wait for what they depend on and for earlier waits, arrivals also for earlier arrivals and launches."""
        assert event.thread is not None
        if not self.has_started(event.thread) or not self.may_trigger(event):
            return False
        if event.kind in MEETINGS:
            number = self.plan.generation[event.id]
            previous = self.plan.generations[number].previous
            if (previous is not None and previous not in self.complete) or not self.has_met(event):
                return False
        return self.sources.get(event.id, set()) <= self.happened and self.has_passed(event.thread, event.position)

    def has_met(self, arrival: Event) -> bool:
        """Whether the arrivals and launches before an arrival in its thread have happened."""
        assert arrival.thread is not None
        steps = self.skeleton.paths[arrival.thread].steps[: arrival.position]
        before = (
            self.skeleton.at[arrival.thread, at] for at, step in enumerate(steps) if step.kind in (*MEETINGS, "K")
        )
        return self.happened.issuperset(before)

    def has_started(self, thread: int) -> bool:
        """Whether what a thread starts after has ended, or has launched the thread's kernel."""
        program = self.skeleton.program
        first = depends_on(program, program.threads[thread].place.kernel)
        return self.ended.issuperset(predecessors(program, thread)) and (
            first is None or all(self.lets_start(block) for block in blocks(program, first))
        )

    def may_trigger(self, event: Event) -> bool:
        """Whether an event is no trigger, or the first of its CTA, or comes after that."""
        if event.step is None or not triggers(event.step) or event.id in self.first:
            return True
        mine = self.skeleton.place(event)
        for one in self.first - self.happened:
            place = self.skeleton.place(self.skeleton.events[one])
            if mine is not None and place is not None and cta(place) == cta(mine):
                return False
        return True

    def lets_start(self, block: list[int]) -> bool:
        """Whether a CTA lets dependent kernels start: it has said so, or has ended."""
        said = (e.id in self.happened for e, step in self.skeleton.steps() if e.thread in block and triggers(step))
        return any(said) or self.ended.issuperset(block)

    def can_complete(self, number: int) -> bool:
        group = self.plan.generations[number]
        arrived = len(group.arrivals & self.happened)
        enough = len(group.arrivals) if group.enough is None else group.enough
        return group.possible and arrived >= enough and group.ended <= self.ended


def predecessors(program: Program, thread: int) -> list[int]:
    """The threads of the CTA that a thread is placed after, and of the kernels that end before its kernel starts."""
    mine = program.threads[thread]
    first = program.thread(mine.after).place if mine.after is not None else None
    over = ended_before(program, mine.place.kernel)
    return [
        i for i, other in enumerate(program.threads)
        if other.place.kernel in over or (first is not None and cta(other.place) == cta(first))
    ]  # fmt: skip


def possible(skeleton: Skeleton, plan: Plan, sources: dict[int, set[int]], first: frozenset[int]) -> bool:
    """Whether all of the candidate happens, its waits end, and those where a thread is stuck do not."""
    schedule = Schedule(skeleton, plan, sources, first)
    schedule.run()
    stuck = {
        skeleton.at[thread, len(path.steps) - 1] for thread, path in enumerate(skeleton.paths) if path.end == "stuck"
    }
    waiting = (thread for thread, path in enumerate(skeleton.paths) if path.end == "waiting")
    if any(schedule.has_started(thread) for thread in waiting):
        return False
    return len(schedule.happened) == len(skeleton.events) and all(
        schedule.is_over(event) != (event.id in stuck) for event, step in skeleton.steps() if step.waits
    )


def happens(skeleton: Skeleton, plan: Plan, found: Found) -> bool:
    """Whether barriers, places and launches let the candidate happen; without them nothing stands in its way.

    When a read through another proxy finds what was written, the barriers do not tell. Nor is there an order to tell of
    where events wait for each other in a circle, which the model has allowed.
    """
    late = any(thread.after is not None for thread in skeleton.program.threads) or several(skeleton.program)
    if not late and not any(event.kind in MEETINGS for event in skeleton.events):
        return True
    before: dict[int, set[int]] = {}
    for earlier, later in (*filter(one_proxy(skeleton), found.sources.rf), *found.turn.phase, *found.turn.reached):
        before.setdefault(later, set()).add(earlier)
    for event, step in skeleton.steps():
        if event.thread is not None:
            needed = step.data | step.addr | step.ctrl | step.done | ({step.issue} if step.issue is not None else set())
            before.setdefault(event.id, set()).update(skeleton.at[event.thread, one] for one in needed)
    if possible(skeleton, plan, before, found.first):
        return True
    if circular(before):
        raise GaveUp(THIN_AIR)
    return False


def circular(before: dict[int, set[int]]) -> bool:
    """Whether something comes before itself."""
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return True
    return False


def one_proxy(skeleton: Skeleton) -> Callable[[tuple[int, int]], bool]:
    """Whether a read is by the proxy of the write that it reads from, or from an initial write."""

    def same(pair: tuple[int, int]) -> bool:
        first, second = (skeleton.events[one].step for one in pair)
        return first is None or second is None or proxy(first) is proxy(second)

    return same
