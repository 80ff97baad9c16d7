"""The choices that make an execution: which write each read takes each byte from, and the coherence of writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ptxmm.chains import Chain, chain_of, ordered, sums
from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.memory import Range, part
from ptxmm.relation import Rel
from ptxmm.values import Table, gathered


class Choices:
    """Reads-from by read and cell, and coherence by pair of writes, as literals; constraints go to the formulas.

    `writers` are the possible writes of each cell, the initial one first; `sources[read, cell]` lists (write, literal),
    exactly one of which holds where the read runs; `before[w, v]` is the literal that `w` precedes `v` in coherence.
    """

    def __init__(self, graph: EventGraph, strong: Rel | None = None) -> None:
        self.graph, self.formulas = graph, graph.formulas
        self.writers: dict[tuple[str, Range], list[Event]] = {}
        for event in graph.events:
            if event.kind == "W" and event.guard != -1:
                for cell in event.cells:
                    self.writers.setdefault((event.object, cell), []).append(event)
        self.sources: dict[tuple[int, Range], list[tuple[int, Lit]]] = {}
        self.before: dict[tuple[int, int], Lit] = {}
        self.chains: list[Chain] = []
        self.summed: set[tuple[str, Range]] = set()
        chained = self._chain(strong) if strong is not None else set()
        self._order_writes()
        for event in graph.events:
            if event.kind == "R" and event.guard != -1 and event.id not in chained:
                self._read_from(event)

    def _chain(self, strong: Rel) -> set[int]:
        """Order the words that only atomic operations write; the ids of their reads."""
        events, done = self.graph.events, set[int]()
        for cell, writers in self.writers.items():
            writes = chain_of(cell, writers, events, strong)
            if writes is not None:
                chain = ordered(cell, writes, self.formulas)
                self.chains.append(chain)
                done.update(chain.read)
                self._follow(chain, writers[0], writes)
        return done

    def _follow(self, chain: Chain, initial: Event, writes: list[Event]) -> None:
        """Coherence, reads-from and values of a chain from its order."""
        for (i, k), literal in chain.before.items():
            self.before[chain.write[i], chain.write[k]] = literal
        start = next(iter(initial.table))
        found = sums(chain, start, writes, self.formulas)
        for k, write in enumerate(writes):
            read = self.graph.events[write.rmw]
            others = [(chain.write[i], chain.reads[i, k]) for i in range(len(writes)) if i != k]
            self.sources[read.id, chain.cell[1]] = [(initial.id, chain.first[k]), *others]
            if found is not None:
                self._define(read.table, partial(found.reads, k))
                continue
            self._one_value(read)
            for source, literal in self.sources[read.id, chain.cell[1]]:
                for value, lit in self.graph.events[source].table.items():
                    self.formulas.require(-literal, -lit, read.table.get(value, -1))
        if found is not None:
            self.summed.add(chain.cell)

    def _define(self, table: Table, meaning: Callable[[int], Lit]) -> None:
        """Give the variables of a table their meanings, built when something needs them."""
        for value, literal in table.items():
            if literal > 1:
                self.formulas.define(literal, partial(meaning, value))

    def _order_writes(self) -> None:
        require = self.formulas.require
        chained = set(self.before)
        for events in self.writers.values():
            for w in events:
                for v in events:
                    if w.id != v.id and (w.id, v.id) not in self.before:
                        self._order_pair(w, v)
            free = [w.id for w in events if w.thread >= 0]
            pairs = self.before
            if len(free) > 1 and all((i, j) in chained for i in free[:2] for j in free[:2] if i != j):
                continue
            for i in free:
                for j in free:
                    if i == j or pairs[i, j] == -1:
                        continue
                    for k in free:
                        if k not in (i, j) and pairs[j, k] != -1:
                            require(-pairs[i, j], -pairs[j, k], pairs[i, k])

    def _order_pair(self, w: Event, v: Event) -> None:
        if w.thread < 0 or v.thread < 0:
            first = w.thread < 0
            self.before[w.id, v.id] = v.guard if first else -1
            self.before[v.id, w.id] = -1 if first else w.guard
            return
        forth, back = self.formulas.var(), self.formulas.var()
        self.formulas.require(-forth, -back)
        for literal in (forth, back):
            self.formulas.require(-literal, w.guard)
            self.formulas.require(-literal, v.guard)
        self.before[w.id, v.id], self.before[v.id, w.id] = forth, back

    def _read_from(self, read: Event) -> None:
        summed = any((read.object, cell) in self.summed for cell in read.cells)
        if not summed:
            self._one_value(read)
        for cell in read.cells:
            sources = [w for w in self.writers[read.object, cell] if w.id != read.rmw]
            wanted = self._cell_table(read, cell)
            stored = [self._cell_table(w, cell) for w in sources]
            if summed:
                found = self._one_source(read, len(sources))
                self._define(wanted, partial(self._value_from, found, stored))
            elif all(len(table) == 1 for table in stored):
                found = self._from_constants(read, sources, [next(iter(table)) for table in stored], wanted)
            else:
                found = self._from_any(read, sources, stored, wanted)
            for source, literal in zip(sources, found, strict=True):
                self.formulas.require(-literal, source.guard)
            self.sources[read.id, cell] = [(w.id, lit) for w, lit in zip(sources, found, strict=True) if lit != -1]

    def _value_from(self, found: list[Lit], stored: list[Table], value: int) -> Lit:
        """The literal that the source that is read stored a value."""
        both = self.formulas.both
        return self.formulas.disj([both(x, table.get(value, -1)) for x, table in zip(found, stored, strict=True)])

    def _one_value(self, event: Event) -> None:
        """Exactly one entry of the table of an event that runs is right."""
        literals = list(event.table.values())
        if len(literals) == 2 and literals[0] == -literals[1]:
            return
        self.formulas.at_most_one(literals)
        self.formulas.require(-event.guard, *literals)

    def _cell_table(self, event: Event, cell: Range) -> Table:
        if event.where == cell:
            return event.table
        return gathered(self.formulas, [(part(v, event.where, cell), lit) for v, lit in event.table.items()])

    def _from_constants(self, read: Event, sources: list[Event], values: list[int], wanted: Table) -> list[Lit]:
        """Every source has one value: a value that one source has identifies it."""
        formulas, guard = self.formulas, read.guard
        found: dict[int, Lit] = {}
        for value, literal in wanted.items():
            same = [w.id for w, v in zip(sources, values, strict=True) if v == value]
            here = formulas.both(guard, literal)
            if len(same) == 2:
                one = formulas.var()
                found[same[0]], found[same[1]] = formulas.both(here, one), formulas.both(here, -one)
            elif len(same) == 1:
                found[same[0]] = here
            else:
                choices = [formulas.var() for _ in same]
                found.update(zip(same, choices, strict=True))
                for choice in choices:
                    formulas.require(-choice, here)
                formulas.at_most_one(choices)
                formulas.require(-here, *choices)
        return [found.get(w.id, -1) for w in sources]

    def _one_source(self, read: Event, count: int) -> list[Lit]:
        """A literal for each source, exactly one of which holds where the read runs."""
        formulas, guard = self.formulas, read.guard
        if count == 2:
            one = formulas.var()
            return [formulas.both(guard, one), formulas.both(guard, -one)]
        if count == 1:
            return [guard]
        found = [formulas.var() for _ in range(count)]
        for choice in found:
            formulas.require(-choice, guard)
        formulas.at_most_one(found)
        formulas.require(-guard, *found)
        return found

    def _from_any(self, read: Event, sources: list[Event], stored: list[Table], wanted: Table) -> list[Lit]:
        found = self._one_source(read, len(sources))
        for choice, table in zip(found, stored, strict=True):
            for value, literal in table.items():
                self.formulas.require(-choice, -literal, wanted.get(value, -1))
        return found
