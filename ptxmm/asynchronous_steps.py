"""Instructions on mbarriers, copies, tensor maps, elected lanes and grids while a thread is walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm.closure import bits
from ptxmm.errors import Undecided
from ptxmm.events import same_warp
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
from ptxmm.tiles import MAP_SIZE
from ptxmm.values import MAYBE, Table, booleans

if TYPE_CHECKING:
    from ptxmm.walk import Walk

ALL_LANES = (1 << 32) - 1
NOT_IN_MASK = "has the mask {:#x}, which lacks the lane that executes it"
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
            return self._elect(statement, guard, chosen)
        if isinstance(statement, ON_MBARRIERS):
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
        return self.walk.held(event, self.walk.here)

    def _elect(self, statement: Elect, guard: Lit, chosen: Lit) -> Lit:
        """One lane of those that take part is elected, the same each time; a thread without a lane is a whole warp.

        The literal is that the thread goes on: it waits for all lanes of the mask.
        """
        mask = self._mask(statement)
        lane = self.walk.thread.place.lane
        lanes = self._lanes(mask)
        if lane not in lanes and (lane is not None or not lanes):
            self.walk.undefined(statement, guard, NOT_IN_MASK.format(mask))
            lanes = [lane or 0]
        leader = self._leader(mask, lanes) if lane is not None or statement.dst is not None else {}
        if statement.pred is not None:
            here = leader.get(lane, 1) if lane is not None else 1
            self.walk.assign(statement.pred, booleans(here), {}, statement.guard, chosen)
        if statement.dst is not None:
            self.walk.assign(statement.dst, dict(leader), {}, statement.guard, chosen)
        if lane is None or len(lanes) == 1:
            return self.walk.here
        event = self.walk.event("E", guard, statement, barrier=(mask, None))
        return self.walk.held(event, self.walk.here) if self.walk.exact else self.walk.here

    def _mask(self, statement: Elect) -> int:
        if statement.mask is None:
            return ALL_LANES
        values = self.walk.table(statement.mask)
        if len(values) != 1:
            raise Undecided(self.walk.tell(statement, "has a mask that is not the same in every execution"))
        return next(iter(values)) & ALL_LANES

    def _lanes(self, mask: int) -> list[int]:
        """The lanes of a mask that the test has: all of them where the thread is a whole warp."""
        mine = self.walk.thread
        if mine.place.lane is None:
            return list(bits(mask))
        beside = [t.place.lane for t in self.walk.program.threads if same_warp(t, mine)]
        return sorted(lane for lane in beside if lane is not None and mask >> lane & 1)

    def _leader(self, mask: int, lanes: list[int]) -> Table:
        """Which lane of a warp is elected for a mask."""
        if len(lanes) == 1:
            return {lanes[0]: 1}
        if not self.walk.exact:
            return dict.fromkeys(lanes, MAYBE)
        place, graph = self.walk.thread.place, self.walk.graph
        warp = place.warp if place.lane is not None else self.walk.index
        key = (place.kernel, place.device, place.cta, warp, place.lane is None, mask)
        if key not in graph.elected:
            graph.elected[key] = {lane: self.walk.free() for lane in lanes}
            graph.formulas.at_most_one(list(graph.elected[key].values()))
            graph.formulas.require(*graph.elected[key].values())
        return graph.elected[key]
