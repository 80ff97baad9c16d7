"""One pass over a thread's instruction instances: registers, guards, dependencies and events, in a logic."""

from __future__ import annotations

from ptxmm.accesses import Accesses
from ptxmm.arrivals import Arrivals
from ptxmm.asynchronous_steps import Steps
from ptxmm.closure import bits
from ptxmm.copies import Copies
from ptxmm.events import Again, Ending, Env, Event, EventGraph
from ptxmm.formula import Formulas, Lit
from ptxmm.meetings import Meetings
from ptxmm.program import (
    Assign,
    Assume,
    AsyncCopy,
    Asynchronous,
    AsyncStore,
    Atomic,
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
    ProxyFence,
    Reg,
    Statement,
    Store,
    TensormapCopy,
    TensormapReplace,
    Unary,
    WarpSync,
)  # fmt: skip
from ptxmm.spins import Loop
from ptxmm.unroll import CUT, END, NEXT, TAKEN, WAIT, Node
from ptxmm.values import MAYBE, Logic
from ptxmm.walk_registers import Registers

NOTICED = (
    Load, Store, Atomic, Fence, ProxyFence, Barrier, ClusterBarrier, WarpSync, MbarrierInit, MbarrierInval, MbarrierTx,
    MbarrierArrive, MbarrierWait, AsyncCopy, AsyncStore, CopyArrive, TensormapReplace, TensormapCopy, Elect,
)  # fmt: skip


class Walk(Registers):
    """One pass over a thread's instruction instances, in a logic."""

    def __init__(self, graph: EventGraph, index: int, logic: Logic) -> None:
        super().__init__(graph, index, logic)
        self.exact = isinstance(logic, Formulas)
        self.reach: list[Lit] = []
        self.node = 0
        self.here: Lit = 1
        self.dependent_stores = 0
        self.reads: set[str] = set()
        self.splits: set[int] = set()
        self.under = self.written_under() if self.exact else {}
        self.after: dict[tuple[int, str], int] | None = None
        self.accesses = Accesses(self)
        self.arrivals = Arrivals(self)
        self.copies = Copies(self)
        self.steps = Steps(self)
        self.meetings = Meetings(self)

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
            self.env = self.join([(literal, env) for literal, env, _ in incoming], self.choosing(node))
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
                return self.meetings.run(statement, guard, chosen), -1
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
        for number in bits(self.nodes[self.node].decided_by):
            for read, literal in self.decisions.get(number, {}).items():
                self.graph.ctrl.append((read, event.id, literal))

    def counted(self, event: Event) -> tuple[int, int, int]:
        """What tells an atomic addition apart from every other that an execution may do."""
        return (self.index, self.node, event.where[0])

    def tell(self, statement: Statement, reason: str) -> str:
        return self.graph.tell(self.index, statement, reason)

    def undefined(self, statement: Statement, literal: Lit, reason: str) -> None:
        """Where a literal holds, PTX leaves undefined what an instruction does."""
        self.graph.bad.append((literal, self.tell(statement, reason)))

    def held(self, event: Event, going: Lit) -> Lit:
        """The literal that a thread that would be `going` on does so after it waits for others in an event."""
        passing = self.free() if self.graph.ending is not Ending.FINISHED else 1
        self.graph.passes[event.id] = passing
        return self.logic.both(going, -self.logic.both(event.guard, -passing))


def _negates(guard: Expr, name: str | None) -> bool:
    """Whether a guard is that a register is zero."""
    return isinstance(guard, Unary) and guard.op == "!" and guard.arg == Reg(name or "")
