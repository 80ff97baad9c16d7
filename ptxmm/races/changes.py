"""What may be different in one execution: instructions stronger, or there at all, and threads that meet or wait."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptxmm.arith import Type
from ptxmm.events import Event
from ptxmm.mbarrier_state import Operation
from ptxmm.program import (
    Atomic,
    Order,
    Proxy,
    ProxyFence,
    Scope,
    Statement,
    Store,
    TensormapCopy,
)  # fmt: skip
from ptxmm.races.whatif import BARRIERS, Draft


@dataclass(frozen=True, slots=True)
class Stronger:
    """The events of one instruction as if it were written as `statement`: order, scope, window, `atom` for `red`."""

    events: tuple[int, ...]
    was: Statement
    statement: Statement

    def apply(self, draft: Draft) -> None:
        new = self.statement
        order, scope = getattr(new, "order", None) or Order.WEAK, getattr(new, "scope", None)
        for id in self.events:
            event = draft.event(id)
            if isinstance(new, TensormapCopy):
                order, scope = event.order, new.scope if event.kind == "F" else None
            draft.change(replace(event, statement=new, order=order, scope=scope))


@dataclass(frozen=True, slots=True)
class Aligned:
    """An access as if it touched the bytes, by the name and the proxy, of the access `like`."""

    read: int
    like: int

    def apply(self, draft: Draft) -> None:
        like, read = draft.event(self.like), draft.event(self.read)
        for id in (read.id, read.rmw):
            if id >= 0:
                event = draft.event(id)
                draft.change(replace(event, where=like.where, cells=like.cells, virtual=like.virtual, proxy=like.proxy))
        if (read.kind, like.kind) == ("R", "W"):
            draft.reads |= {(read.id, cell): like.id for cell in like.cells if (read.id, cell) not in draft.reads}


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A store as if it were an `atom.exch`, which reads the write before it."""

    store: int
    source: int

    def apply(self, draft: Draft) -> None:
        write = draft.event(self.store)
        statement = exchange(write.statement)
        if statement is None:
            return
        read = replace(write, kind="R", statement=statement, order=statement.order, scope=statement.scope)
        id = draft.insert(self.store, replace(read, rmw=self.store), before=True)
        draft.change(replace(write, statement=statement, order=statement.order, scope=statement.scope))
        draft.reads |= {(id, cell): self.source for cell in write.cells}


def exchange(statement: Statement | None) -> Atomic | None:
    """The atomic exchange that stores what a store of one element stores, where PTX has one."""
    if not isinstance(statement, Store) or len(statement.values) != 1 or statement.type.bits not in (32, 64, 128):
        return None
    order = Order.RELAXED if statement.order is Order.WEAK else statement.order
    return Atomic(
        op="exch", dst=(None,), address=statement.address, operands=statement.values,
        type=Type("b", statement.type.bits),
        order=order, scope=statement.scope or Scope.GPU, guard=statement.guard, at=statement.at, text=statement.text,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """A read as if it read from a write that it missed."""

    write: int
    read: int

    def apply(self, draft: Draft) -> None:
        common = set(draft.event(self.write).cells) & set(draft.event(self.read).cells)
        draft.reads |= {(self.read, cell): self.write for cell in common}


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two barrier instructions as if they were one barrier, in one generation."""

    first: int
    second: int

    def apply(self, draft: Draft) -> None:
        for name in BARRIERS:
            if name in draft.pairs:
                draft.pairs[name].add((self.first, self.second))


@dataclass(frozen=True, slots=True)
class Joined:
    """A barrier of a CTA that one thread passes after an event, and another before an event."""

    first: int
    second: int
    statement: Statement

    def apply(self, draft: Draft) -> None:
        bars = []
        for anchor, before in ((self.first, False), (self.second, True)):
            bar = Event(0, "B", draft.event(anchor).thread, -1, 1, statement=self.statement)
            bars.append(draft.insert(anchor, bar, before=before))
        for name in BARRIERS[:2]:
            if name in draft.pairs:
                draft.pairs[name] |= {(bars[0], bars[1]), (bars[1], bars[0])}


@dataclass(frozen=True, slots=True)
class Fenced:
    """One more fence, directly before or after an event; if it acquires a tensor map, the one that an event `reads`."""

    anchor: int
    fence: Statement
    before: bool
    reads: int = -1

    def apply(self, draft: Draft) -> None:
        order, scope = getattr(self.fence, "order", None) or Order.WEAK, getattr(self.fence, "scope", None)
        thread, node = draft.event(self.anchor).thread, -1
        event = Event(0, "F", thread, node, 1, statement=self.fence, order=order, scope=scope)
        id = draft.insert(self.anchor, event, before=self.before)
        if self.reads >= 0 and "acquires" in draft.pairs:
            map_ = draft.event(self.reads)
            draft.pairs["acquires"] |= {
                (id, e.id) for e in draft.events
                if e.proxy is Proxy.TENSORMAP and e.kind == "R" and (e.object, e.virtual) == (map_.object, map_.virtual)
            }  # fmt: skip
        if "inspace" in draft.pairs and isinstance(self.fence, ProxyFence) and self.fence.space is None:
            draft.pairs["inspace"] |= {(e.id, id) for e in draft.events if e.kind in "RW"}


@dataclass(frozen=True, slots=True)
class Waited:
    """A wait, directly before an event, until a copy that started at another is complete, or has `read` all it reads.

    It is for the copy's completion on an mbarrier, an event, where it has one (else -1), or for its groups.
    """

    anchor: int
    start: int
    completion: int = -1
    read: bool = False

    def apply(self, draft: Draft) -> None:
        thread = draft.event(self.anchor).thread
        if self.completion >= 0:
            done = draft.event(self.completion)
            wait = Event(0, "A", thread, -1, 1, order=Order.ACQUIRE, scope=Scope.CLUSTER, object=done.object,
                         virtual=done.virtual, operation=Operation("wait"))  # fmt: skip
            id = draft.insert(self.anchor, wait, before=True)
            for name in ("phase", "mbnext"):
                if name in draft.pairs:
                    draft.pairs[name].add((self.completion, id))
            return
        id = draft.insert(self.anchor, Event(0, "G", thread, -1, 1), before=True)
        late = (e for e in draft.events if e.issue == self.start and (e.kind == "R" or not self.read))
        if "done" in draft.pairs:
            draft.pairs["done"] |= {(e.id, id) for e in late}


@dataclass(frozen=True, slots=True)
class Ended:
    """A wait, directly before the event `second`, until the kernel of `first` ends, on which its own depends."""

    first: int
    second: int

    def apply(self, draft: Draft) -> None:
        later = draft.event(self.second)
        anchor = later.issue if later.issue >= 0 else later.id
        id = draft.insert(anchor, Event(0, "K", later.thread, -1, 1), before=True)
        threads = draft.one.encoding.program.threads
        kernel = threads[draft.event(self.first).thread].place.kernel
        if "api" in draft.pairs:
            mine = (e.id for e in draft.events if e.thread >= 0 and threads[e.thread].place.kernel == kernel)
            draft.pairs["api"] |= {(earlier, id) for earlier in mine}


Change = Stronger | Aligned | Exchanged | Seen | Meeting | Joined | Fenced | Waited | Ended
