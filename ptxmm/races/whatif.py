"""One execution with some of its instructions changed: what the model would say of it then.

Who reads from whom and the order of writes stay as they are, apart from what a change is about. Nothing is solved: the
same operations run on certain pairs, as in `ptxmm.execution`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptxmm.arith import Type
from ptxmm.base import Base
from ptxmm.encode import CAUSALITY, STRONG
from ptxmm.evaluation import Evaluation, Value
from ptxmm.events import Event, EventGraph
from ptxmm.execution import Concrete, Unsettled
from ptxmm.formula import Formulas
from ptxmm.memory import Range
from ptxmm.model import RELATIONS
from ptxmm.program import Atomic, Order, ProxyFence, Scope, Statement, Store
from ptxmm.relation import Rel, Symbolic

BARRIERS = ("syncbar", "syncwarp", "syncbarcl")
FIXED = "id po int ext loc vloc full po-loc rmw sr scta scluster sgpu inwindow"
CHOSEN = "rf co fr"
KEPT = tuple(name for name in RELATIONS if name not in f"{FIXED} {CHOSEN}".split())

Pairs = set[tuple[int, int]]


class Draft:
    """What runs in an execution, open to changes; events keep their ids, inserted ones get new ones.

    `events` are in program order, initial writes first; `reads` and `order` as in `Concrete`. `pairs` has the base
    relations that follow neither from the events nor from these: barriers, dependencies, the order of `fence.sc`.
    """

    def __init__(self, one: Concrete) -> None:
        self.one = one
        running = [e for e in one.encoding.graph.events if one.running >> e.id & 1]
        ids = {e.id for e in running}
        self.events = [replace(e, guard=1, chosen=1, rmw=e.rmw if e.rmw in ids else -1) for e in running]
        self.reads: dict[tuple[int, Range], int] = dict(one.reads)
        self.order: Pairs = set(one.order)
        self.pairs: dict[str, Pairs] = {name: _pairs(one, name) for name in KEPT if one.encoding.plan.uses(name)}
        self.next = len(one.encoding.graph.events)

    def copy(self) -> Draft:
        """A draft of its own."""
        new = Draft.__new__(Draft)
        new.one, new.events, new.next = self.one, list(self.events), self.next
        new.reads, new.order = dict(self.reads), set(self.order)
        new.pairs = {name: set(pairs) for name, pairs in self.pairs.items()}
        return new

    def event(self, id: int) -> Event:
        """An event by its id."""
        return next(e for e in self.events if e.id == id)

    def change(self, event: Event) -> None:
        """Put an event in the place of the one with its id."""
        self.events = [event if e.id == event.id else e for e in self.events]

    def insert(self, anchor: int, event: Event, *, before: bool) -> int:
        """Insert an event next to another; its id."""
        place = next(n for n, e in enumerate(self.events) if e.id == anchor) + (not before)
        id, self.next = self.next, self.next + 1
        self.events.insert(place, replace(event, id=id))
        return id

    def previous(self, write: int, cell: Range) -> int | None:
        """The last write before another in the coherence order of a cell."""
        mine = {e.id for e in self.events if e.kind == "W" and cell in e.cells and (e.id, write) in self.order}
        last = [i for i in mine if not any((i, j) in self.order for j in mine)]
        return last[0] if len(last) == 1 else None

    def overwritten(self) -> Pairs:
        """From-reads."""
        cells = {e.id: e.cells for e in self.events}
        after: dict[int, list[int]] = {}
        for i, j in self.order:
            after.setdefault(i, []).append(j)
        return {(read, j) for (read, cell), w in self.reads.items() for j in after.get(w, ()) if cell in cells[j]}

    def related(self, first: int, second: int) -> tuple[bool, bool]:
        """Whether causality orders two events, and whether they are morally strong."""
        number = {e.id: n for n, e in enumerate(self.events)}
        encoding = self.one.encoding
        events = [replace(e, id=number[e.id], rmw=number.get(e.rmw, -1)) for e in self.events]
        formulas = Formulas()
        old = encoding.graph
        graph = EventGraph(encoding.program, formulas, old.memory, old.nodes, events, ending=old.ending)
        algebra = Symbolic(len(events), formulas)
        fixed = Base(graph, algebra, encoding.base.barriers)
        chosen = {**self.pairs, "co": self.order, "rf": {(w, r) for (r, _), w in self.reads.items()}}

        def base(name: str) -> Value:
            pairs = self.overwritten() if name == "fr" else chosen.get(name)
            if pairs is None:
                return fixed(name)
            must = [0] * len(events)
            for i, j in pairs:
                must[number[i]] |= 1 << number[j]
            return Rel(must, {})

        evaluation = Evaluation(encoding.plan, algebra, base)
        cause, strong = evaluation.named(*CAUSALITY), evaluation.named(*STRONG)
        i, j = number[first], number[second]
        return cause is not None and cause.lit(i, j) == 1, strong is not None and strong.lit(i, j) == 1


def _pairs(one: Concrete, name: str) -> Pairs:
    """The pairs of a base relation; none where the execution did not depend on its choices."""
    try:
        value = one.evaluation.base(name)
    except Unsettled:
        return set()
    assert isinstance(value, Rel)
    return {(i, j) for i, j, _ in value.pairs()}


# --- changes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stronger:
    """The events of one instruction as if it were written as `statement`: order, scope, window, `atom` for `red`."""

    events: tuple[int, ...]
    was: Statement
    statement: Statement

    def apply(self, draft: Draft) -> None:
        new = self.statement
        order, scope = getattr(new, "order", Order.WEAK), getattr(new, "scope", None)
        for id in self.events:
            draft.change(replace(draft.event(id), statement=new, order=order, scope=scope))


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
    """One more fence, directly before or after an event."""

    anchor: int
    fence: Statement
    before: bool

    def apply(self, draft: Draft) -> None:
        order, scope = getattr(self.fence, "order", Order.WEAK), getattr(self.fence, "scope", None)
        thread, node = draft.event(self.anchor).thread, -1
        event = Event(0, "F", thread, node, 1, statement=self.fence, order=order, scope=scope)
        id = draft.insert(self.anchor, event, before=self.before)
        if "inspace" in draft.pairs and isinstance(self.fence, ProxyFence) and self.fence.space is None:
            draft.pairs["inspace"] |= {(e.id, id) for e in draft.events if e.kind in "RW"}


Change = Stronger | Aligned | Exchanged | Seen | Meeting | Joined | Fenced
