"""Instructions on mbarriers while a thread is walked: the operation each makes, and the registers that they write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm.errors import Undecided
from ptxmm.events import Ending, Event
from ptxmm.formula import Formulas, Lit
from ptxmm.mbarrier_state import PHASES, Operation
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    CopyArrive,
    Expr,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    Space,
    Statement,
)  # fmt: skip
from ptxmm.values import MAYBE, Table, mapped

if TYPE_CHECKING:
    from ptxmm.walk import Walk

Instruction = MbarrierInit | MbarrierInval | MbarrierTx | MbarrierArrive | MbarrierWait | MbarrierPending
SIZE = 8
Spot = tuple[str, str, int, Lit]


class Arrivals:
    """The mbarrier operations of one walk over a thread."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.graph, self.logic, self.program = walk, walk.graph, walk.logic, walk.program

    def run(self, statement: Instruction, guard: Lit, chosen: Lit) -> None:
        """The events of one instruction."""
        match statement:
            case MbarrierPending():
                states = self.walk.table(statement.token)
                wrong = self.logic.disj([literal for value, literal in states.items() if value < PHASES])
                if wrong != -1:
                    reason = "takes no state of an arrival with `.noComplete`"
                    self.walk.undefined(statement, self.logic.both(guard, wrong), reason)
                given = mapped(self.logic, states, lambda v: v // PHASES)
                self.walk.assign(statement.dst, given, self.walk.deps(statement.token), statement.guard, chosen)
            case MbarrierWait():
                self._wait(statement, guard, chosen)
            case MbarrierArrive():
                self._arrive(statement, guard, chosen)
            case MbarrierInit():
                self._make(statement, guard, Operation("init", self.constant(statement, statement.count)))
            case MbarrierInval():
                self._make(statement, guard, Operation("inval"))
            case MbarrierTx():
                kind = "complete" if statement.complete else "expect"
                size = self.constant(statement, statement.bytes)
                completes = statement.complete or self.graph.expect_ends
                self._make(statement, guard, Operation(kind, bytes=size, completes=completes))

    def constant(self, statement: Statement, expr: Expr) -> int:
        """The value of an operand that must be the same in every execution."""
        table = self.walk.table(expr)
        if len(table) != 1:
            reason = "has a count that is not the same in every execution"
            raise Undecided(self.walk.tell(statement, reason))
        return next(iter(table))

    def spots(self, statement: Statement, address: Expr, guard: Lit) -> list[Spot]:
        """The mbarrier objects that an address may be of; a place that cannot hold one is undefined."""
        found = []
        for name, virtual, offset, literal in self.walk.accesses.spots(statement, address, guard, SIZE, SIZE):
            item = self.program.physical(name)
            if item.space is not Space.SHARED:
                reason = f"uses an mbarrier in `{name}`, which is not in shared memory"
                self.walk.undefined(statement, self.logic.both(guard, literal), reason)
            else:
                found.append((name, virtual, offset, literal))
        return found

    def operation(self, statement: Statement, guard: Lit, spot: Spot, operation: Operation, **what: object) -> Event:
        """The event of one operation on one object."""
        name, virtual, offset, literal = spot
        where = f"{name}+{offset}" if offset else name
        event = self.walk.event("A", self.logic.both(guard, literal), statement, object=where, virtual=virtual, **what)
        event.operation = operation
        return event

    def _make(self, statement: MbarrierInit | MbarrierInval | MbarrierTx, guard: Lit, operation: Operation) -> None:
        for spot in self.spots(statement, statement.address, guard):
            event = self.operation(statement, guard, spot, operation)
            event.scope = statement.scope if isinstance(statement, MbarrierTx) else None

    def _arrive(self, statement: MbarrierArrive, guard: Lit, chosen: Lit) -> None:
        count = self.constant(statement, statement.count)
        size = 0 if statement.expect is None else self.constant(statement, statement.expect)
        operation = Operation("drop" if statement.drop else "arrive", count, size, statement.completes)
        parts = []
        for spot in self.spots(statement, statement.address, guard):
            event = self.operation(statement, guard, spot, operation, order=statement.order, scope=statement.scope)
            if statement.dst is not None:
                event.table = self._tokens(counted=self.graph.counts_pending and not statement.completes)
                parts.append((spot[3], event))
        if statement.dst is not None and parts:
            self._assign(statement.dst, parts, statement.guard, chosen)

    def _wait(self, statement: MbarrierWait, guard: Lit, chosen: Lit) -> None:
        wanted = statement.token if statement.token is not None else statement.parity
        assert wanted is not None
        asked, parts = self.walk.table(wanted), []
        wrong = self.logic.disj([literal for value, literal in asked.items() if value > 1])
        if statement.parity is not None and wrong != -1:
            reason = "waits for a parity that is neither 0 nor 1"
            self.walk.undefined(statement, self.logic.both(guard, wrong), reason)
        for spot in self.spots(statement, statement.address, guard):
            event = self.operation(statement, guard, spot, Operation("wait"), order=statement.order,
                                   scope=statement.scope)  # fmt: skip
            event.asked, event.blocking = asked, self.walk.blocks()
            true = self.logic.var() if isinstance(self.logic, Formulas) else MAYBE
            if event.blocking and self.graph.ending is Ending.FINISHED:
                true = 1
            event.table = {0: -true, 1: true} if true != 1 and self.walk.exact else {0: MAYBE, 1: MAYBE}
            if true == 1:
                event.table = {1: 1}
            parts.append((spot[3], event))
        if statement.dst is not None and parts:
            self._assign(statement.dst, parts, statement.guard, chosen)

    def _assign(self, name: str, parts: list[tuple[Lit, Event]], guard: Expr | None, chosen: Lit) -> None:
        tables = [(literal, event.table) for literal, event in parts]
        deps = {event.id: literal for literal, event in parts}
        self.walk.assign(name, self.walk.accesses.chosen(tables), deps, guard, chosen)

    def _tokens(self, *, counted: bool) -> Table:
        """Every state that an arrive may return: a phase for each arrival, where `counted` with what is pending."""
        most = 1 + self.graph.arrivals
        pending = range(1, self.graph.most_pending + 1) if counted else (0,)
        domain = [phase + PHASES * left for phase in range(most) for left in pending]
        if isinstance(self.logic, Formulas):
            return {value: self.logic.var() for value in domain}
        return dict.fromkeys(domain, MAYBE)


def arrives(statement: Statement | None) -> bool:
    """Whether an instruction can complete a phase."""
    match statement:
        case MbarrierArrive() | CopyArrive() | MbarrierTx():
            return True
        case AsyncCopy() | AsyncStore():
            return statement.mbarrier is not None
    return False
