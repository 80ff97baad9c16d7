"""Final states: which write of each byte is the last, and the literals of conditions over final values."""

from __future__ import annotations

from ptxmm.base import Base
from ptxmm.formula import Lit
from ptxmm.memory import Range, initial, part
from ptxmm.program import Addr, Expr, FinalMem, FinalReg
from ptxmm.values import Table, combined, gathered, truth


class Finals:
    """Final values of registers and memory; the choice of last writes goes to the formulas.

    Coherence is partial: the final value of a byte is that of any write that no other follows in coherence.
    """

    def __init__(self, base: Base) -> None:
        self.base, self.graph, self.formulas = base, base.graph, base.formulas
        self.last: dict[tuple[str, Range], list[tuple[int, Lit]]] = {}
        self.memo: dict[Expr, Table] = {}

    def truth(self, formula: Expr) -> Lit:
        """The literal that a condition holds in the final state."""
        return truth(self.formulas, formula, self.leaf)

    def leaf(self, expr: Expr) -> Table:
        """The table of an address, or of a register or memory in the final state."""
        if expr not in self.memo:
            match expr:
                case FinalReg():
                    self.memo[expr] = self.graph.final(expr.thread, expr.reg)
                case Addr():
                    self.memo[expr] = {self.graph.program.address(expr): 1}
                case _:
                    assert isinstance(expr, FinalMem)
                    self.memo[expr] = self._memory(expr)
        return self.memo[expr]

    def _memory(self, leaf: FinalMem) -> Table:
        item = self.graph.program.physical(leaf.name)
        wanted = (leaf.offset, leaf.type.size)
        end = leaf.offset + leaf.type.size
        table: Table = {initial(self.graph.program, item, wanted): 1}
        for cell in self.graph.memory.cells(item.name) if item.name in self.graph.memory.ranges else ():
            first, last = max(cell[0], leaf.offset), min(cell[0] + cell[1], end)
            if first >= last:
                continue
            piece, shift = (first, last - first), 8 * (first - leaf.offset)
            mask = (1 << 8 * piece[1]) - 1 << shift
            here = gathered(
                self.formulas, [(part(v, cell, piece) << shift, lit) for v, lit in self._cell(item.name, cell).items()]
            )
            table = combined(self.formulas, table, here, lambda a, b, m=mask: a & ~m | b)  # type: ignore[misc]
        return table

    def _cell(self, name: str, cell: Range) -> Table:
        entries = []
        for write, literal in self.lasts(name, cell):
            event = self.base.events[write]
            for value, lit in event.table.items():
                entries.append((part(value, event.where, cell), self.formulas.both(literal, lit)))
        return gathered(self.formulas, entries)

    def lasts(self, name: str, cell: Range) -> list[tuple[int, Lit]]:
        """For each write of a cell, the literal that it is the last; exactly one is."""
        key = (name, cell)
        if key not in self.last:
            writers = self.base.choices.writers[key]
            pairs, formulas = self.base.choices.before, self.formulas
            if len(writers) <= 2:
                stored = writers[-1].guard if len(writers) == 2 else -1
                self.last[key] = [(writers[0].id, -stored), *((w.id, stored) for w in writers[1:])]
                return self.last[key]
            chosen = [(w, formulas.var()) for w in writers]
            formulas.at_most_one([literal for _, literal in chosen])
            formulas.require(*[literal for _, literal in chosen])
            for w, literal in chosen:
                formulas.require(-literal, w.guard)
                for v in writers:
                    if v.id != w.id:
                        formulas.require(-literal, -pairs[w.id, v.id])
            self.last[key] = [(w.id, literal) for w, literal in chosen]
        return self.last[key]
