"""Execution barriers: which arrivals form a generation, what synchronises, and whether the execution can be scheduled.

PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier", "barrier.cluster", "bar.warp.sync".
A generation of a barrier without a count takes the k-th arrival of every thread that makes one; the other threads must
have ended. With a count it takes arrivals, in their order in time, until the count is reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ptxmm.errors import Undecided
from ptxmm.events import Event, EventGraph
from ptxmm.formula import Formulas, Lit
from ptxmm.program import Bar, Barrier, ClusterBarrier, Order, Thread, WarpSync
from ptxmm.relation import Rel, Row, Symbolic
from ptxmm.values import Table, combined

Group = tuple[object, ...]
WARP = 32


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
            if event.kind == "B" and event.guard != -1:
                self.groups.setdefault(self._group(event), Members()).events.append(event)
        for key, members in self.groups.items():
            members.participants = self._participants(key, members)
            self._form(key, members)
        for key, members in self.groups.items():
            if key[0] == "bar" and not self.named:
                self._reduce(members)

    # --- grouping -----------------------------------------------------------------------------------------------------

    def _group(self, event: Event) -> Group:
        place = self.program.threads[event.thread].place
        cta = (place.kernel, place.device, place.cta)
        match event.statement:
            case Barrier(instance=instance):
                return ("bar", cta, instance, event.barrier[0]) if self.named else ("bar", cta, event.barrier[0])
            case WarpSync():
                warp = place.warp if place.lane is not None else f"thread {event.thread}"
                return ("warp", cta, warp, event.barrier[0])
        return ("cluster", place.kernel, place.device, place.cluster)

    def _participants(self, key: Group, members: Members) -> list[int]:
        """The threads that a generation without a count waits for."""
        example = self.program.threads[members.events[0].thread].place
        found = []
        for index, thread in enumerate(self.program.threads):
            place = thread.place
            together = (place.kernel, place.device) == (example.kernel, example.device)
            if key[0] == "cluster":
                together = together and place.cluster == example.cluster
            else:
                together = together and place.cta == example.cta
            if key[0] == "warp":
                alone = example.lane is None
                mask = int(str(key[3]))
                together = (
                    index == members.events[0].thread
                    if alone
                    else together and place.warp == example.warp and place.lane is not None and bool(mask >> place.lane & 1)
                )
            if together:
                found.append(index)
        return found

    def _form(self, key: Group, members: Members) -> None:
        if key[0] == "cluster":
            self._count_cluster(members)
        elif key[0] == "bar" and self.named:
            self._form_named(key, members)
        elif key[0] == "warp" or all(e.barrier[1] is None for e in members.events):
            members.generation = self._index(members.events)
            self._wait_for_all(members)
        elif len({e.barrier[1] for e in members.events}) > 1:
            raise Undecided("threads use one barrier with different counts, which PTX leaves undefined")
        else:
            self._form_counted(members)

    def _index(self, events: list[Event]) -> dict[int, Table]:
        """For each event, how many events of the list its thread has passed before it."""
        formulas, found, counts = self.formulas, {}, dict[int, Table]()
        for event in events:
            before = counts.get(event.thread, {0: 1})
            found[event.id] = before
            step: Table = {1: event.guard} if event.guard == 1 else {0: -event.guard, 1: event.guard}
            counts[event.thread] = combined(formulas, before, step, lambda a, b: a + b)
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
                    (formulas.both(event.guard, wrong), f"thread {thread}: barrier.cluster.arrive and .wait do not alternate")
                )
        self._wait_for_all(members)

    def _waits(self, event: Event) -> bool:
        return isinstance(event.statement, ClusterBarrier) and event.statement.wait

    def _arrives(self, event: Event) -> bool:
        return not self._waits(event)

    def _passed(self, event: Event) -> Lit:
        """The literal that a thread went on after a blocking barrier."""
        return self.formulas.both(event.guard, self.graph.passes.get(event.id, 1))

    def _blocking(self, members: Members) -> list[Event]:
        return [e for e in members.events if e.id in self.graph.passes]

    def _wait_for_all(self, members: Members) -> None:
        """A thread that went on knows that every participant arrived in its generation or had ended."""
        for event in self._blocking(members):
            for number, literal in members.generation[event.id].items():
                for thread in members.participants:
                    arrived = self._arrived(members, thread, number)
                    self.formulas.require(-self._passed(event), -literal, arrived, self.graph.ends[thread])

    def _arrived(self, members: Members, thread: int, number: int) -> Lit:
        formulas = self.formulas
        return formulas.disj(
            [
                formulas.both(e.guard, members.generation[e.id].get(number, -1))
                for e in members.events
                if e.thread == thread and self._arrives(e)
            ]
        )

    def _weight(self, event: Event) -> int:
        return WARP if self.program.threads[event.thread].place.lane is None else 1

    def _form_counted(self, members: Members) -> None:
        """Choose a generation for each arrival; number 0 is the one that never completes."""
        formulas, count = self.formulas, members.events[0].barrier[1]
        assert count is not None
        if count <= 0 or count % WARP:
            raise Undecided(f"a barrier count of {count} is not a multiple of the warp size, which PTX leaves undefined")
        most = sum(self._weight(e) for e in members.events) // count
        for event in members.events:
            table = {number: formulas.var() for number in range(most + 1)} if most else {0: 1}
            if most:
                formulas.at_most_one(list(table.values()))
                formulas.require(*table.values())
            members.generation[event.id] = table
            if event.id in self.graph.passes:
                formulas.require(-self._passed(event), -table.get(0, -1))
        for number in range(most + 1):
            total: Table = {0: 1}
            for event in members.events:
                inside = formulas.both(event.guard, members.generation[event.id][number])
                total = combined(
                    formulas, total, {0: -inside, self._weight(event): inside} if inside != 1 else {self._weight(event): 1},
                    lambda a, b: a + b,
                )  # fmt: skip
            if number:
                formulas.require(total.get(count, -1), total.get(0, -1))
            else:
                for value, literal in total.items():
                    if value >= count:
                        formulas.require(-literal)
        self._in_turn(members, most)

    def _in_turn(self, members: Members, most: int) -> None:
        """A thread's arrivals fall in later and later generations, and no generation is left out."""
        formulas, generation = self.formulas, members.generation
        for place, first in enumerate(members.events):
            for second in members.events[place + 1 :]:
                if first.thread != second.thread:
                    continue
                strict = first.id in self.graph.passes
                for a, la in generation[first.id].items():
                    for b, lb in generation[second.id].items():
                        if (a == 0 and b != 0) or (b != 0 and (b < a or (strict and b == a))):
                            formulas.require(-first.guard, -second.guard, -la, -lb)
        for number in range(2, most + 1):
            before = [formulas.both(e.guard, generation[e.id][number - 1]) for e in members.events]
            for event in members.events:
                formulas.require(-event.guard, -generation[event.id][number], *before)

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
                    formulas.require(-self._passed(event), -other.chosen, other.guard)
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
                formulas.require(-self._passed(event), *[l for value, l in total.items() if value >= count])

    def _reduce(self, members: Members) -> None:
        """The result of `bar.red` is that of the predicates of its generation; sync and red do not mix in one."""
        formulas = self.formulas
        for event in members.events:
            statement = event.statement
            assert isinstance(statement, Barrier)
            if statement.kind is not Bar.RED:
                continue
            total: Table = {0: 1} if statement.op != "and" else {1: 1}
            for other in members.events:
                together = self.together(members, event, other) if other.id != event.id else event.guard
                assert isinstance(other.statement, Barrier)
                if other.statement.kind is not Bar.RED or other.statement.op != statement.op:
                    if together != -1:
                        raise Undecided("bar.red meets another kind of barrier in one generation, which PTX leaves undefined")
                    continue
                holds = other.predicate
                weight = self._weight(other)
                yes, no = formulas.both(together, holds), formulas.both(together, -holds)
                match statement.op:
                    case "popc":
                        total = combined(formulas, total, _two(weight, yes), lambda a, b: a + b)
                    case "or":
                        total = combined(formulas, total, _two(1, yes), lambda a, b: a | b)
                    case _:
                        total = combined(formulas, total, {1: -no, 0: no} if no not in (1, -1) else {int(no == -1): 1},
                                         lambda a, b: a & b)  # fmt: skip
            formulas.at_most_one(list(event.table.values()))
            passed = self._passed(event)
            formulas.require(-passed, *event.table.values())
            for value, literal in total.items():
                formulas.require(-passed, -literal, event.table.get(value, -1))

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
        """The pairs of `syncbar`, `syncwarp`, `syncbarcl` or `execbarcl` with their literals."""
        kind = {"syncbar": "bar", "syncwarp": "warp"}.get(name, "cluster")
        for key, members in self.groups.items():
            if key[0] != kind:
                continue
            for one in members.events:
                for other in members.events:
                    if one.thread == other.thread or not self._edge(name, one, other):
                        continue
                    literal = self.together(members, one, other)
                    if self.named and kind == "bar":
                        literal = self.formulas.both(members.syncing[one.id], self._passed(other))
                    yield one.id, other.id, self.formulas.both(literal, self._passed(other))

    def _edge(self, name: str, one: Event, other: Event) -> bool:
        if name in ("syncbarcl", "execbarcl"):
            return self._arrives(one) and self._waits(other) and (name == "execbarcl" or one.order is not Order.RELAXED)
        return other.id in self.graph.passes

    # --- scheduling ---------------------------------------------------------------------------------------------------

    def schedulable(self, rf: Rel, dep: Rel) -> Lit:
        """The literal that some order in time lets every barrier that was passed complete.

        A generation completes after its arrivals and after the end of the threads it does not wait for; an instruction
        comes after the barriers before it, an arrival after the instructions before it; a read comes after the write
        it reads from, an event after the reads it depends on. Without barriers and residency there is nothing to check.
        """
        residency = [(i, thread.after) for i, thread in enumerate(self.program.threads) if thread.after]
        if not self.groups and not residency:
            return 1
        size = len(self.graph.events)
        threads = len(self.program.threads)
        edges = _Edges(2 * size + threads, self.formulas)
        for relation in (rf, dep):
            for i, j, literal in relation.pairs():
                edges.add(i, j, literal)
        for thread in range(threads):
            self._thread_order(edges, thread, size)
        for key, members in self.groups.items():
            self._complete(edges, key, members, size)
        for index, name in residency:
            self._after(edges, index, name, size)
        algebra = Symbolic(2 * size + threads, self.formulas)
        return algebra.is_acyclic(edges.relation())

    def _done(self, event: Event, size: int) -> int:
        """The node of the moment at which a thread goes on after an event."""
        return size + event.id if event.id in self.graph.passes else event.id

    def _thread_order(self, edges: _Edges, thread: int, size: int) -> None:
        mine = [e for e in self.graph.events if e.thread == thread and e.guard != -1]
        bars = [e for e in mine if e.kind == "B"]
        both = self.formulas.both
        for bar in bars:
            if bar.id in self.graph.passes:
                edges.add(bar.id, size + bar.id, 1)
            for event in mine:
                if event.node < bar.node:
                    edges.add(self._done(event, size), bar.id, both(event.guard, bar.guard))
                elif event.node > bar.node:
                    edges.add(self._done(bar, size), event.id, both(event.guard, bar.guard))
        for event in mine:
            edges.add(self._done(event, size), 2 * size + thread, event.guard)

    def _complete(self, edges: _Edges, key: Group, members: Members, size: int) -> None:
        formulas = self.formulas
        counted = members.events[0].barrier[1] is not None and not self.named
        for event in self._blocking(members):
            passed = self._passed(event)
            for other in members.events:
                if not self._arrives(other) or other.id == event.id:
                    continue
                if self.named and key[0] == "bar":
                    literal = members.syncing[other.id]
                else:
                    literal = self.together(members, other, event)
                edges.add(other.id, size + event.id, formulas.both(literal, passed))
            if counted or self.named:
                continue
            for thread in members.participants:
                if thread != event.thread:
                    absent = formulas.disj(
                        [
                            formulas.both(literal, -self._arrived(members, thread, number))
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
        first = self.program.thread(name).place
        for number, thread in enumerate(self.program.threads):
            if _cta(thread) == (first.kernel, first.device, first.cta):
                for event in self.graph.events:
                    if event.thread == index:
                        edges.add(2 * size + number, event.id, event.guard)


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
        may = {i: {j: l for j, l in row.items() if not self.must[i] >> j & 1} for i, row in self.may.items()}
        return Rel(self.must, {i: row for i, row in may.items() if row})


def _two(weight: int, yes: Lit) -> Table:
    """A table of `weight` where `yes` holds, else 0."""
    return {weight: 1} if yes == 1 else {0: 1} if yes == -1 else {weight: yes, 0: -yes}


def _cta(thread: Thread) -> tuple[int, int, int]:
    place = thread.place
    return (place.kernel, place.device, place.cta)
