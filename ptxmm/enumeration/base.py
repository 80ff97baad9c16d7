"""The base sets and relations of a candidate execution, put together from those of the paths in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ptxmm.enumeration import flight
from ptxmm.enumeration.path import Path, Step
from ptxmm.enumeration.rows import Rows, mask
from ptxmm.enumeration.scopes import cluster, cta, includes
from ptxmm.enumeration.skeleton import Event
from ptxmm.program import Atomic, Load, Order, Place, Program, Proxy, ProxyFence, Scope, Store
from ptxmm.vocabulary import RELATIONS, SETS

PROXIES = {
    "SUR": Proxy.SURFACE, "TEX": Proxy.TEXTURE, "CON": Proxy.CONSTANT, "ASY": Proxy.ASYNC, "TMAP": Proxy.TENSORMAP,
}  # fmt: skip
SCOPES = {"CTA": Scope.CTA, "CLUSTER": Scope.CLUSTER, "GPU": Scope.GPU, "SYS": Scope.SYS}


def proxy(step: Step) -> Proxy | None:
    """The proxy of an access or proxy fence; None for an alias fence, which has none."""
    item = step.item
    if step.via is not None:
        return step.via
    if isinstance(item, Load | Store):
        return item.proxy
    if isinstance(item, ProxyFence):
        return None if item.kind == "alias" else Proxy(item.kind)
    return Proxy.GENERIC


@dataclass(frozen=True, eq=False)
class Strand:
    """The events of one path of a thread, or the initial writes, numbered from 0."""

    program: Program
    events: tuple[Event, ...]
    path: Path | None = None

    @cached_property
    def busy(self) -> bool:
        """Whether there are copies, mbarriers or proxy fences."""
        return any(event.step is not None and flight.busy(event.step) for event in self.events)

    @cached_property
    def sets(self) -> dict[str, int]:
        """Every base set by its name in `vocabulary.SETS`."""
        steps = [(event.id, event.step) for event in self.events if event.step is not None]

        def having(test: Callable[[Step], bool]) -> int:
            return mask(number for number, step in steps if test(step))

        initial = mask(event.id for event in self.events if event.thread is None)
        reads, writes = having(lambda s: s.kind == "R"), having(lambda s: s.kind == "W")
        barriers = having(lambda s: s.kind == "B")
        fences = having(lambda s: s.kind == "F")
        waits = having(lambda s: s.operation is not None and s.operation.kind == "wait")
        arrivals = having(lambda s: s.operation is not None) & ~waits
        accesses = reads | writes
        partners = mask(
            at
            for event in self.events
            if (step := event.step) is not None and step.partner is not None
            for at in (step.partner, event.id)
        )
        reductions = having(lambda s: isinstance(s.item, Atomic) and s.item.reduction and s.kind in "RW")

        def ordered(order: Order) -> int:
            return having(lambda s: s.order is order)

        found = {
            "_": (1 << len(self.events)) - 1,
            "M": accesses | initial,
            "R": reads,
            "W": writes | initial,
            "IW": initial,
            "F": having(lambda s: s.kind == "F") | barriers,
            "B": barriers,
            "RMW": having(lambda s: isinstance(s.item, Atomic)) | partners,
            "RED": 0 if self.program.conventions.reductions_read else reductions,
            "WEAK": (accesses & ordered(Order.WEAK)) | initial,
            "RLX": (accesses | waits | arrivals) & ordered(Order.RELAXED),
            "ACQ": (reads | fences | waits) & ordered(Order.ACQUIRE),
            "REL": (writes | fences | arrivals) & ordered(Order.RELEASE),
            "ACQ_REL": fences & ordered(Order.ACQ_REL),
            "SC": fences & ordered(Order.SC),
            "GEN": having(lambda s: proxy(s) is Proxy.GENERIC) | initial,
            "ALIAS": having(lambda s: isinstance(s.item, ProxyFence) and s.item.kind == "alias"),
            "FAR": mask(event.id for event in self.events if flight.is_far(self.program, event)),
            "LIVE": mask(event.id for event in self.events if flight.is_of_declared(self.program, event)),
        }
        found |= {name: having(test) for name, test in flight.SETS_OF_STEPS.items()}
        found |= {name: having(lambda s, p=which: proxy(s) is p) for name, which in PROXIES.items()}  # type: ignore[misc]
        found |= {name: having(lambda s, w=which: s.scope is w) for name, which in SCOPES.items()}  # type: ignore[misc]
        return found

    def related(self, other: Strand) -> dict[str, Rows]:
        """The base relations of `vocabulary.RELATIONS` that the paths alone decide, from these events to other ones."""
        program, busy = self.program, self.busy or other.busy
        found: dict[str, list[int]] = {name: [0] * len(self.events) for name in FROM_PATHS}
        for one in self.events:
            here = program.threads[one.thread].place if one.thread is not None else None
            for two in other.events:
                bit, there = 1 << two.id, program.threads[two.thread].place if two.thread is not None else None
                same = self is other and one.id == two.id
                inside = one.thread is not None and one.thread == two.thread
                before, meets = program_order(one, two), overlap(one, two)
                holds = {
                    "id": same,
                    "po": before,
                    "int": inside,
                    "ext": not same and not inside,
                    "loc": meets,
                    "vloc": meets and virtual_overlap(one, two),
                    "full": meets and one.spot is not None and two.spot is not None and one.spot.matches(two.spot),
                    "po-loc": before and meets,
                    "sr": here is not None and there is not None and mutual(one, here, two, there),
                    "scta": here is not None and there is not None and cta(here) == cta(there),
                    "scluster": here is not None and there is not None and cluster(here) == cluster(there),
                    "sgpu": here is not None and there is not None and here.device == there.device,
                    "inwindow": there is not None and flight.in_window(program, one, two, there),
                }
                if busy:
                    holds |= {
                        "inspace": there is not None and flight.in_space(program, one, two, there),
                        "mbloc": flight.same_mbarrier(one, two),
                        "acquires": flight.acquires(one, two),
                        "same-copy": flight.same_copy(one, two),
                    }
                for name, true in holds.items():
                    if true:
                        found[name][one.id] |= bit
        if self is other:
            for name, reads in DEPENDENCIES.items():
                for event in self.events:
                    for read in reads(event.step) if event.step is not None else ():
                        found[name][read] |= 1 << event.id
        return {name: tuple(given) for name, given in found.items()}


DEPENDENCIES: dict[str, Callable[[Step], Iterable[int]]] = {
    "rmw": lambda step: () if step.partner is None else (step.partner,),
    "addr": lambda step: step.addr,
    "data": lambda step: step.data,
    "ctrl": lambda step: step.ctrl,
    "issued": flight.issued,
    "done": lambda step: step.done,
}
FROM_PATHS = (
    "id", "po", "int", "ext", "loc", "vloc", "full", "po-loc", "sr", "scta", "scluster", "sgpu", "inwindow",
    "inspace", "mbloc", "acquires", "same-copy", *DEPENDENCIES,
)  # fmt: skip


@dataclass
class Bases:
    """The base sets and relations of candidates, from those of their strands, which many candidates share."""

    program: Program
    names: tuple[str, ...] = FROM_PATHS
    known: dict[tuple[int, int], dict[str, Rows]] = field(default_factory=dict)

    def of(self, strands: tuple[Strand, ...]) -> tuple[dict[str, int], dict[str, Rows]]:
        """The sets and relations of the events of some strands, one strand after another.

        What depends on more than single events, as barriers do, is empty.
        """
        shifts, size = [], 0
        for strand in strands:
            shifts.append(size)
            size += len(strand.events)
        together = list(zip(strands, shifts, strict=True))
        sets = dict.fromkeys(SETS, 0)
        for strand, shift in together:
            for name, events in strand.sets.items():
                sets[name] |= events << shift
        relations: dict[str, list[int]] = {name: [] for name in self.names}
        for strand in strands:
            blocks = [(self.between(strand, other), shift) for other, shift in together]
            for name, found in relations.items():
                columns = [(block[name], shift) for block, shift in blocks]
                for event in range(len(strand.events)):
                    row = 0
                    for block, shift in columns:
                        row |= block[event] << shift
                    found.append(row)
        empty = dict.fromkeys(RELATIONS, (0,) * size)
        return sets, empty | {name: tuple(found) for name, found in relations.items()}

    def between(self, one: Strand, other: Strand) -> dict[str, Rows]:
        key = id(one), id(other)
        if key not in self.known:
            self.known[key] = one.related(other)
        return self.known[key]


def program_order(one: Event, other: Event) -> bool:
    """Program order: not between the elements of one access, but from an atomic's read to its write."""
    if one.step is None or other.step is None or one.thread != other.thread or one.position >= other.position:
        return False
    if one.step.late or other.step.late:
        return False
    return one.step.node != other.step.node or other.step.partner == one.position or other.step.closes


def overlap(one: Event, other: Event) -> bool:
    """Overlap in physical memory."""
    return one.spot is not None and other.spot is not None and one.spot.meets(other.spot)


def virtual_overlap(one: Event, other: Event) -> bool:
    """Overlap in virtual addresses, for two that overlap in physical memory; an initial write is seen through each."""
    if one.spot is None or other.spot is None:
        return False
    return one.thread is None or other.thread is None or one.spot.virtual == other.spot.virtual


def mutual(one: Event, here: Place, other: Event, there: Place) -> bool:
    """Whether both name a scope and each scope includes the other's thread."""
    if one.step is None or other.step is None:
        return False
    first, second = one.step.scope, other.step.scope
    return first is not None and second is not None and includes(first, here, there) and includes(second, there, here)
