"""Whether an execution can be scheduled: every barrier that was passed completes at some moment in time."""

from __future__ import annotations

from collections.abc import Iterable

from ptxmm.barriers import Barriers, Group, Members
from ptxmm.events import Event, same_cta
from ptxmm.formula import Formulas, Lit
from ptxmm.grids import Grids
from ptxmm.relation import Rel, Row, Symbolic


class Schedule:
    """The order in time that barriers and residency ask for, over events, the moments after them, and thread ends."""

    def __init__(self, barriers: Barriers, grids: Grids) -> None:
        self.grids = grids
        self.barriers, self.graph, self.formulas, self.program = (
            barriers, barriers.graph, barriers.formulas, barriers.program,
        )  # fmt: skip

    def literal(self, rf: Rel, dep: Rel, later: Iterable[tuple[int, int, Lit]] = ()) -> Lit:
        """The literal that some order in time lets every barrier that was passed complete.

        A generation completes after its arrivals and after the end of the threads it does not wait for; an
        instruction comes after the barriers before it, an arrival after the barriers before it and what it depends
        on; a read comes after the write it reads from by the same proxy, an event after the reads it depends on;
        `later` are pairs of mbarriers and copies in their order in time. Without barriers and residency there is
        nothing to check.
        """
        residency = [(i, thread.after) for i, thread in enumerate(self.program.threads) if thread.after]
        if not self.barriers.groups and not residency and len(self.grids.ended) < 2:
            return 1
        size = len(self.graph.events)
        threads = len(self.program.threads)
        edges = _Edges(2 * size + threads, self.formulas)
        events = self.graph.events
        for relation in (rf, dep):
            for i, j, literal in relation.pairs():
                if events[i].proxy is events[j].proxy or events[i].thread < 0:
                    edges.add(i, j, literal)
        for i, j, literal in later:
            edges.add(self._done(self.graph.events[i], size), j, literal)
        for thread in range(threads):
            self._thread_order(edges, thread, size)
        for key, members in self.barriers.groups.items():
            self._complete(edges, key, members, size)
        for index, name in residency:
            self._after(edges, index, name, size)
        self._kernels(edges, size)
        algebra = Symbolic(2 * size + threads, self.formulas)
        return algebra.is_acyclic(edges.relation())

    def _done(self, event: Event, size: int) -> int:
        """The node of the moment at which a thread goes on after an event."""
        return size + event.id if event.id in self.graph.passes else event.id

    def _thread_order(self, edges: _Edges, thread: int, size: int) -> None:
        mine = [e for e in self.graph.events if e.thread == thread and e.guard != -1 and e.issue < 0]
        bars = [e for e in mine if e.kind in "BE"]
        both = self.formulas.both
        for bar in bars:
            if bar.id in self.graph.passes:
                edges.add(bar.id, size + bar.id, 1)
            for event in mine:
                if event.node < bar.node and event.kind in "BEK":
                    edges.add(self._done(event, size), bar.id, both(event.guard, bar.guard))
                elif event.node > bar.node and bar.id in self.graph.passes:
                    edges.add(self._done(bar, size), event.id, both(event.guard, bar.guard))
        for event in mine:
            edges.add(self._done(event, size), 2 * size + thread, event.guard)

    def _complete(self, edges: _Edges, key: Group, members: Members, size: int) -> None:
        formulas = self.formulas
        counted = members.events[0].barrier[1] is not None and not self.barriers.named
        for event in self.barriers.blocking(members):
            passed = self.barriers.passed(event)
            for other in members.events:
                if not self.barriers.arrives(other) or other.id == event.id:
                    continue
                if self.barriers.named and key[0] == "bar":
                    literal = members.syncing[other.id]
                else:
                    literal = self.barriers.together(members, other, event)
                edges.add(other.id, size + event.id, formulas.both(literal, passed))
            if counted or self.barriers.named:
                continue
            for thread in members.participants:
                if thread != event.thread:
                    absent = formulas.disj(
                        [
                            formulas.both(literal, -self.barriers.arrived(members, thread, number))
                            for number, literal in members.generation[event.id].items()
                        ]
                    )
                    edges.add(2 * size + thread, size + event.id, formulas.both(absent, passed))
        if counted:
            self._generations_in_order(edges, members)

    def _generations_in_order(self, edges: _Edges, members: Members) -> None:
        for one in members.events:
            for other in members.events:
                if one.id != other.id:
                    earlier = [
                        self.formulas.both(a, b)
                        for x, a in members.generation[one.id].items()
                        for y, b in members.generation[other.id].items()
                        if x and (y > x or y == 0)
                    ]
                    literal = self.formulas.conj((self.formulas.disj(earlier), one.guard, other.guard))
                    edges.add(one.id, other.id, literal)

    def _after(self, edges: _Edges, index: int, name: str, size: int) -> None:
        """A thread placed `after` another starts when that one's CTA has ended."""
        first = self.program.thread(name)
        for number, thread in enumerate(self.program.threads):
            if same_cta(thread, first):
                for event in self.graph.events:
                    if event.thread == index:
                        edges.add(2 * size + number, event.id, event.guard)

    def _kernels(self, edges: _Edges, size: int) -> None:
        """A kernel starts when those before it have ended, a dependent one when each CTA has triggered it or ended."""
        grids, formulas = self.grids, self.formulas
        for event in self.graph.events:
            if event.thread < 0:
                continue
            kernel = self.program.threads[event.thread].place.kernel
            for before in grids.ended[kernel]:
                for thread in grids.threads(before):
                    edges.add(2 * size + thread, event.id, event.guard)
        for wait in grids.waits():
            for thread in grids.threads(grids.dependent[self.program.threads[wait.thread].place.kernel]):
                edges.add(2 * size + thread, self._done(wait, size), wait.guard)
        for second, first in grids.dependent.items():
            started = [e for e in self.graph.events if e.thread in grids.threads(second)]
            for cta in grids.ctas(first):
                found = grids.triggers(cta)
                over = -formulas.disj([trigger.guard for trigger in found])
                for trigger in found:
                    for event in (*started, *(other for other in found if other.id != trigger.id)):
                        literal = formulas.both(grids.first_triggers[trigger.id], event.guard)
                        edges.add(trigger.id, event.id, literal)
                for event in started:
                    for thread in cta:
                        edges.add(2 * size + thread, event.id, formulas.both(over, event.guard))


class _Edges:
    """A relation under construction."""

    def __init__(self, size: int, formulas: Formulas) -> None:
        self.formulas = formulas
        self.must = [0] * size
        self.may: dict[int, Row] = {}

    def add(self, i: int, j: int, literal: Lit) -> None:
        if literal == 1:
            self.must[i] |= 1 << j
        elif literal != -1:
            row = self.may.setdefault(i, {})
            row[j] = self.formulas.disj((row[j], literal)) if j in row else literal
            if row[j] == 1:
                self.must[i] |= 1 << j

    def relation(self) -> Rel:
        may = {i: {j: lit for j, lit in row.items() if not self.must[i] >> j & 1} for i, row in self.may.items()}
        return Rel(self.must, {i: row for i, row in may.items() if row})
