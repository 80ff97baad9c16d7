"""Ways along which one event could come before another: program order, and links between threads."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from ptxmm.events import Event, same_cta
from ptxmm.program import Bar, Barrier, ClusterBarrier, Const, Order, Program, Scope, Statement, WarpSync
from ptxmm.races.changes import exchange
from ptxmm.races.whatif import BARRIERS, Draft
from ptxmm.tags import includes

PATHS, VISITS = 12, 3
MEETINGS = ("sync_fence", "execbarcl", *BARRIERS)
MET = frozenset({"reads", "barrier", "phase", "kernel"})
LINKS = {
    "reads": 0.1,
    "barrier": 0.1,
    "phase": 0.1,
    "kernel": 0.1,
    "end": 1.0,
    "await": 1.9,
    "chain": 2.0,
    "meet": 2.2,
    "join": 2.5,
    "unseen": 3.0,
}


@dataclass(frozen=True, slots=True)
class Link:
    """A step of a path from one thread to another: `kind` is one of LINKS."""

    kind: str
    source: int
    target: int


def beside(program: Program, done: Event, thread: int) -> bool:
    """Whether a thread is of the CTA in whose shared memory the mbarrier of an operation is."""
    owner = program.physical(done.virtual).owner
    return owner is not None and includes(Scope.CTA, owner, program.threads[thread].place)


class Paths:
    """The links of an execution, and paths of them between the accesses of a pair; `cut` where there are too many."""

    def __init__(self, program: Program, draft: Draft, pair: tuple[int, int]) -> None:
        self.program, self.draft, self.pair, self.cut = program, draft, pair, False
        self.at = {e.id: n for n, e in enumerate(draft.events)}
        self.by_id = {e.id: e for e in draft.events}
        self.links = set(self._links())

    def _links(self) -> Iterator[Link]:
        draft, by_id = self.draft, self.by_id
        for (read, _), write in draft.reads.items():
            if by_id[write].thread not in (-1, by_id[read].thread):
                yield Link("reads", write, read)
        for arrival, wait in draft.pairs.get("phase", ()):
            if by_id[arrival].thread != by_id[wait].thread:
                yield Link("phase", arrival, wait)
        yield from self._barriers()
        yield from self._joins()
        yield from self._kernels()
        yield from self._ends()
        yield from self._awaits()
        for read, write in draft.overwritten():
            one, other = by_id[read], by_id[write]
            data = one.order is Order.WEAK and other.order is Order.WEAK
            if one.thread != other.thread and not data and {read, write} != set(self.pair):
                yield Link("unseen", write, read)
        yield from self._cuts()

    def _kernels(self) -> Iterator[Link]:
        """From the last event of a thread to the first one of a thread that starts when its kernel has ended."""
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for i, j in self.draft.pairs.get("api", ()):
            key = self.by_id[i].thread, self.by_id[j].thread
            one, other = found.get(key, (i, j))
            found[key] = max(one, i, key=self.at.__getitem__), min(other, j, key=self.at.__getitem__)
        yield from (Link("kernel", *pair) for pair in found.values())

    def _ends(self) -> Iterator[Link]:
        """From an access of the pair to the other, whose kernel depends on that of the first and could wait for it."""
        dependent = {(first, second) for second, kind, first in self.program.launches if kind == "dependent"}
        threads = self.program.threads
        for one, other in (self.pair, self.pair[::-1]):
            indices = self.by_id[one].thread, self.by_id[other].thread
            if min(indices) >= 0 and tuple(threads[i].place.kernel for i in indices) in dependent:
                yield Link("end", one, other)

    def _awaits(self) -> Iterator[Link]:
        """From the completion of a copy to an access of the pair in the CTA of its mbarrier: it could wait for that."""
        for done in self.draft.events:
            if done.issue < 0 or done.operation is None:
                continue
            for access in (self.by_id[id] for id in self.pair):
                if access.thread not in (-1, done.thread) and beside(self.program, done, access.thread):
                    yield Link("await", done.id, access.id)

    def _cuts(self) -> Iterator[Link]:
        """From a write to the plain store of another thread that comes after it and could have been atomic."""
        for event in self.draft.events:
            if event.kind != "W" or event.rmw >= 0 or event.thread < 0 or exchange(event.statement) is None:
                continue
            for cell in event.cells:
                source = self.draft.previous(event.id, cell)
                if source is not None and self.by_id[source].thread not in (-1, event.thread):
                    yield Link("chain", source, event.id)

    def _barriers(self) -> Iterator[Link]:
        """Barriers that meet, and those that could: in one CTA or cluster, the second one waiting."""
        draft, by_id = self.draft, self.by_id
        met = {pair for name in MEETINGS for pair in draft.pairs.get(name, ())}
        for i, j in met:
            if by_id[i].thread != by_id[j].thread:
                yield Link("barrier", i, j)
        bars = [e for e in draft.events if e.kind == "B"]
        for one, other in ((i, j) for i in bars for j in bars):
            alike = type(one.statement) is type(other.statement) and self._together(one, other)
            if one.thread != other.thread and alike and (one.id, other.id) not in met:
                yield Link("meet", one.id, other.id)

    def _joins(self) -> Iterator[Link]:
        """From an access of the pair or the end of a link to the start of a link or an access, inside a CTA."""
        reads = {(write, read) for (read, _), write in self.draft.reads.items()}
        used = [(w, r) for w, r in reads if self.by_id[w].thread not in (-1, self.by_id[r].thread)]
        sources, targets = {*self.pair, *(r for _, r in used)}, {*self.pair, *(w for w, _ in used)}
        threads = self.program.threads
        for i, j in ((self.by_id[i], self.by_id[j]) for i in sources for j in targets):
            if i.thread != j.thread and same_cta(threads[i.thread], threads[j.thread]):
                yield Link("join", i.id, j.id)

    def _together(self, one: Event, other: Event) -> bool:
        """Whether one barrier can hold two threads, where the first one arrives."""
        places = [self.program.threads[event.thread].place for event in (one, other)]
        if isinstance(one.statement, ClusterBarrier) and one.statement.wait:
            return False
        scope = Scope.CLUSTER if isinstance(one.statement, ClusterBarrier) else Scope.CTA
        return includes(scope, *places)

    def barrier(self, link: Link) -> Statement:
        """The barrier for two threads of one CTA: that of their warp, where they are lanes of one."""
        one, other = (self.program.threads[self.by_id[id].thread].place for id in (link.source, link.target))
        lanes = one.lane is not None and other.lane is not None and one.warp == other.warp
        return WarpSync() if lanes else Barrier(kind=Bar.SYNC, id=Const(0))

    def between(self, start: int, goal: int) -> Iterator[tuple[float, int, int, tuple[Link, ...]]]:
        """Paths by rising cost of their links."""
        leaving: dict[int, list[Link]] = {}
        for link in sorted(self.links, key=lambda k: (LINKS[k.kind], self.at[k.source], self.at[k.target])):
            leaving.setdefault(self.by_id[link.source].thread, []).append(link)
        end, visits, given = self.by_id[goal], dict[int, int](), 0
        heap: list[tuple[float, int, int, tuple[Link, ...]]] = [(0.0, 0, start, ())]
        count = 0
        while heap:
            if given == PATHS:
                self.cut = True
                return
            cost, _, here, path = heapq.heappop(heap)
            visits[here] = visits.get(here, 0) + 1
            if visits[here] > VISITS:
                continue
            thread = self.by_id[here].thread
            if thread == end.thread and self.at[here] <= self.at[goal]:
                given += 1
                yield cost, start, goal, path
                continue
            for link in leaving.get(thread, ()):
                if self.at[link.source] >= self.at[here] and link not in path:
                    count += 1
                    heapq.heappush(heap, (cost + LINKS[link.kind], count, link.target, (*path, link)))
