"""The base relations of mbarriers and of copies: what they do out of program order, and what fences cover of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.mbarriers import Mbarriers
from ptxmm.program import Place, ProxyFence, Scope, Space
from ptxmm.tags import includes

Pairs = Iterable[tuple[int, int, Lit]]
KINDS = {
    "init": ("INIT",),
    "inval": ("INVAL",),
    "arrive": ("ARRIVE",),
    "drop": ("ARRIVE",),
    "complete": ("ARRIVE",),
    "wait": ("AWAIT",),
}


def names(event: Event) -> tuple[str, ...]:
    """The sets of copies and mbarriers that an event is in."""
    if event.kind == "S":
        return ("START",)
    if event.kind == "G":
        return ("GROUP",)
    if event.kind == "A":
        assert event.operation is not None
        late = ("DONE",) if event.issue >= 0 else ()
        return ("MB", *KINDS.get(event.operation.kind, ()), *late)
    return ("OUT",) if event.issue >= 0 else ()


class InFlight:
    """The relations of copies and mbarriers on one event graph."""

    def __init__(self, graph: EventGraph, mbarriers: Callable[[], Mbarriers]) -> None:
        self.graph, self.events, self.program, self._mbarriers = graph, graph.events, graph.program, mbarriers

    @property
    def mbarriers(self) -> Mbarriers:
        """The mbarriers, which most of these relations do not need."""
        return self._mbarriers()

    def pairs(self, name: str) -> Pairs:
        """The pairs of one of these relations, with their literals."""
        return {
            "mbo": lambda: self.mbarriers.order(),
            "mbnext": lambda: self.mbarriers.next(),
            "phase": lambda: self.mbarriers.phases(),
            "reached": lambda: self.mbarriers.reached(),
            "mbloc": self._same_mbarrier,
            "issued": self._issued,
            "done": lambda: self.graph.done,
            "inspace": self._in_space,
            "acquires": self._acquires,
            "same-copy": self._same_copy,
            "tenant": self._tenant,
        }[name]()

    def in_time(self) -> Pairs:
        """What comes after what in time: a copy after its start, a completion after it, a wait after arrivals."""
        guards = {event.id: event.guard for event in self.events}
        both = self.graph.formulas.conj
        for name in ("issued", "done", "phase", "reached"):
            for i, j, literal in self.pairs(name):
                yield i, j, both((literal, guards[i], guards[j]))

    def _same_mbarrier(self) -> Pairs:
        """Operations on one mbarrier, and ordinary accesses of its bytes."""
        for barrier in self.mbarriers.all.values():
            first = barrier.events[0]
            name = self.program.physical(first.virtual).name
            start = int(first.object.partition("+")[2] or 0)
            touching = [
                e for e in self.events
                if e.kind in "RW" and e.object == name and e.thread >= 0
                and e.where[0] < start + 8 and start < e.where[0] + e.where[1]
            ]  # fmt: skip
            everything = [*barrier.events, *touching]
            for one in everything:
                for other in everything:
                    if one.id != other.id and "A" in (one.kind, other.kind):
                        yield one.id, other.id, 1

    def _issued(self) -> Pairs:
        for event in self.events:
            if event.issue >= 0:
                yield event.issue, event.id, 1

    def _same_copy(self) -> Pairs:
        late: dict[int, list[int]] = {}
        for event in self.events:
            if event.issue >= 0:
                late.setdefault(event.issue, []).append(event.id)
        for group in late.values():
            for one in group:
                for other in group:
                    yield one, other, 1

    def _owner(self, event: Event) -> Place | None:
        """The CTA whose shared memory an event uses from elsewhere, or by a copy."""
        if event.thread < 0 or not event.virtual or event.kind not in "RWA":
            return None
        owner, mine = self.program.physical(event.virtual).owner, self.program.threads[event.thread].place
        far = owner is not None and not includes(Scope.CTA, owner, mine)
        return owner if far or event.issue >= 0 else None

    def is_far(self, event: Event) -> bool:
        """Whether an event uses the shared memory of another CTA."""
        owner = self._owner(event)
        return owner is not None and not includes(Scope.CTA, owner, self.program.threads[event.thread].place)

    @cached_property
    def lent(self) -> list[Event]:
        """The uses of shared memory by another CTA or by a copy."""
        owners = [(event, self._owner(event)) for event in self.events]
        threads = [thread.place for thread in self.program.threads]
        return [event for event, owner in owners if owner and any(includes(Scope.CTA, owner, p) for p in threads)]

    def over(self, event: Event) -> Lit:
        """The literal that the CTA whose shared memory an event uses has ended."""
        owner, threads = self._owner(event), self.program.threads
        ends = [
            self.graph.ends[index]
            for index, thread in enumerate(threads)
            if owner is not None and includes(Scope.CTA, owner, thread.place)
        ]
        return self.graph.formulas.conj(ends)

    def _tenant(self) -> Pairs:
        for event in self.lent:
            owner = self._owner(event)
            for other in self.events:
                own = owner and other.thread >= 0 and other.issue < 0 and other.id != event.id
                if own and owner and includes(Scope.CTA, owner, self.program.threads[other.thread].place):
                    yield event.id, other.id, 1

    def _in_space(self) -> Pairs:
        """Accesses whose bytes are in the state space that a `fence.proxy.async` names."""
        for fence in self.events:
            statement = fence.statement
            if not isinstance(statement, ProxyFence) or statement.kind != "async":
                continue
            place = self.program.threads[fence.thread].place
            for event in self.events:
                if event.kind in "RW" and self._covers(statement.space, place, event):
                    yield event.id, fence.id, 1

    def _covers(self, space: str | None, place: Place, event: Event) -> bool:
        if space is None:
            return True
        item = self.program.physical(event.object)
        if space == "global":
            return item.space is not Space.SHARED
        scope = Scope.CTA if space == "shared::cta" else Scope.CLUSTER
        return item.space is Space.SHARED and item.owner is not None and includes(scope, place, item.owner)

    def _acquires(self) -> Pairs:
        """From the acquire fence of a tensor map to the reads of that map by copies."""
        for fence in self.events:
            if fence.kind == "F" and fence.object:
                for read in self.events:
                    if (
                        read.issue >= 0
                        and read.kind == "R"
                        and read.object == fence.object
                        and self._inside(read, fence)
                    ):
                        yield fence.id, read.id, 1

    def _inside(self, read: Event, fence: Event) -> bool:
        start, size = fence.where
        return (
            read.virtual == fence.virtual and start <= read.where[0] and read.where[0] + read.where[1] <= start + size
        )
