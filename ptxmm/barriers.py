"""Execution barriers: which arrivals form a generation, and what synchronises.

PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier", "barrier.cluster", "bar.warp.sync",
and "elect.sync", at which lanes meet too, though it orders nothing.
A generation of a barrier without a count takes the k-th arrival of every thread that makes one; the other threads must
have ended. With a count it takes arrivals, in their order in time, until the count is reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ptxmm.errors import Undecided
from ptxmm.events import Event, EventGraph, same_warp
from ptxmm.formula import Lit
from ptxmm.generations import form_counted, form_results, two
from ptxmm.program import Barrier, ClusterBarrier, Elect, Order, Scope, WarpSync
from ptxmm.tags import includes
from ptxmm.values import Table, booleans, combined

Group = tuple[object, ...]


@dataclass
class Members:
    """The barrier events that may meet: `generation[e]` maps a generation number to the literal that `e` is in it."""

    events: list[Event] = field(default_factory=list)
    generation: dict[int, Table] = field(default_factory=dict)
    syncing: dict[int, Lit] = field(default_factory=dict)
    participants: list[int] = field(default_factory=list)


class Barriers:
    """The generations of every barrier of a test; their constraints go to the graph's formulas."""

    def __init__(self, graph: EventGraph) -> None:
        self.graph, self.formulas = graph, graph.formulas
        self.program = graph.program
        self.named = self.program.conventions.named_instances
        self.groups: dict[Group, Members] = {}
        for event in graph.events:
            if event.kind in "BE" and event.guard != -1:
                self.groups.setdefault(self._group(event), Members()).events.append(event)
        for key, members in self.groups.items():
            members.participants = self._participants(members)
            self._form(key, members)
        for key, members in self.groups.items():
            if key[0] == "bar" and not self.named:
                form_results(self, members)

    # --- grouping -----------------------------------------------------------------------------------------------------

    def _group(self, event: Event) -> Group:
        place = self.program.threads[event.thread].place
        cta = (place.kernel, place.device, place.cta)
        match event.statement:
            case Barrier(instance=instance):
                return ("bar", cta, instance, event.barrier[0]) if self.named else ("bar", cta, event.barrier[0])
            case WarpSync():
                return ("warp", cta, frozenset(self._lanes(event)))
            case Elect():
                return ("elect", cta, frozenset(self._lanes(event)))
        return ("cluster", place.kernel, place.device, place.cluster)

    def _lanes(self, event: Event) -> list[int]:
        """The threads that `bar.warp.sync` or `elect.sync` names: a thread without a lane is a warp of its own."""
        mine = self.program.threads[event.thread]
        if mine.place.lane is None:
            return [event.thread]
        mask = event.barrier[0]
        return [
            index
            for index, thread in enumerate(self.program.threads)
            if same_warp(thread, mine) and thread.place.lane is not None and mask >> thread.place.lane & 1
        ]

    def _participants(self, members: Members) -> list[int]:
        """The threads that a generation without a count waits for."""
        event = members.events[0]
        if isinstance(event.statement, WarpSync | Elect):
            return self._lanes(event)
        scope = Scope.CLUSTER if isinstance(event.statement, ClusterBarrier) else Scope.CTA
        place = self.program.threads[event.thread].place
        return [i for i, thread in enumerate(self.program.threads) if includes(scope, place, thread.place)]

    def _form(self, key: Group, members: Members) -> None:
        if key[0] == "cluster":
            self._count_cluster(members)
        elif key[0] == "bar" and self.named:
            self._form_named(key, members)
        elif key[0] in ("warp", "elect") or all(e.barrier[1] is None for e in members.events):
            members.generation = self._index(members.events)
            self._wait_for_all(members)
        elif len({e.barrier[1] for e in members.events}) > 1:
            raise Undecided("threads use one barrier with different counts, which PTX leaves undefined")
        else:
            form_counted(self, members)

    def _index(self, events: list[Event]) -> dict[int, Table]:
        """For each event, how many events of the list its thread has passed before it."""
        formulas, found, counts = self.formulas, {}, dict[int, Table]()
        for event in events:
            before = counts.get(event.thread, {0: 1})
            found[event.id] = before
            counts[event.thread] = combined(formulas, before, booleans(event.guard), lambda a, b: a + b)
        return found

    def _count_cluster(self, members: Members) -> None:
        arrives = [e for e in members.events if not self._waits(e)]
        waits = [e for e in members.events if self._waits(e)]
        members.generation = self._index(arrives) | self._index(waits)
        formulas = self.formulas
        for event in members.events:
            mine = [e for e in members.events if e.thread == event.thread and e.id < event.id]
            balance: Table = {0: 1}
            for e in mine:
                step = -1 if self._waits(e) else 1
                balance = combined(
                    formulas, balance, {0: -e.guard, step: e.guard} if e.guard != 1 else {step: 1}, lambda a, b: a + b
                )
            wanted = 1 if self._waits(event) else 0
            wrong = formulas.disj([literal for value, literal in balance.items() if value != wanted])
            if wrong != -1:
                thread = self.program.threads[event.thread].name
                self.graph.bad.append(
                    (
                        formulas.both(event.guard, wrong),
                        f"thread {thread}: barrier.cluster.arrive and .wait do not alternate",
                    )
                )
        self._wait_for_all(members)

    def _waits(self, event: Event) -> bool:
        return isinstance(event.statement, ClusterBarrier) and event.statement.wait

    def arrives(self, event: Event) -> bool:
        return not self._waits(event)

    def passed(self, event: Event) -> Lit:
        """The literal that a thread went on after a blocking barrier."""
        return self.formulas.both(event.guard, self.graph.passes.get(event.id, 1))

    def blocking(self, members: Members) -> list[Event]:
        return [e for e in members.events if e.id in self.graph.passes]

    def _wait_for_all(self, members: Members) -> None:
        """A thread that went on knows that every participant arrived in its generation or had ended."""
        for event in self.blocking(members):
            for number, literal in members.generation[event.id].items():
                for thread in members.participants:
                    arrived = self.arrived(members, thread, number)
                    self.formulas.require(-self.passed(event), -literal, arrived, self.graph.ends[thread])

    def arrived(self, members: Members, thread: int, number: int) -> Lit:
        formulas = self.formulas
        return formulas.disj(
            [
                formulas.both(e.guard, members.generation[e.id].get(number, -1))
                for e in members.events
                if e.thread == thread and self.arrives(e)
            ]
        )

    def lacking(self, members: Members, event: Event) -> Lit:
        """The literal that the generation in which an event waits does not complete: an arrival is missing."""
        formulas = self.formulas
        count = event.barrier[1]
        if self.named and isinstance(event.statement, Barrier):
            reached = [(other.guard, other.chosen) for other in members.events]
            if count is None:
                return formulas.disj([formulas.both(chosen, -guard) for guard, chosen in reached])
            total: Table = {0: 1}
            for guard, _ in reached:
                total = combined(formulas, total, two(1, guard), lambda a, b: a + b)
            return formulas.disj([literal for value, literal in total.items() if value < count])
        if count is not None:
            return members.generation[event.id].get(0, -1)
        absent = []
        for number, literal in members.generation[event.id].items():
            for thread in members.participants:
                arrived = self.arrived(members, thread, number)
                absent.append(formulas.conj((literal, -arrived, -self.graph.ends[thread])))
        return formulas.disj(absent)

    def _form_named(self, key: Group, members: Members) -> None:
        """Dartagnan's convention: a barrier passes when all of its instance and id, or `count` of them, are reached."""
        formulas, instance = self.formulas, key[:3]
        same = [e for k, m in self.groups.items() if k[:3] == instance for e in m.events if e.barrier[0] == key[3]]
        for event in members.events:
            members.generation[event.id] = {0: 1}
            count = event.barrier[1]
            if count is None:
                members.syncing[event.id] = event.guard
                for other in same:
                    formulas.require(-self.passed(event), -other.chosen, other.guard)
                continue
            chosen = formulas.var()
            formulas.require(-chosen, event.guard)
            members.syncing[event.id] = chosen
        for event in members.events:
            count = event.barrier[1]
            if count is not None:
                total: Table = {0: 1}
                for other in members.events:
                    syncing = members.syncing[other.id]
                    step = {0: -syncing, 1: syncing} if syncing != 1 else {1: 1}
                    total = combined(formulas, total, step, lambda a, b: a + b)
                formulas.require(-self.passed(event), *[lit for value, lit in total.items() if value >= count])

    # --- relations ----------------------------------------------------------------------------------------------------

    def together(self, members: Members, one: Event, other: Event) -> Lit:
        """The literal that two events run and are in one complete generation."""
        formulas, left, right = self.formulas, members.generation[one.id], members.generation[other.id]
        counted = one.barrier[1] is not None and not self.named
        return formulas.disj(
            [
                formulas.conj((one.guard, other.guard, literal, right[number]))
                for number, literal in left.items()
                if number in right and not (counted and number == 0)
            ]
        )

    def pairs(self, name: str) -> Iterable[tuple[int, int, Lit]]:
        """The pairs of a relation of barriers with their literals."""
        kind = {"syncbar": "bar", "syncwarp": "warp", "execwarp": "elect"}.get(name, "cluster")
        for key, members in self.groups.items():
            if key[0] != kind:
                continue
            for one in members.events:
                for other in members.events:
                    if one.thread == other.thread or not self._edge(name, one, other):
                        continue
                    literal = self.together(members, one, other)
                    if self.named and kind == "bar":
                        literal = self.formulas.both(members.syncing[one.id], self.passed(other))
                    yield one.id, other.id, self.formulas.both(literal, self.passed(other))

    def _edge(self, name: str, one: Event, other: Event) -> bool:
        if name in ("syncbarcl", "execbarcl"):
            return self.arrives(one) and self._waits(other) and (name == "execbarcl" or one.order is not Order.RELAXED)
        return other.id in self.graph.passes
