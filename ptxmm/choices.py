"""The choices that make an execution: which write each read takes each byte from, and the coherence of writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ptxmm.chains import Chain, chain_of, in_a_row
from ptxmm.counters import Counter, counter_of
from ptxmm.events import Event, EventGraph
from ptxmm.forced import asserted, units
from ptxmm.formula import Formulas, Lit
from ptxmm.memory import Range, part
from ptxmm.relation import Rel
from ptxmm.values import Table, gathered


class Choices:
    """Reads-from by read and cell, and coherence by pair of writes, as literals; constraints go to the formulas.

    `writers` are the possible writes of each cell, the initial one first; `sources[read, cell]` lists (write, literal),
    exactly one of which holds where the read runs; `before[w, v]` is the literal that `w` precedes `v` in coherence.
    """

    def __init__(self, graph: EventGraph, strong: Rel | None = None, *, loose: bool = False) -> None:
        self.graph, self.formulas = graph, graph.formulas
        self.writers: dict[tuple[str, Range], list[Event]] = {}
        for event in graph.events:
            if event.kind == "W" and event.guard != -1:
                for cell in event.cells:
                    self.writers.setdefault((event.object, cell), []).append(event)
        self.sources: dict[tuple[int, Range], list[tuple[int, Lit]]] = {}
        self.before: dict[tuple[int, int], Lit] = {}
        self.overwriting: dict[tuple[int, Range], list[tuple[int, Lit]]] = {}
        self.chains: list[Chain] = []
        self.counters: dict[tuple[str, Range], Counter] = {}
        self.loosened = False
        if strong is not None:
            self._chain(strong, loose)
        self._order_writes()
        for event in graph.events:
            placed = all((event.id, cell) in self.sources for cell in event.cells)
            if event.kind == "R" and event.guard != -1 and not placed:
                self._read_from(event)

    # --- chains -------------------------------------------------------------------------------------------------------

    def _chain(self, strong: Rel, loose: bool) -> None:
        """Put the accesses of words whose writes are ordered in a row; `loose` ones as if they were."""
        events = self.graph.events
        words: dict[tuple[str, Range], list[Event]] = {}
        for cell, writers in self.writers.items():
            if writes := chain_of(cell, writers, events, strong, self.formulas):
                words[cell] = writes
            elif loose and (writes := chain_of(cell, writers, events, None, self.formulas)):
                words[cell], self.loosened = writes, True
        unsettled = {
            abs(literal)
            for event in events
            if event.kind == "R" and any((event.object, cell) in words for cell in event.cells)
            for literal in event.table.values()
        }
        for cell, writes in words.items():
            runs = [self._named(w.guard, unsettled) for w in writes]
            chain = in_a_row(cell, writes, runs, events, self.formulas)
            self.chains.append(chain)
            adds = tuple(self._named(w.adds, unsettled) for w in writes)
            counter = counter_of(chain, next(iter(self.writers[cell][0].table)), adds)
            if counter is not None:
                self._count(chain, counter)
        self._settle()
        for chain in self.chains:
            self._follow(chain)

    def _named(self, literal: Lit, unsettled: set[int]) -> Lit:
        """A literal that is a variable of its own where it depends on values that chains give a meaning.

        What is read from a counter depends on which additions run, and that may depend on what was read from it.
        """
        if literal in (1, -1) or unsettled.isdisjoint(self.formulas.below([literal])):
            return literal
        name = self.formulas.var()
        self.formulas.require(-name, literal)
        self.formulas.require(name, -literal)
        return name

    def _count(self, chain: Chain, counter: Counter) -> None:
        """What is read from a counter follows from what stands before."""
        self.counters[chain.cell] = counter
        for read in chain.reads:
            for value, literal in read.table.items():
                if literal > 1:
                    self.formulas.define(literal, counter.at(chain.place[read.id], value))

    def _settle(self) -> None:
        """Comparisons that follow from what is asserted, such as that all additions come before a poll that saw all."""
        known = units(self.formulas, asserted(self.graph), build=True)
        for chain in self.chains:
            for pair, literal in chain.before.items():
                if literal in known or -literal in known:
                    chain.before[pair] = 1 if literal in known else -1
                    self.formulas.require(literal if literal in known else -literal)

    def _follow(self, chain: Chain) -> None:
        """Coherence, reads-from and from-reads of a chain from its order."""
        ids = [write.id for write in chain.writes]
        for i in range(len(ids)):
            for k in chain.others(i):
                self.before[ids[i], ids[k]] = chain.ordered(i, k)
        cell = chain.cell[1]
        initial = self.writers[chain.cell][0].id
        for read in chain.reads:
            found = [(ids[i], literal) for i, literal in chain.sources(read)]
            self.sources[read.id, cell] = [(initial, chain.first(read)), *found]
            self.overwriting[read.id, cell] = [(ids[m], literal) for m, literal in chain.overwriting(read)]
            if chain.cell not in self.counters:
                self._one_value(read)
                for source, literal in self.sources[read.id, cell]:
                    for value, lit in self.graph.events[source].table.items():
                        self.formulas.require(-literal, -lit, read.table.get(value, -1))

    # --- coherence ----------------------------------------------------------------------------------------------------

    def _order_writes(self) -> None:
        require, pairs = self.formulas.require, self.before
        chained = {chain.cell for chain in self.chains}
        for cell, events in self.writers.items():
            for w in events:
                for v in events:
                    if w.id != v.id and (w.id, v.id) not in pairs:
                        self._order_pair(w, v)
            if cell in chained:
                continue
            free = [w.id for w in events if w.thread >= 0]
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

    # --- reads --------------------------------------------------------------------------------------------------------

    def _read_from(self, read: Event) -> None:
        summed = any((read.object, cell) in self.counters for cell in read.cells)
        if not summed:
            self._one_value(read)
        for cell in read.cells:
            sources = [w for w in self.writers[read.object, cell] if w.id != read.rmw]
            wanted = self._cell_table(read, cell)
            stored = [self._cell_table(w, cell) for w in sources]
            if summed:
                found = self._one_source(read, len(sources))
                for value, literal in wanted.items():
                    if literal > 1:
                        self.formulas.define(literal, _Stored(self.formulas, found, stored, value))
            elif all(len(table) == 1 for table in stored):
                found = self._from_constants(read, sources, [next(iter(table)) for table in stored], wanted)
            else:
                found = self._from_any(read, sources, stored, wanted)
            for source, literal in zip(sources, found, strict=True):
                self.formulas.require(-literal, source.guard)
            self.sources[read.id, cell] = [(w.id, lit) for w, lit in zip(sources, found, strict=True) if lit != -1]

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


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """That the source which is read stored a value."""

    formulas: Formulas
    found: list[Lit]
    stored: list[Table]
    value: int

    def _pairs(self) -> Iterator[tuple[Lit, Lit]]:
        return ((x, table.get(self.value, -1)) for x, table in zip(self.found, self.stored, strict=True))

    def formula(self) -> Lit:
        return self.formulas.disj([self.formulas.both(*pair) for pair in self._pairs()])

    def needs(self) -> Iterator[Lit]:
        return (literal for pair in self._pairs() for literal in pair)

    def holds(self, true: Callable[[Lit], bool]) -> bool:
        return any(true(x) and true(y) for x, y in self._pairs())
