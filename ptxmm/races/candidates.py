"""The changes that a remedy may be made of: what a path cannot do without, and what may be stronger on its way."""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.encode import Encoding
from ptxmm.events import Event
from ptxmm.program import Addr, ClusterBarrier, Order, Proxy, ProxyFence, Scope
from ptxmm.races.changes import Aligned, Change, Ended, Exchanged, Fenced, Joined, Meeting, Seen, Stronger, Waited
from ptxmm.races.paths import Link, Paths, beside
from ptxmm.races.strengths import levels
from ptxmm.races.whatif import Draft

BY_VIEW = frozenset({Proxy.TEXTURE, Proxy.SURFACE, Proxy.CONSTANT})


class Changes:
    """The changes of one execution that may help along its paths."""

    def __init__(self, encoding: Encoding, draft: Draft, paths: Paths) -> None:
        self.encoding, self.draft, self.paths = encoding, draft, paths
        self.at, self.by_id = paths.at, paths.by_id

    def needed(self, path: tuple[Link, ...]) -> list[Change]:
        """What makes links of a path that the execution does not have."""
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
        return needed

    def optional(self, first: int, second: int, path: tuple[Link, ...]) -> list[Change]:
        """What may be stronger, or there at all, on the way from one access to another."""
        found: list[Change] = [
            change for event in self._on_the_way(first, second, path) for change in self.strongest(event)
        ]
        if self.by_id[first].thread < 0:
            found += self._acquired(self.by_id[second])
        found += [change for link in path for change in self._aligned(link)]
        found += [change for link in path for change in self._arrived(link)]
        found += self._proxy_fences(first, second)
        found += self._map_fences(first, second)
        found += self._waits(first, second, path)
        return list(dict.fromkeys(found))

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
                yield from self.strongest(event)

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

    def strongest(self, event: Event, *, strong: bool = False) -> list[Stronger]:
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


def _written(event: Event) -> tuple[object, ...]:
    statement = event.statement
    if statement is None or not statement.at.line:
        return (event.thread, id(statement))
    return (event.thread, statement.at.line, statement.at.column, statement.text)
