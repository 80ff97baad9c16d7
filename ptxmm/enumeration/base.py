"""The base sets and relations of a candidate execution, as sets of event numbers and of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ptxmm.enumeration.path import Step
from ptxmm.enumeration.skeleton import Event, Skeleton
from ptxmm.program import Atomic, Fence, Load, Order, Place, Proxy, ProxyFence, Scope, Space, Store

Pairs = frozenset[tuple[int, int]]
Events = frozenset[int]
PROXIES = {"SUR": Proxy.SURFACE, "TEX": Proxy.TEXTURE, "CON": Proxy.CONSTANT}
SCOPES = {"CTA": Scope.CTA, "CLUSTER": Scope.CLUSTER, "GPU": Scope.GPU, "SYS": Scope.SYS}


def includes(scope: Scope, one: Place, other: Place) -> bool:
    """Whether a scope named by a thread at `one` contains a thread at `other` (PTX ISA, "Scope").

    >>> includes(Scope.CTA, Place(0, 0, 0), Place(0, 0, 1)), includes(Scope.CLUSTER, Place(0, 0, 0), Place(0, 0, 1))
    (False, True)
    """
    match scope:
        case Scope.CTA:
            return cta(one) == cta(other)
        case Scope.CLUSTER:
            return cluster(one) == cluster(other)
        case Scope.GPU:
            return one.device == other.device
    return True


def cta(place: Place) -> tuple[int, int, int]:
    """What the places of one CTA have in common."""
    return place.kernel, place.device, place.cta


def cluster(place: Place) -> tuple[int, int, int]:
    """What the places of one cluster have in common."""
    return place.kernel, place.device, place.cluster


def proxy(step: Step) -> Proxy | None:
    """The proxy of an access or proxy fence; None for an alias fence, which has none."""
    item = step.item
    if isinstance(item, Load | Store):
        return item.proxy
    if isinstance(item, ProxyFence):
        return None if item.kind == "alias" else Proxy(item.kind)
    return Proxy.GENERIC


def base_sets(skeleton: Skeleton) -> dict[str, Events]:
    """Every base set by its name in `model.SETS`."""
    steps = skeleton.steps()

    def having(test: Callable[[Step], bool]) -> Events:
        return frozenset(event.id for event, step in steps if test(step))

    initial = frozenset(event.id for event in skeleton.events if event.thread is None)
    reads, writes = having(lambda s: s.kind == "R"), having(lambda s: s.kind == "W")
    barriers = having(lambda s: s.kind == "B")
    fences = having(lambda s: isinstance(s.item, Fence))
    accesses = reads | writes
    reductions = having(lambda s: isinstance(s.item, Atomic) and s.item.reduction and s.kind in "RW")

    def ordered(order: Order) -> Events:
        return having(lambda s: s.order is order)

    found = {
        "_": frozenset(event.id for event in skeleton.events),
        "M": accesses | initial,
        "R": reads,
        "W": writes | initial,
        "IW": initial,
        "F": having(lambda s: s.kind == "F") | barriers,
        "B": barriers,
        "RMW": having(lambda s: isinstance(s.item, Atomic)),
        "RED": frozenset() if skeleton.program.conventions.reductions_read else reductions,
        "WEAK": (accesses & ordered(Order.WEAK)) | initial,
        "RLX": accesses & ordered(Order.RELAXED),
        "ACQ": (reads | fences) & ordered(Order.ACQUIRE),
        "REL": (writes | fences) & ordered(Order.RELEASE),
        "ACQ_REL": fences & ordered(Order.ACQ_REL),
        "SC": fences & ordered(Order.SC),
        "GEN": having(lambda s: proxy(s) is Proxy.GENERIC) | initial,
        "ALIAS": having(lambda s: isinstance(s.item, ProxyFence) and s.item.kind == "alias"),
        "RESTRICT": having(lambda s: isinstance(s.item, Fence) and s.item.window is not None),
    }
    found |= {name: having(lambda s, p=which: proxy(s) is p) for name, which in PROXIES.items()}  # type: ignore[misc]
    found |= {name: having(lambda s, w=which: s.scope is w) for name, which in SCOPES.items()}  # type: ignore[misc]
    return found


def base_relations(skeleton: Skeleton) -> dict[str, Pairs]:
    """Every base relation of `model.RELATIONS` that the paths alone decide."""
    events, at = skeleton.events, skeleton.at
    steps = skeleton.steps()

    def pairs(test: Callable[[Event, Event], bool]) -> Pairs:
        return frozenset((one.id, other.id) for one in events for other in events if test(one, other))

    def near(key: Callable[[Place], object]) -> Pairs:
        places = [(event.id, place) for event in events if (place := skeleton.place(event)) is not None]
        return frozenset((a, b) for a, one in places for b, other in places if key(one) == key(other))

    def depends(reads: Callable[[Step], Iterable[int]]) -> Pairs:
        return frozenset(
            (at[event.thread, read], event.id) for event, step in steps if event.thread is not None
            for read in reads(step)
        )  # fmt: skip

    po, loc = pairs(program_order), pairs(overlap)
    return {
        "id": frozenset((event.id, event.id) for event in events),
        "po": po,
        "int": pairs(lambda a, b: a.thread is not None and a.thread == b.thread),
        "ext": pairs(lambda a, b: a.id != b.id and (a.thread is None or a.thread != b.thread)),
        "loc": loc,
        "vloc": pairs(virtual_overlap),
        "full": pairs(lambda a, b: a.spot is not None and b.spot is not None and a.spot.matches(b.spot)),
        "po-loc": po & loc,
        "rmw": depends(lambda s: () if s.partner is None else (s.partner,)),
        "addr": depends(lambda s: s.addr),
        "data": depends(lambda s: s.data),
        "ctrl": depends(lambda s: s.ctrl),
        "sr": pairs(lambda a, b: mutual(skeleton, a, b)),
        "scta": near(cta),
        "scluster": near(cluster),
        "sgpu": near(lambda place: place.device),
        "inwindow": pairs(lambda a, b: in_window(skeleton, a, b)),
    }


def program_order(one: Event, other: Event) -> bool:
    """Program order: not between the elements of one access, but from an atomic's read to its write."""
    if one.step is None or other.step is None or one.thread != other.thread or one.position >= other.position:
        return False
    return one.step.node != other.step.node or other.step.partner == one.position


def overlap(one: Event, other: Event) -> bool:
    """Overlap in physical memory."""
    return one.spot is not None and other.spot is not None and one.spot.meets(other.spot)


def virtual_overlap(one: Event, other: Event) -> bool:
    """Overlap in virtual addresses; an initial write is seen through each."""
    if one.spot is None or other.spot is None or not one.spot.meets(other.spot):
        return False
    return one.thread is None or other.thread is None or one.spot.virtual == other.spot.virtual


def mutual(skeleton: Skeleton, one: Event, other: Event) -> bool:
    """Whether both name a scope and each scope includes the other's thread."""
    here, there = skeleton.place(one), skeleton.place(other)
    if one.step is None or other.step is None or here is None or there is None:
        return False
    first, second = one.step.scope, other.step.scope
    return first is not None and second is not None and includes(first, here, there) and includes(second, there, here)


def in_window(skeleton: Skeleton, access: Event, fence: Event) -> bool:
    """Whether an access of shared memory lies in the window of a restricted fence."""
    place = skeleton.place(fence)
    if access.spot is None or access.step is None or fence.step is None or place is None:
        return False
    item, thing = fence.step.item, skeleton.program.physical(access.spot.object)
    if not isinstance(item, Fence) or item.window is None or thing.space is not Space.SHARED or thing.owner is None:
        return False
    return cta(thing.owner) == cta(place) if item.window == "shared::cta" else cluster(thing.owner) == cluster(place)
