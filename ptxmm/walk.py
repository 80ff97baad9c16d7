"""One pass over a thread's instruction instances: registers, guards, dependencies and events, in a logic."""

from __future__ import annotations

from ptxmm import arith
from ptxmm.accesses import Accesses
from ptxmm.arrivals import Arrivals
from ptxmm.asynchronous_steps import NOT_IN_MASK, Steps
from ptxmm.closure import bits
from ptxmm.copies import Copies
from ptxmm.errors import Undecided
from ptxmm.events import Again, Deps, Ending, Env, Event, EventGraph, Value, same_cta, start_value
from ptxmm.formula import Formulas, Lit
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    AsyncCopy,
    Asynchronous,
    AsyncStore,
    Atomic,
    Bar,
    Barrier,
    Branch,
    ClusterBarrier,
    CopyArrive,
    Elect,
    Exit,
    Expr,
    Fence,
    Label,
    Load,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierTx,
    MbarrierWait,
    Order,
    ProxyFence,
    Reg,
    Statement,
    Store,
    TensormapCopy,
    TensormapReplace,
    Unary,
    WarpSync,
    registers,
)  # fmt: skip
from ptxmm.spins import Loop, written
from ptxmm.unroll import CUT, END, NEXT, TAKEN, WAIT, Node
from ptxmm.values import MAYBE, Logic, Table, choice, cut, evaluate, gathered, truth

NOTICED = (
    Load, Store, Atomic, Fence, ProxyFence, Barrier, ClusterBarrier, WarpSync, MbarrierInit, MbarrierInval, MbarrierTx,
    MbarrierArrive, MbarrierWait, AsyncCopy, AsyncStore, CopyArrive, TensormapReplace, TensormapCopy, Elect,
)  # fmt: skip


class Walk:
    """One pass over a thread's instruction instances, in a logic."""

    def __init__(self, graph: EventGraph, index: int, logic: Logic) -> None:
        self.graph, self.index, self.logic = graph, index, logic
        self.program = graph.program
        self.thread = graph.program.threads[index]
        self.nodes = graph.nodes[index]
        self.exact = isinstance(logic, Formulas)
        self.reach: list[Lit] = []
        self.env: Env = {}
        self.node = 0
        self.here: Lit = 1
        self.decisions: dict[int, Deps] = {}
        self.dependent_stores = 0
        self.reads: set[str] = set()
        self.splits: set[int] = set()
        self.under = self._written_under() if self.exact else {}
        self.after: dict[tuple[int, str], int] | None = None
        self.accesses = Accesses(self)
        self.arrivals = Arrivals(self)
        self.copies = Copies(self)
        self.steps = Steps(self)

    def run(self) -> None:
        """Walk all nodes; fills the graph's events, dependencies and final registers."""
        leaving: list[tuple[Lit, Lit, Env]] = []
        ending: tuple[Env, Lit] = ({}, -1)
        after = [0] * len(self.nodes)
        for node in self.nodes:
            for j, _ in node.before:
                after[j] += 1
        self.splits = {j for j, count in enumerate(after) if count > 1}
        for number, node in enumerate(self.nodes):
            self.graph.formulas.deadline.check()
            self._enter(number, node, leaving)
            taken: Lit = -1
            going = self.here
            if node.statement is not None and self.here != -1:
                self._may_stop(node.statement)
                going, taken = self._execute(node.statement)
            elif node.pc == CUT:
                self.graph.cut = self.logic.disj((self.graph.cut, self.here))
                self._note_cut(node.loop)
            elif node.pc == WAIT and node.loop is not None:
                self.graph.again.append(Again(self.index, node.loop, node.counts, self.here))
            elif node.pc == END:
                ending = (self.env, self.here)
            leaving.append((going, taken, self.env))
        self.graph.finals.append(ending[0])
        self.graph.ends.append(ending[1])

    def _enter(self, number: int, node: Node, leaving: list[tuple[Lit, Lit, Env]]) -> None:
        """Join what comes in: the literal that the node is reached, and the registers."""
        self.node = number
        incoming = []
        for j, kind in node.before:
            going, taken, env = leaving[j]
            literal = taken if kind == TAKEN else going
            if literal != -1:
                incoming.append((literal, env, j))
        if not node.before and number == 0:
            self.here, self.env = self._start(), {}
        elif not incoming:
            self.here, self.env = -1, {}
        elif len(incoming) == 1:
            self.here, self.env, source = incoming[0]
            self.env = dict(self.env) if source in self.splits else self.env
        else:
            self.here = self.logic.disj([literal for literal, _, _ in incoming])
            if node.like >= 0 and self.graph.ending is Ending.FINISHED:
                self.here = self.reach[node.like]
            self.env = self._join([(literal, env) for literal, env, _ in incoming], self._choosing(node))
        self.reach.append(self.here)

    def _may_stop(self, statement: Statement) -> None:
        """Without progress, a thread may stop before anything that others can notice."""
        if self.graph.ending is Ending.ANYWHERE and self.exact and isinstance(statement, NOTICED):
            going = self.free()
            stops = self.graph.stops
            stops[self.index] = self.logic.disj((stops[self.index], self.logic.both(self.here, -going)))
            self.here = self.logic.both(self.here, going)

    def blocks(self) -> bool:
        """Whether the thread waits until the instruction here writes a predicate that is not zero."""
        dst = getattr(self.nodes[self.node].statement, "dst", None)
        if self.after is None:
            self.after = {edge: n for n, node in enumerate(self.nodes) for edge in node.before}
        branch = self.after.get((self.node, NEXT))
        last = self.nodes[branch].statement if branch is not None else None
        if branch is None or not (isinstance(last, Branch) and last.guard and _negates(last.guard, dst)):
            return False
        back = self.after.get((branch, TAKEN))
        while back is not None and isinstance(self.nodes[back].statement, Label):
            back = self.after.get((back, NEXT))
        return back is not None and self.nodes[back].pc == WAIT

    def free(self) -> Lit:
        """A choice that nothing decides."""
        return self.logic.var() if isinstance(self.logic, Formulas) else MAYBE

    def _start(self) -> Lit:
        """The literal that the thread starts; one placed `after` a CTA starts when all of its threads have ended."""
        if self.graph.ending is Ending.FINISHED or not self.exact:
            return 1
        late = self.thread.after is not None or self.thread.place.kernel != self.program.threads[0].place.kernel
        start = self.free() if late or self.graph.ending is not Ending.PREFIX else 1
        self.graph.starts.append(start)
        self.graph.stops.append(-1)
        return start

    def _note_cut(self, loop: Loop | None) -> None:
        """A loop was cut; too early, where it is certain to go on once it is entered."""
        if loop is not None and self.here != -1:
            self.graph.cut_loops[self.index, loop.head] = None
            entered = next(self.reach[i] for i, node in enumerate(self.nodes) if node.pc == loop.head)
            if entered == self.here:
                self.graph.forced.append((self.index, loop.head))

    def _choosing(self, node: Node) -> int:
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

    def _written_under(self) -> dict[int, set[str]]:
        """The registers that the arms of each branch may write."""
        found: dict[int, set[str]] = {}
        for node in self.nodes:
            self.graph.formulas.deadline.check()
            names = written(node.statement) if node.statement is not None else ()
            for j in bits(node.decided_by):
                found.setdefault(j, set()).update(names)
        return found

    def _join(self, incoming: list[tuple[Lit, Env]], branches: int) -> Env:
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

    # --- registers and expressions ------------------------------------------------------------------------------------

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

    # --- statements ---------------------------------------------------------------------------------------------------

    def _execute(self, statement: Statement) -> tuple[Lit, Lit]:
        """Do one instruction: the literals of going on to the next and of jumping."""
        chosen = self.truth(statement.guard)
        guard = self.logic.both(self.here, chosen)
        if isinstance(statement, Asynchronous):
            return self.steps.run(statement, guard, chosen), -1
        match statement:
            case Load():
                self.accesses.load(statement, guard, chosen)
            case Store():
                self.accesses.store(statement, guard)
            case Atomic():
                self.accesses.atomic(statement, guard, chosen)
            case Assign():
                self.assign(statement.dst, self.table(statement.value), self.deps(statement.value),
                            statement.guard, chosen)  # fmt: skip
            case Fence():
                self.event("F", guard, statement, order=statement.order, scope=statement.scope)
            case ProxyFence():
                self.steps.proxy_fence(statement, guard)
            case Barrier() | ClusterBarrier() | WarpSync():
                return self._barrier(statement, guard, chosen), -1
            case Branch() | Exit():
                self.decisions[self.node] = self.deps(statement.guard)
                self.under.setdefault(self.node, set())
                return self.logic.both(self.here, -chosen), guard
            case Assume():
                self.decisions[self.node] = self.deps(statement.cond, statement.guard)
                self.under.setdefault(self.node, set())
                holds = self.truth(statement.cond)
                self.graph.assumed.append(-self.logic.both(guard, -holds))
        return self.here, -1

    def event(self, kind: str, guard: Lit, statement: Statement, **what: object) -> Event:
        event = Event(len(self.graph.events), kind, self.index, self.node, guard, statement, **what)  # type: ignore[arg-type]
        self.graph.events.append(event)
        self._control(event, statement)
        return event

    def _control(self, event: Event, statement: Statement) -> None:
        if not self.exact:
            return
        for read, literal in self.deps(statement.guard).items():
            self.graph.ctrl.append((read, event.id, literal))
        decided, number = self.nodes[self.node].decided_by, 0
        while decided:
            if decided & 1:
                for read, literal in self.decisions.get(number, {}).items():
                    self.graph.ctrl.append((read, event.id, literal))
            decided >>= 1
            number += 1

    def counted(self, event: Event) -> tuple[int, int, int]:
        """What tells an atomic addition apart from every other that an execution may do."""
        return (self.index, self.node, event.where[0])

    def tell(self, statement: Statement, reason: str) -> str:
        return self.graph.tell(self.index, statement, reason)

    def undefined(self, statement: Statement, literal: Lit, reason: str) -> None:
        """Where a literal holds, PTX leaves undefined what an instruction does."""
        self.graph.bad.append((literal, self.tell(statement, reason)))

    def _barrier(self, statement: Barrier | ClusterBarrier | WarpSync, guard: Lit, chosen: Lit) -> Lit:
        """The events of a barrier, one for each possible id; the literal that the thread goes on."""
        blocking = not isinstance(statement, (Barrier, ClusterBarrier)) or (
            statement.wait if isinstance(statement, ClusterBarrier) else statement.kind is not Bar.ARRIVE
        )
        going = self.here
        for number, count, literal in self._identities(statement):
            order = statement.order if isinstance(statement, ClusterBarrier) else Order.WEAK
            event = self.event("B", self.logic.both(guard, literal), statement, order=order)
            event.barrier, event.chosen = (number, count), literal
            lane = self.thread.place.lane if isinstance(statement, WarpSync) else None
            if lane is not None and not number >> lane & 1:
                self.undefined(statement, event.guard, NOT_IN_MASK.format(number))
            if isinstance(statement, Barrier) and statement.pred is not None:
                event.predicate = self.truth(statement.pred)
            if isinstance(statement, Barrier) and statement.dst is not None:
                self._reduction_result(event, statement, chosen)
            if self.exact and blocking:
                going = self.held(event, going)
        return going

    def held(self, event: Event, going: Lit) -> Lit:
        """The literal that a thread that would be `going` on does so after it waits for others in an event."""
        passing = self.free() if self.graph.ending is not Ending.FINISHED else 1
        self.graph.passes[event.id] = passing
        return self.logic.both(going, -self.logic.both(event.guard, -passing))

    def _reduction_result(self, event: Event, statement: Barrier, chosen: Lit) -> None:
        """The result register of `bar.red`: any value that some set of predicates can give."""
        cta = [t for t in self.program.threads if same_cta(t, self.thread)]
        most = sum(32 if t.place.lane is None else 1 for t in cta)
        domain = range(most + 1) if statement.op == "popc" else range(2)
        if isinstance(self.logic, Formulas):
            event.table = {value: self.logic.var() for value in domain}
        else:
            event.table = dict.fromkeys(domain, MAYBE)
        assert statement.dst is not None
        self.assign(statement.dst, dict(event.table), {}, statement.guard, chosen)

    def _identities(self, statement: Barrier | ClusterBarrier | WarpSync) -> list[tuple[int, int | None, Lit]]:
        if isinstance(statement, ClusterBarrier):
            return [(0, None, 1)]
        if isinstance(statement, WarpSync):
            if statement.mask is None:
                return [(-1, None, 1)]
            return [(value, None, literal) for value, literal in self.table(statement.mask).items()]
        count = None
        if statement.count is not None:
            counts = self.table(statement.count)
            if len(counts) > 1:
                raise Undecided(self.tell(statement, "has a thread count that is not the same in every execution"))
            count = next(iter(counts))
        return [(value, count, literal) for value, literal in self.table(statement.id).items()]


def _negates(guard: Expr, name: str | None) -> bool:
    """Whether a guard is that a register is zero."""
    return isinstance(guard, Unary) and guard.op == "!" and guard.arg == Reg(name or "")
