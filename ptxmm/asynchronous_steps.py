"""Instructions on mbarriers, copies, tensor maps, elected lanes and grids while a thread is walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm.errors import Undecided
from ptxmm.events import Ending, same_warp
from ptxmm.formula import Lit
from ptxmm.program import (
    Asynchronous,
    Elect,
    Foreign,
    GridDependency,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    ProxyFence,
)  # fmt: skip
from ptxmm.transfers import MAP_SIZE
from ptxmm.values import MAYBE, booleans

if TYPE_CHECKING:
    from ptxmm.walk import Walk

ON_MBARRIERS = (MbarrierInit, MbarrierInval, MbarrierTx, MbarrierArrive, MbarrierWait, MbarrierPending)


class Steps:
    """The asynchronous instructions of one walk over a thread."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def run(self, statement: Asynchronous, guard: Lit, chosen: Lit) -> Lit:
        """Do one instruction: the literal that the thread goes on."""
        if isinstance(statement, GridDependency):
            return self._grid(statement, guard)
        if isinstance(statement, Elect):
            self._elect(statement, guard, chosen)
        elif isinstance(statement, ON_MBARRIERS):
            self.walk.arrivals.run(statement, guard, chosen)
        elif not isinstance(statement, Foreign):
            self.walk.copies.run(statement, guard)
        return self.walk.here

    def proxy_fence(self, statement: ProxyFence, guard: Lit) -> None:
        """A proxy fence; the acquire of a tensor map is one event for each place that its address may be."""
        if statement.address is None:
            self.walk.event("F", guard, statement, scope=statement.scope)
            return
        for name, virtual, offset, literal in self.walk.accesses.spots(
            statement, statement.address, guard, MAP_SIZE, MAP_SIZE
        ):
            self.walk.event("F", self.walk.logic.both(guard, literal), statement, scope=statement.scope, object=name,
                       virtual=virtual, where=(offset, MAP_SIZE))  # fmt: skip

    def _grid(self, statement: GridDependency, guard: Lit) -> Lit:
        """A step of a dependent launch; the literal that the thread goes on."""
        event = self.walk.event("K", guard, statement)
        kernel, launches = self.walk.thread.place.kernel, self.walk.program.launches
        dependent = any(second == kernel and kind == "dependent" for second, kind, _ in launches)
        if not (self.walk.exact and statement.wait and dependent):
            return self.walk.here
        passing = self.walk.free() if self.walk.graph.ending is not Ending.FINISHED else 1
        self.walk.graph.passes[event.id] = passing
        return self.walk.logic.both(self.walk.here, -self.walk.logic.both(event.guard, -passing))

    def _elect(self, statement: Elect, guard: Lit, chosen: Lit) -> None:
        """One lane of those that take part is elected, the same each time; a thread without a lane is a whole warp."""
        lane = self.walk.thread.place.lane
        here: Lit = 1
        if lane is not None:
            here = self._elected(lane, statement)
        if statement.pred is not None:
            self.walk.assign(statement.pred, booleans(here), {}, statement.guard, chosen)
        if statement.dst is not None:
            if lane is None:
                self.walk.assign(statement.dst, {0: 1}, {}, statement.guard, chosen)
            else:
                raise Undecided(
                    self.walk.tell(statement, "asks for the number of the elected lane, which is not followed")
                )

    def _elected(self, lane: int, statement: Elect) -> Lit:
        mask = (1 << 32) - 1
        if statement.mask is not None:
            values = self.walk.table(statement.mask)
            if len(values) != 1:
                raise Undecided(self.walk.tell(statement, "has a mask that is not the same in every execution"))
            mask = next(iter(values)) & mask
        place = self.walk.thread.place
        beside = [t.place.lane for t in self.walk.program.threads if same_warp(t, self.walk.thread)]
        lanes = sorted(other for other in beside if other is not None and mask >> other & 1)
        if lane not in lanes:
            return -1
        if len(lanes) == 1:
            return 1
        if not self.walk.exact:
            return MAYBE
        key = (place.kernel, place.device, place.cta, place.warp, mask)
        if key not in self.walk.graph.elected:
            found = [self.walk.free() for _ in lanes]
            self.walk.graph.formulas.at_most_one(found)
            self.walk.graph.formulas.require(*found)
            self.walk.graph.elected[key] = found
        return self.walk.graph.elected[key][lanes.index(lane)]
