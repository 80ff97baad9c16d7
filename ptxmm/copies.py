"""Copies while a thread is walked: groups, tensor maps that change, and arrivals that follow copies.

PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy". `ptxmm.transfers` has the copies themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm import tensor_maps
from ptxmm.errors import Undecided
from ptxmm.events import Event
from ptxmm.formula import Lit
from ptxmm.mbarrier_state import Operation
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Commit,
    CopyArrive,
    Order,
    Proxy,
    Scope,
    TensormapCopy,
    TensormapReplace,
    WaitGroup,
)  # fmt: skip
from ptxmm.tiles import MAP_SIZE, WORD, Spot, Started
from ptxmm.transfers import Transfers, pieces
from ptxmm.values import Table, booleans, combined

if TYPE_CHECKING:
    from ptxmm.walk import Walk

# The fields of a tensor map that change which bytes a box has, and are not followed.
SHAPE = frozenset({"rank", "element_stride", "elemtype", "interleave_layout"})
Instruction = AsyncCopy | AsyncStore | Commit | WaitGroup | CopyArrive | TensormapReplace | TensormapCopy


class Copies:
    """The copies of one walk over a thread; `commits` lists (kind, moment, guard)."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.graph, self.logic = walk, walk.graph, walk.logic
        self.transfers = Transfers(walk)
        self.started: list[Started] = []
        self.commits: list[tuple[bool, int, Lit]] = []

    def run(self, statement: Instruction, guard: Lit) -> None:
        """The events of one instruction."""
        match statement:
            case AsyncCopy():
                started = self.transfers.copy(statement, guard)
                if statement.mbarrier is None:
                    self.started.append(started)
            case AsyncStore():
                self.transfers.store(statement, guard)
            case Commit(bulk=bulk):
                self.commits.append((bulk, self.walk.node, guard))
            case WaitGroup():
                self._wait(statement, guard)
            case CopyArrive():
                self._arrive(statement, guard)
            case TensormapReplace():
                self._replace(statement, guard)
            case TensormapCopy():
                self._republish(statement, guard)

    # --- groups -------------------------------------------------------------------------------------------------------

    def _wait(self, statement: WaitGroup, guard: Lit) -> None:
        event = self.walk.event("G", guard, statement)
        for copy in self.started:
            if copy.bulk != statement.bulk:
                continue
            literal = self._covered(copy, statement)
            for one in copy.reads if statement.read else copy.events:
                self.graph.done.append((one.id, event.id, literal))

    def _covered(self, copy: Started, statement: WaitGroup) -> Lit:
        """The literal that a wait takes in a copy: more than `pending` groups were committed since it started."""
        if statement.pending is None:
            return 1
        count: Table = {0: 1}
        for bulk, moment, guard in self.commits:
            if bulk == copy.bulk and moment > copy.moment:
                count = combined(self.logic, count, booleans(guard), lambda a, b: a + b)
        return self.logic.disj([literal for value, literal in count.items() if value > statement.pending])

    def _arrive(self, statement: CopyArrive, guard: Lit) -> None:
        arrivals = self.walk.arrivals
        for spot in arrivals.spots(statement, statement.address, guard):
            if statement.increments:
                arrivals.operation(statement, guard, spot, Operation("more"))
            start = self.walk.event("S", guard, statement)
            arrival = arrivals.operation(statement, guard, spot, Operation("arrive", 1), issue=start.id,
                                         order=Order.RELEASE, scope=Scope.CTA)  # fmt: skip
            for copy in self.started:
                if not copy.bulk:
                    for one in copy.events:
                        self.graph.done.append((one.id, arrival.id, 1))

    # --- tensor maps --------------------------------------------------------------------------------------------------

    def _replace(self, statement: TensormapReplace, guard: Lit) -> None:
        """A weak operation on the entire object (PTX ISA, "tensormap.replace"): a field is written, the rest as it was.

        One word stands for all fields that are not followed.
        """
        accesses, at = self.walk.accesses, tensor_maps.word_of(statement) * WORD.size
        if statement.field in SHAPE:
            raise Undecided(
                self.walk.tell(statement, f"changes `.{statement.field}`: the box of a map is not followed")
            )
        for spot in accesses.spots(statement, statement.address, guard, MAP_SIZE, WORD.size, writes=True):
            for place, size in pieces(self.graph.memory, spot, spot, MAP_SIZE, WORD.size):
                if not at <= place < at + WORD.size:
                    self._pass_on(statement, guard, spot, spot, (place, size)).last = True
            write = accesses.access("W", statement, guard, spot, (spot[2] + at, WORD.size), WORD, order=Order.WEAK)
            value = self.walk.table(statement.value) if at != tensor_maps.OTHERS * WORD.size else {0: 1}
            accesses.write(write, value, self.walk.deps(statement.value))

    def _pass_on(self, statement: TensormapReplace | TensormapCopy, guard: Lit, source: Spot, target: Spot,
                 piece: tuple[int, int]) -> Event:  # fmt: skip
        """Some bytes of a map are loaded and stored by the generic proxy: the store."""
        accesses, (place, size) = self.walk.accesses, piece
        read = accesses.access("R", statement, guard, source, (source[2] + place, size), WORD, order=Order.WEAK)
        read.table = accesses.read_table(read)
        write = accesses.access("W", statement, guard, target, (target[2] + place, size), WORD, order=Order.WEAK)
        accesses.write(write, read.table, {read.id: 1})
        return write

    def _republish(self, statement: TensormapCopy, guard: Lit) -> None:
        """128 bytes copied in program order through the generic proxy, and then the release half of the fence."""
        accesses = self.walk.accesses
        for source in accesses.spots(statement, statement.source, guard, MAP_SIZE, MAP_SIZE):
            for target in accesses.spots(statement, statement.destination, guard, MAP_SIZE, MAP_SIZE, writes=True):
                here = self.logic.both(guard, self.logic.both(source[3], target[3]))
                for piece in pieces(self.graph.memory, source, target, MAP_SIZE, WORD.size):
                    self._pass_on(statement, here, source, target, piece)
        fence = self.walk.event("F", guard, statement, order=Order.RELEASE, scope=statement.scope,
                                proxy=Proxy.TENSORMAP)  # fmt: skip
        fence.last = True
