"""Execution barriers while a thread is walked: the event of each, for each barrier that it may name, and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm.asynchronous_steps import NOT_IN_MASK
from ptxmm.errors import Undecided
from ptxmm.events import Event, same_cta
from ptxmm.formula import Formulas, Lit
from ptxmm.program import Bar, Barrier, ClusterBarrier, Order, WarpSync
from ptxmm.values import MAYBE

if TYPE_CHECKING:
    from ptxmm.walk import Walk


class Meetings:
    """The execution barriers of one walk over a thread."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def run(self, statement: Barrier | ClusterBarrier | WarpSync, guard: Lit, chosen: Lit) -> Lit:
        """The events of a barrier, one for each possible id; the literal that the thread goes on."""
        blocking = not isinstance(statement, (Barrier, ClusterBarrier)) or (
            statement.wait if isinstance(statement, ClusterBarrier) else statement.kind is not Bar.ARRIVE
        )
        going = self.walk.here
        for number, count, literal in self._identities(statement):
            order = statement.order if isinstance(statement, ClusterBarrier) else Order.WEAK
            event = self.walk.event("B", self.walk.logic.both(guard, literal), statement, order=order)
            event.barrier, event.chosen = (number, count), literal
            lane = self.walk.thread.place.lane if isinstance(statement, WarpSync) else None
            if lane is not None and not number >> lane & 1:
                self.walk.undefined(statement, event.guard, NOT_IN_MASK.format(number))
            if isinstance(statement, Barrier) and statement.pred is not None:
                event.predicate = self.walk.truth(statement.pred)
            if isinstance(statement, Barrier) and statement.dst is not None:
                self._result(event, statement, chosen)
            if self.walk.exact and blocking:
                going = self.walk.held(event, going)
        return going

    def _result(self, event: Event, statement: Barrier, chosen: Lit) -> None:
        """The result register of `bar.red`: any value that some set of predicates can give."""
        cta = [t for t in self.walk.program.threads if same_cta(t, self.walk.thread)]
        most = sum(32 if t.place.lane is None else 1 for t in cta)
        domain = range(most + 1) if statement.op == "popc" else range(2)
        if isinstance(self.walk.logic, Formulas):
            event.table = {value: self.walk.logic.var() for value in domain}
        else:
            event.table = dict.fromkeys(domain, MAYBE)
        assert statement.dst is not None
        self.walk.assign(statement.dst, dict(event.table), {}, statement.guard, chosen)

    def _identities(self, statement: Barrier | ClusterBarrier | WarpSync) -> list[tuple[int, int | None, Lit]]:
        if isinstance(statement, ClusterBarrier):
            return [(0, None, 1)]
        if isinstance(statement, WarpSync):
            if statement.mask is None:
                return [(-1, None, 1)]
            return [(value, None, literal) for value, literal in self.walk.table(statement.mask).items()]
        count = None
        if statement.count is not None:
            counts = self.walk.table(statement.count)
            if len(counts) > 1:
                raise Undecided(self.walk.tell(statement, "has a thread count that is not the same in every execution"))
            count = next(iter(counts))
        return [(value, count, literal) for value, literal in self.walk.table(statement.id).items()]
