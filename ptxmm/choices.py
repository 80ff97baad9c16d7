"""The choices that make an execution: which write each read takes each byte from, and the coherence of writes."""

from __future__ import annotations

from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.memory import Range, part
from ptxmm.values import Table, gathered


class Choices:
    """Reads-from by read and cell, and coherence by pair of writes, as literals; constraints go to the formulas.

    `writers` are the possible writes of each cell, the initial one first; `sources[read, cell]` lists (write, literal),
    exactly one of which holds where the read runs; `before[w, v]` is the literal that `w` precedes `v` in coherence.
    """

    def __init__(self, graph: EventGraph) -> None:
        self.graph, self.formulas = graph, graph.formulas
        self.writers: dict[tuple[str, Range], list[Event]] = {}
        for event in graph.events:
            if event.kind == "W" and event.guard != -1:
                for cell in event.cells:
                    self.writers.setdefault((event.object, cell), []).append(event)
        self.sources: dict[tuple[int, Range], list[tuple[int, Lit]]] = {}
        self.before: dict[tuple[int, int], Lit] = {}
        self._order_writes()
        for event in graph.events:
            if event.kind == "R" and event.guard != -1:
                self._read_from(event)

    def _order_writes(self) -> None:
        require = self.formulas.require
        for events in self.writers.values():
            for w in events:
                for v in events:
                    if w.id != v.id and (w.id, v.id) not in self.before:
                        self._order_pair(w, v)
            free = [w.id for w in events if w.thread >= 0]
            pairs = self.before
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
        self._one_value(read)
        for cell in read.cells:
            sources = [w for w in self.writers[read.object, cell] if w.id != read.rmw]
            wanted = self._cell_table(read, cell)
            stored = [self._cell_table(w, cell) for w in sources]
            if all(len(table) == 1 for table in stored):
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

    def _from_any(self, read: Event, sources: list[Event], stored: list[Table], wanted: Table) -> list[Lit]:
        formulas, guard = self.formulas, read.guard
        if len(sources) == 2:
            one = formulas.var()
            found = [formulas.both(guard, one), formulas.both(guard, -one)]
        elif len(sources) == 1:
            found = [guard]
        else:
            found = [formulas.var() for _ in sources]
            for choice in found:
                formulas.require(-choice, guard)
            formulas.at_most_one(found)
            formulas.require(-guard, *found)
        for choice, table in zip(found, stored, strict=True):
            for value, literal in table.items():
                formulas.require(-choice, -literal, wanted.get(value, -1))
        return found
