"""What would keep two accesses from racing in one execution: the smallest set of changes, found by trying them.

Two accesses are ordered along a path: program order inside threads, and links between threads, such as a read that
reads what another thread wrote. Along each path every instruction is made as strong as PTX has it; where the model then
orders the pair, changes are taken back until each one that is left is needed, and each is weakened as far as it goes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

from ptxmm.encode import Encoding
from ptxmm.events import Event
from ptxmm.program import Addr, ClusterBarrier, Order, Proxy, ProxyFence, Scope
from ptxmm.races.changes import Aligned, Change, Ended, Exchanged, Fenced, Joined, Meeting, Seen, Stronger, Waited
from ptxmm.races.paths import MET, Link, Paths, beside
from ptxmm.races.strengths import levels, narrower, price_of
from ptxmm.races.whatif import Draft

WORK, LEAST_TRIALS = 40_000, 60
BY_VIEW = frozenset({Proxy.TEXTURE, Proxy.SURFACE, Proxy.CONSTANT})


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes that order `first` before `second`, along a path; where `strong`, that make the two morally strong."""

    first: int
    second: int
    path: tuple[Link, ...]
    changes: tuple[Change, ...]
    cost: float
    strong: bool = False


@dataclass
class Search:
    """The search on one execution.

    `connected` says whether a path of reads and barriers joins the two at all, `cut` that not every path was tried, and
    `strong` what would make the two morally strong.
    """

    encoding: Encoding
    draft: Draft
    pair: tuple[int, int]
    trials: int = 0
    connected: bool = False
    cut: bool = False
    strong: Remedy | None = None
    paths: Paths = field(init=False)

    def __post_init__(self) -> None:
        self.paths = Paths(self.encoding.program, self.draft, self.pair)
        self.at, self.by_id = self.paths.at, self.paths.by_id

    def best(self) -> Remedy | None:
        """The remedy of the least cost, or None."""
        found: list[Remedy] = []
        one, other = self.pair
        self.strong = self._direct()
        weak = [id for id in self.pair if self.by_id[id].order is Order.WEAK]
        if self.strong is not None and len(weak) < 2:
            found.append(self.strong)
        for first, second in (self.pair, self.pair[::-1]):
            remedy = self._along(first, second, (), 0.0) if self.by_id[first].thread < 0 else None
            found += [remedy] if remedy is not None else []
        most = max(LEAST_TRIALS, WORK // len(self.draft.events))
        for cost, first, second, path in heapq.merge(self.paths.between(one, other), self.paths.between(other, one)):
            self.connected |= bool(path) and all(link.kind in MET for link in path)
            if cost >= min((remedy.cost for remedy in found), default=99.0):
                break
            if self.trials >= most:
                self.cut = True
                break
            remedy = self._along(first, second, path, cost)
            if remedy is not None:
                found.append(remedy)
        self.cut |= self.paths.cut
        return min(found, key=lambda r: r.cost, default=None)

    # --- changes ------------------------------------------------------------------------------------------------------

    def _direct(self) -> Remedy | None:
        """To make the two morally strong."""
        one, other = (self.by_id[id] for id in self.pair)
        changes: list[Change] = [change for event in (one, other) for change in self._stronger(event, strong=True)]
        if one.where != other.where:
            changes.append(Aligned(self.pair[0], self.pair[1]))
        return self._least(*self.pair, (), [], changes, 0.0, strong=True)

    def _along(self, first: int, second: int, path: tuple[Link, ...], cost: float) -> Remedy | None:
        needed: list[Change] = []
        for link in path:
            match link.kind:
                case "chain":
                    needed.append(Exchanged(link.target, link.source))
                case "meet":
                    needed.append(Meeting(link.source, link.target))
                case "join":
                    needed.append(Joined(link.source, link.target, self.paths.barrier(link)))
                case "unseen":
                    needed.append(Seen(link.source, link.target))
                case "await":
                    needed.append(Waited(link.target, self.by_id[link.source].issue, link.source))
                case "end":
                    needed.append(Ended(link.source, link.target))
        optional: list[Change] = [
            change for event in self._on_the_way(first, second, path) for change in self._stronger(event)
        ]
        if self.by_id[first].thread < 0:
            optional += self._acquired(self.by_id[second])
        optional += [change for link in path for change in self._aligned(link)]
        optional += [change for link in path for change in self._arrived(link)]
        optional += self._proxy_fences(first, second)
        optional += self._map_fences(first, second)
        optional += self._waits(first, second, path)
        remedy = self._least(first, second, path, needed, list(dict.fromkeys(optional)), cost)
        return self._pruned(remedy) if remedy is not None and needed else remedy

    def _proxy_fences(self, first: int, second: int) -> Iterator[Fenced]:
        """A fence beside an access by another proxy; to a copy before its start, and from a copy none is needed."""
        for event, before in ((self.by_id[first], False), (self.by_id[second], True)):
            known = event.proxy.value in self.encoding.model.supports
            if event.proxy is Proxy.ASYNC and before and known:
                yield Fenced(event.issue, ProxyFence(kind=event.proxy.value), before)
            elif event.proxy in BY_VIEW and known:
                yield Fenced(event.id, ProxyFence(kind=event.proxy.value), before)

    def _map_fences(self, first: int, second: int) -> Iterator[Fenced]:
        """The halves of the fence between a write of a tensor map and a copy through it; the host needs no release."""
        write, read = self.by_id[first], self.by_id[second]
        if write.kind != "W" or read.proxy is not Proxy.TENSORMAP:
            return
        if write.thread >= 0:
            release = ProxyFence(kind="tensormap", order=Order.RELEASE, scope=Scope.SYS)
            yield Fenced(first, release, before=False)
        acquire = ProxyFence(kind="tensormap", order=Order.ACQUIRE, scope=Scope.SYS, address=Addr(read.object))
        yield Fenced(read.issue, acquire, before=True, reads=second)

    def _acquired(self, read: Event) -> Iterator[Stronger]:
        """The fences before a copy in its thread, at their strongest."""
        for event in self.draft.events:
            if event.kind == "F" and event.thread == read.thread and self.at[event.id] < self.at[read.id]:
                yield from self._stronger(event)

    def _waits(self, first: int, second: int, path: tuple[Link, ...]) -> Iterator[Waited]:
        """A wait of a copy's thread for it, before the access that is to come after it, or before the first link."""
        copy, later = self.by_id[first], self.by_id[second]
        if copy.issue < 0:
            return
        anchor = path[0].source if path else later.issue if later.issue >= 0 else second
        done = [e for e in self.draft.events if e.issue == copy.issue and e.operation is not None]
        elsewhere = self.by_id[anchor].thread != copy.thread or self.by_id[anchor].issue >= 0
        if elsewhere or self.at[anchor] <= self.at[copy.issue]:
            return
        program = self.encoding.program
        yield from (Waited(anchor, copy.issue, one.id) for one in done if beside(program, one, one.thread))
        if not done:
            yield Waited(anchor, copy.issue, read=copy.kind == "R")

    def _pruned(self, remedy: Remedy) -> Remedy:
        """Without the changes that turned out not to be needed."""
        left = list(remedy.changes)
        for change in remedy.changes:
            rest = [c for c in left if c is not change]
            if self._enough(remedy.first, remedy.second, rest, strong=remedy.strong):
                left = rest
        return replace(remedy, changes=tuple(left))

    def _on_the_way(self, first: int, second: int, path: tuple[Link, ...]) -> list[Event]:
        """The ends of links, and between them the fences and what synchronises on the same words."""
        found: list[Event] = []
        starts, ends = [first, *(link.target for link in path)], [*(link.source for link in path), second]
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            inner = self.draft.events[self.at[start] : self.at[end] + 1]
            words = {self.by_id[id].object for id in (start if n else -1, end if n < len(path) else -1) if id >= 0}
            for event in inner:
                joint = (event.id == start and n > 0) or (event.id == end and n < len(path))
                strong = event.order is not Order.WEAK and event.object in words
                if event.thread == self.by_id[start].thread and (joint or event.kind == "F" or event.waits or strong):
                    found.append(event)
        return found

    def _stronger(self, event: Event, *, strong: bool = False) -> list[Stronger]:
        """The instruction of an event at its strongest; with `strong`, only relaxed."""
        statement = event.statement
        above = levels(self.encoding, statement, strong=strong) if statement is not None else []
        return [Stronger(self._same(event), statement, above[-1])] if statement is not None and above else []

    def _same(self, event: Event) -> tuple[int, ...]:
        """All events of the instruction as it is written, in all its repetitions."""
        key = _written(event)
        return tuple(e.id for e in self.draft.events if _written(e) == key)

    def _aligned(self, link: Link) -> list[Aligned]:
        one, other = self.by_id[link.source], self.by_id[link.target]
        if link.kind not in ("reads", "unseen"):
            return []
        same = (one.where, one.virtual, one.proxy) == (other.where, other.virtual, other.proxy)
        return [] if same else [Aligned(link.target, link.source)]

    def _arrived(self, link: Link) -> list[Meeting]:
        """A relaxed arrival as if it released."""
        arrival = self.by_id[link.source].statement
        relaxed = isinstance(arrival, ClusterBarrier) and arrival.order is Order.RELAXED
        return [Meeting(link.source, link.target)] if link.kind == "barrier" and relaxed else []

    # --- the smallest set ---------------------------------------------------------------------------------------------

    def _least(self, first: int, second: int, path: tuple[Link, ...], needed: list[Change], optional: list[Change],
               cost: float, *, strong: bool = False) -> Remedy | None:  # fmt: skip
        def enough(changes: list[Change]) -> bool:
            return self._enough(first, second, [*needed, *changes], strong=strong)

        if not enough(optional):
            return None
        best: tuple[float, list[Change]] | None = None
        for size in range(min(len(optional), 2) + 1):
            if len(optional) > (99, 99, 14)[size]:
                break
            for chosen in combinations(optional, size):
                if enough(list(chosen)):
                    weaker = self._weakened(list(chosen), enough)
                    price = sum(map(price_of, weaker))
                    if best is None or price < best[0]:
                        best = price, weaker
            if best is not None:
                return Remedy(first, second, path, (*needed, *best[1]), cost + best[0], strong)
        left = list(optional)
        for change in sorted(optional, key=price_of, reverse=True):
            if enough([c for c in left if c is not change]):
                left = [c for c in left if c is not change]
        left = self._weakened(left, enough)
        return Remedy(first, second, path, (*needed, *left), cost + sum(map(price_of, left)), strong)

    def _weakened(self, changes: list[Change], enough: Callable[[list[Change]], bool]) -> list[Change]:
        """Each instruction only as strong as it must be."""
        for n, change in enumerate(changes):
            for other in narrower(change):
                if enough([*changes[:n], other, *changes[n + 1 :]]):
                    changes[n] = other
                    break
            if isinstance(change, Stronger):
                for statement in levels(self.encoding, change.was, strong=False):
                    weaker = Stronger(change.events, change.was, statement)
                    if enough([*changes[:n], weaker, *changes[n + 1 :]]):
                        changes[n] = weaker
                        break
        return changes

    def _enough(self, first: int, second: int, changes: list[Change], *, strong: bool) -> bool:
        self.trials += 1
        draft = self.draft.copy()
        for change in sorted(changes, key=lambda c: isinstance(c, Exchanged | Fenced | Joined)):
            change.apply(draft)
        ordered, related = draft.related(first, second)
        return related if strong else ordered


def _written(event: Event) -> tuple[object, ...]:
    statement = event.statement
    if statement is None or not statement.at.line:
        return (event.thread, id(statement))
    return (event.thread, statement.at.line, statement.at.column, statement.text)
