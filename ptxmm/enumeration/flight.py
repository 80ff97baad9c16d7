"""The base sets and relations of copies, mbarriers and tensor maps: what is out of program order, what covers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.path import Step
from ptxmm.enumeration.scopes import cluster, cta
from ptxmm.enumeration.skeleton import Event, Skeleton
from ptxmm.program import Fence, Place, Program, ProxyFence, Space

SETS_OF_STEPS: dict[str, Callable[[Step], bool]] = {
    "START": lambda step: step.kind == "S",
    "OUT": lambda step: step.late and step.kind in "RW",
    "GROUP": lambda step: step.kind == "G",
    "MB": lambda step: step.operation is not None,
    "DONE": lambda step: step.operation is not None and step.late,
    "ARRIVE": lambda step: step.operation is not None and arrives(step),
    "INIT": lambda step: step.operation is not None and step.operation.kind == "init",
    "INVAL": lambda step: step.operation is not None and step.operation.kind == "inval",
    "AWAIT": lambda step: step.operation is not None and step.operation.kind == "wait",
    "MBINIT": lambda step: window(step) == "mbarrier_init",
    "READS": lambda step: (window(step) or "").endswith("::read"),
    "RESTRICT": lambda step: window(step) is not None,
}


def arrives(step: Step) -> bool:
    """Whether an operation is an arrival, or the completion of bytes."""
    return step.operation is not None and step.operation.kind in ("arrive", "drop", "complete")


def window(step: Step) -> str | None:
    """The window of a restricted fence."""
    return step.item.window if isinstance(step.item, Fence | ProxyFence) else None


def busy(step: Step) -> bool:
    """Whether only tests with copies, mbarriers or proxies have such a step."""
    return step.kind in "SGAK" or step.late or isinstance(step.item, ProxyFence) or step.via is not None


# --- relations between any two events --------------------------------------------------------------------------------


def in_window(program: Program, access: Event, fence: Event, place: Place) -> bool:
    """Whether an access of shared memory lies in the window of a restricted fence."""
    if access.spot is None or access.step is None or fence.step is None:
        return False
    named = window(fence.step)
    if named is None or not named.startswith("shared"):
        return False
    return holds(program, access.spot, "shared::cta" if named == "shared::cta" else "shared::cluster", place)


def in_space(program: Program, access: Event, fence: Event, place: Place) -> bool:
    """Whether an access lies in the state space that a `fence.proxy.async` names."""
    if access.spot is None or fence.step is None:
        return False
    item = fence.step.item
    if not isinstance(item, ProxyFence) or item.kind != "async":
        return False
    return item.space is None or holds(program, access.spot, item.space, place)


def holds(program: Program, spot: Spot, space: str, place: Place) -> bool:
    """Whether some bytes lie in a state space as a thread at a place sees it."""
    thing = program.physical(spot.object)
    if space == "global":
        return thing.space is not Space.SHARED
    if thing.space is not Space.SHARED or thing.owner is None:
        return False
    return cta(thing.owner) == cta(place) if space == "shared::cta" else cluster(thing.owner) == cluster(place)


def same_mbarrier(one: Event, other: Event) -> bool:
    """Whether two operations are on one mbarrier, or one is an access of its bytes."""
    if one.step is None or other.step is None or one.id == other.id:
        return False
    mine, theirs = one.step.mbarrier, other.step.mbarrier
    if mine is not None and theirs is not None:
        return mine.matches(theirs)
    access = one.spot if theirs is not None else other.spot
    mark = mine or theirs
    return mark is not None and access is not None and mark.meets(access)


def acquires(fence: Event, read: Event) -> bool:
    """Whether a fence acquires the tensor map that a copy reads."""
    covered = fence.step.covered if fence.step is not None else None
    spot = read.spot
    if covered is None or spot is None or read.step is None or read.kind != "R" or not read.step.late:
        return False
    inside = covered.offset <= spot.offset and spot.offset + spot.size <= covered.offset + covered.size
    return covered.object == spot.object and covered.virtual == spot.virtual and inside


def same_copy(one: Event, other: Event) -> bool:
    """Whether one copy of a thread does both out of program order."""
    if one.step is None or other.step is None or one.thread != other.thread:
        return False
    return one.step.late and one.step.issue == other.step.issue


# --- relations within a thread ---------------------------------------------------------------------------------------


def issued(step: Step) -> tuple[int, ...]:
    """The position of the start of the copy that does this."""
    return () if step.issue is None else (step.issue,)


# --- uses of shared memory from elsewhere ----------------------------------------------------------------------------


def owner(program: Program, event: Event) -> Place | None:
    """The CTA, with threads in the test, whose shared memory an event uses from another CTA or by a copy."""
    if event.step is None or event.thread is None:
        return None
    spot = event.spot or event.step.mbarrier
    place = program.physical(spot.object).owner if spot is not None else None
    if place is None or not any(cta(thread.place) == cta(place) for thread in program.threads):
        return None
    return place if event.step.late or cta(place) != cta(program.threads[event.thread].place) else None


def is_far(program: Program, event: Event) -> bool:
    """Whether an event uses the shared memory of another CTA."""
    place = owner(program, event)
    return place is not None and event.thread is not None and cta(place) != cta(program.threads[event.thread].place)


def is_of_declared(program: Program, event: Event) -> bool:
    """Whether an event accesses the bytes of an mbarrier that is live from the start."""
    if event.thread is None or event.kind not in ("R", "W") or event.spot is None:
        return False
    return program.physical(event.spot.object).mbarrier is not None


def is_lent(skeleton: Skeleton, event: Event) -> bool:
    """Whether an event uses, from elsewhere or by a copy, the shared memory of a CTA that ends."""
    place = owner(skeleton.program, event)
    return place is not None and all(
        path.end == "end"
        for path, thread in zip(skeleton.paths, skeleton.program.threads, strict=True)
        if cta(thread.place) == cta(place)
    )


def tenants(skeleton: Skeleton) -> Iterator[tuple[int, int]]:
    """From each use of shared memory from elsewhere to all that the threads of its CTA do in program order."""
    program = skeleton.program
    for event in skeleton.events:
        place = owner(program, event)
        for other in skeleton.events if place is not None else ():
            if other.thread is None or other.step is None or other.step.late or other.id == event.id:
                continue
            if place is not None and cta(program.threads[other.thread].place) == cta(place):
                yield event.id, other.id
