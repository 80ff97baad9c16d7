"""The registers of a thread while it is walked: their possible values, and the reads that these depend on."""

from __future__ import annotations

from ptxmm import arith
from ptxmm.closure import bits
from ptxmm.events import Deps, Env, EventGraph, Value, start_value
from ptxmm.formula import Lit
from ptxmm.program import Addr, Expr, Reg, registers
from ptxmm.spins import written
from ptxmm.unroll import Node
from ptxmm.values import Logic, Table, choice, cut, evaluate, gathered, truth


class Registers:
    """The registers at one place of a thread; `decisions` are the reads that its branches depend on, by their nodes."""

    def __init__(self, graph: EventGraph, index: int, logic: Logic) -> None:
        self.graph, self.index, self.logic = graph, index, logic
        self.program = graph.program
        self.thread = graph.program.threads[index]
        self.nodes = graph.nodes[index]
        self.env: Env = {}
        self.decisions: dict[int, Deps] = {}
        self.under: dict[int, set[str]] = {}

    def _register(self, name: str, env: Env) -> Value:
        return env[name] if name in env else (start_value(self.program, self.thread, name), {})

    def _leaf(self, expr: Expr) -> Table:
        if isinstance(expr, Reg):
            return self._register(expr.name, self.env)[0]
        assert isinstance(expr, Addr)
        return {self.program.address(expr): 1}

    def table(self, expr: Expr) -> Table:
        """The possible values of an expression here."""
        return evaluate(self.logic, expr, self._leaf)

    def truth(self, expr: Expr | None) -> Lit:
        """The literal that an expression is not zero (TRUE for no expression)."""
        return 1 if expr is None else truth(self.logic, expr, self._leaf)

    def deps(self, *exprs: Expr | None) -> Deps:
        """The reads whose values reach an expression."""
        found: Deps = {}
        for expr in exprs:
            for name in sorted(registers(expr)):
                for read, literal in self._register(name, self.env)[1].items():
                    found[read] = self.logic.disj((found[read], literal)) if read in found else literal
        return found

    def assign(self, name: str, table: Table, deps: Deps, guard: Expr | None, chosen: Lit) -> None:
        """Write a register where the guard `chosen` holds."""
        kind = self.thread.types.get(name, arith.U32)
        table = cut(self.logic, table, kind)
        if guard is None:
            self.env[name] = (table, deps)
            return
        old, old_deps = self._register(name, self.env)
        merged = dict(deps)
        for more in (old_deps, self.deps(guard)):
            for read, literal in more.items():
                merged[read] = self.logic.disj((merged[read], literal)) if read in merged else literal
        self.env[name] = (choice(self.logic, chosen, table, old), merged)

    # --- where ways meet ----------------------------------------------------------------------------------------------

    def choosing(self, node: Node) -> int:
        """The mask of the branches whose arms meet at a join."""
        deciding = 0
        for j, _ in node.before:
            deciding |= self.nodes[j].decided_by | 1 << j
        return sum(1 << j for j in bits(deciding & ~node.decided_by) if j in self.decisions)

    def _chose(self, name: str, branches: int) -> Deps:
        """The reads that decided which of the writes of a register in the arms of some branches was done."""
        found: Deps = {}
        for j in bits(branches):
            if name in self.under[j]:
                for read, literal in self.decisions[j].items():
                    found[read] = self.logic.disj((found[read], literal)) if read in found else literal
        return found

    def written_under(self) -> dict[int, set[str]]:
        """The registers that the arms of each branch may write."""
        arms: dict[str, int] = {}
        deciding = 0
        for node in self.nodes:
            self.graph.formulas.deadline.check()
            deciding |= node.decided_by
            for name in written(node.statement) if node.statement is not None else ():
                arms[name] = arms.get(name, 0) | node.decided_by
        return {j: {name for name, mask in arms.items() if mask >> j & 1} for j in bits(deciding)}

    def join(self, incoming: list[tuple[Lit, Env]], branches: int) -> Env:
        """The registers where ways meet: one that some way wrote also depends on what chose the way."""
        names = {name for _, env in incoming for name in env}
        joined: Env = {}
        for name in sorted(names):
            first = incoming[0][1].get(name)
            if first is not None and all(env.get(name) is first for _, env in incoming):
                joined[name] = first
                continue
            values = [(literal, self._register(name, env)) for literal, env in incoming]
            both = self.logic.both
            table = gathered(self.logic, [(v, both(g, lit)) for g, (table, _) in values for v, lit in table.items()])
            deps = {read: [literal] for read, literal in self._chose(name, branches).items()}
            for guard, (_, found) in values:
                for read, literal in found.items():
                    deps.setdefault(read, []).append(both(guard, literal))
            joined[name] = (table, {read: self.logic.disj(parts) for read, parts in deps.items()})
        return joined
