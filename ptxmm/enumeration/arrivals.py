"""The arrivals at each execution barrier of a candidate, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ptxmm.enumeration.path import MEETINGS, Arrival
from ptxmm.enumeration.rows import Pairs
from ptxmm.enumeration.scopes import cluster, cta
from ptxmm.enumeration.skeleton import Event, Skeleton
from ptxmm.program import Barrier, ClusterBarrier, Elect, Place, WarpSync

Rows = dict[int, list[Event]]


def grouped(skeleton: Skeleton, key: Callable[[Skeleton, Event], Any | None]) -> dict[Any, Rows]:
    """The events of each barrier, by thread and in program order."""
    found: dict[Any, Rows] = {}
    for event in skeleton.events:
        if event.kind in MEETINGS and event.thread is not None and (own := key(skeleton, event)) is not None:
            found.setdefault(own, {}).setdefault(event.thread, []).append(event)
    return found


def members(skeleton: Skeleton, group: Callable[[Place], object], place: object) -> frozenset[int]:
    """The threads of a CTA or cluster."""
    return frozenset(i for i, thread in enumerate(skeleton.program.threads) if group(thread.place) == place)


def own_place(skeleton: Skeleton, event: Event) -> Place:
    """Where the thread of an event runs."""
    place = skeleton.place(event)
    assert place is not None
    return place


def bar_key(skeleton: Skeleton, event: Event) -> tuple[Any, ...] | None:
    """The CTA, the barrier's number, and the instance in Dartagnan's dialect."""
    item, place = item_of(event), own_place(skeleton, event)
    return (cta(place), arrival(event).id, item.instance) if isinstance(item, Barrier) else None


def cluster_key(skeleton: Skeleton, event: Event) -> tuple[Any, ...] | None:
    """The cluster."""
    return (cluster(own_place(skeleton, event)),) if isinstance(item_of(event), ClusterBarrier) else None


def warp_key(skeleton: Skeleton, event: Event) -> tuple[Any, ...] | None:
    """The warp and the participants: the threads of the warp whose lanes are in the mask."""
    return lanes_of(skeleton, event) if isinstance(item_of(event), WarpSync) else None


def election_key(skeleton: Skeleton, event: Event) -> tuple[Any, ...] | None:
    """The warp and the lanes of which one is elected, as for `bar.warp.sync`."""
    return lanes_of(skeleton, event) if isinstance(item_of(event), Elect) else None


def lanes_of(skeleton: Skeleton, event: Event) -> tuple[Any, ...]:
    """The warp and the threads of it that an instruction with a mask names."""
    place, mask = own_place(skeleton, event), arrival(event).mask
    if place.warp is None or place.lane is None:
        return (event.thread,), frozenset({event.thread})
    lanes = frozenset(
        i for i, thread in enumerate(skeleton.program.threads)
        if cta(thread.place) == cta(place) and thread.place.warp == place.warp and thread.place.lane is not None
        and (mask is None or mask >> thread.place.lane & 1)
    )  # fmt: skip
    return (cta(place), place.warp), lanes


def item_of(event: Event) -> object:
    """The instruction of an event."""
    return event.step.item if event.step is not None else None


def arrival(event: Event) -> Arrival:
    """What the barrier of an event was given."""
    assert event.step is not None
    assert event.step.barrier is not None
    return event.step.barrier


def passed(skeleton: Skeleton, event: Event) -> bool:
    """Whether this is a wait that its thread went on from."""
    if event.step is None or event.thread is None or not event.step.waits:
        return False
    path = skeleton.paths[event.thread]
    return path.end != "stuck" or event.position < len(path.steps) - 1


def between(skeleton: Skeleton, sources: Iterable[Event], targets: Iterable[Event]) -> Pairs:
    """From each source to each wait of another thread that is over."""
    ends = [event for event in targets if passed(skeleton, event)]
    return frozenset((one.id, other.id) for one in sources for other in ends if one.thread != other.thread)


def ids(group: Iterable[Event]) -> frozenset[int]:
    """The numbers of events."""
    return frozenset(event.id for event in group)


def is_wait(event: Event) -> bool:
    """Whether the thread goes on only after others have come."""
    return event.step is not None and event.step.waits
