"""One execution with some of its instructions changed: what the model would say of it then.

Who reads from whom and the order of writes stay as they are, apart from what a change is about. Nothing is solved: the
same operations run on certain pairs, as in `ptxmm.execution`.
"""

from __future__ import annotations

from dataclasses import replace

from ptxmm.base import Base
from ptxmm.conflicts import CAUSALITY
from ptxmm.encode import STRONG
from ptxmm.evaluation import Evaluation, Value
from ptxmm.events import Event, EventGraph
from ptxmm.execution import Concrete, Unsettled
from ptxmm.formula import Formulas
from ptxmm.memory import Range
from ptxmm.relation import Rel, Symbolic
from ptxmm.vocabulary import RELATIONS

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
