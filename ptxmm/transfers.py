"""Copies while a thread is walked: what each reads and writes out of program order, and the mbarriers it completes on.

A copy starts in program order and does the rest at some later time: it reads its tensor map and its source, writes its
destination, and tells an mbarrier or the groups of its thread. Of a long copy only the pieces are followed that some
other instruction or the condition looks at, and its first piece, which stands for those that nobody looks at.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING

from ptxmm import arith
from ptxmm.arith import Type
from ptxmm.events import Deps, Event
from ptxmm.formula import Lit
from ptxmm.mbarrier_state import Operation
from ptxmm.memory import Memory, Range
from ptxmm.program import AsyncCopy, AsyncStore, Expr, Order, Proxy, Scope
from ptxmm.tags import includes, ranks
from ptxmm.tiles import Leg, Spot, Started, Tiles
from ptxmm.values import Table, combined

if TYPE_CHECKING:
    from ptxmm.walk import Walk

PIECE = 16
"""What the bytes and the addresses of a bulk copy are multiples of: PTX ISA, "cp.async.bulk"."""


def pieces(memory: Memory, source: Spot, target: Spot, size: int, element: int, *, whole: bool = False) -> list[Range]:
    """The pieces of a copy that something else looks at, and its first element: (offset, bytes) within the copy.

    They do not overlap. With `whole` they are elements, each looked at in some part.
    """
    found: set[Range] = set()
    for name, _, offset, _ in (source, target):
        for start, length in memory.ranges.get(name, ()):
            first, last = max(start, offset), min(start + length, offset + size)
            if first < last:
                found.add((first - offset, last - first))
    if not any(start == 0 for start, _ in found):
        found.add((0, min([element, *(start for start, _ in found)])))
    if whole:
        inside = {k for start, length in found for k in range(start // element, -(-(start + length) // element))}
        return [(k * element, element) for k in sorted(inside)]
    edges = sorted({edge for start, length in found for edge in (start, start + length)})
    cut = [(a, b - a) for a, b in pairwise(edges)]
    return [(a, n) for a, n in cut if any(start <= a and a + n <= start + length for start, length in found)]


class Transfers:
    """The copies of one walk over a thread."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.graph, self.logic, self.program = walk, walk.graph, walk.logic, walk.program
        self.tiles = Tiles(walk)

    # --- copies -------------------------------------------------------------------------------------------------------

    def copy(self, statement: AsyncCopy, guard: Lit) -> Started:
        """The events of `cp.async` and of the bulk copies."""
        start = self.walk.event("S", guard, statement, scope=statement.scope)
        started = Started(start, statement.bulk, guard, self.walk.node)
        legs = self._legs(statement, guard) if statement.map is None else self.tiles.legs(statement, guard, started)
        for leg in (leg for leg in legs if not leg.zeros):
            self._must_not(statement, self.logic.both(guard, leg.literal), self._astray(statement, leg))
        if statement.multicast is not None:
            legs = [replace(leg, target=one) for leg in legs for one in self._members(statement, guard, leg.target)]
        for leg in legs:
            self._move(statement, self.logic.both(guard, leg.literal), leg, started)
        if statement.map is None:
            started.sizes = {leg.size: 1 for leg in legs}
        if statement.mbarrier is not None and legs:
            self._complete(statement, statement.mbarrier, guard, started)
        return started

    def _astray(self, statement: AsyncCopy, leg: Leg) -> str:
        """What a copy does with the shared memory of a CTA where it may not (PTX ISA 9.7.10.28)."""
        source, target = None if leg.zeros else self._whose(leg.source), self._whose(leg.target)
        if source is False:
            return "reads the shared memory of another CTA"
        if source and target:
            return "copies from shared memory to that of the same CTA"
        return "writes the shared memory of another CTA" if target is False and not statement.bulk else ""

    def _whose(self, spot: Spot) -> bool | None:
        """Whether shared memory is that of the thread's own CTA; None for other memory."""
        owner = self.program.physical(spot[0]).owner
        return None if owner is None else includes(Scope.CTA, owner, self.walk.thread.place)

    def _must_not(self, statement: AsyncCopy | AsyncStore, literal: Lit, astray: str) -> None:
        """Where an instruction goes astray, that is an undefined step."""
        if astray:
            self.walk.undefined(statement, literal, astray)

    def _legs(self, statement: AsyncCopy, guard: Lit) -> list[Leg]:
        """The ways between addresses."""
        assert statement.size is not None
        assert statement.source is not None
        assert statement.destination is not None
        walk, accesses = self.walk, self.walk.accesses
        size = walk.arrivals.constant(statement, statement.size)
        if size <= 0 or (statement.bulk and size % PIECE):
            reason = f"copies {size} bytes, which is not a positive multiple of {PIECE}"
            self.walk.undefined(statement, guard, reason)
            return []
        align = PIECE if statement.bulk else size
        sources = accesses.spots(statement, statement.source, guard, size, align)
        targets = accesses.spots(statement, statement.destination, guard, size, align, writes=True)
        return [Leg(s, t, size, self.logic.both(s[3], t[3])) for s in sources for t in targets]

    def _members(self, statement: AsyncCopy | AsyncStore, guard: Lit, spot: Spot) -> list[Spot]:
        """The objects at the same offset in every CTA that a multicast names."""
        assert isinstance(statement, AsyncCopy)
        assert statement.multicast is not None
        mask = self.walk.arrivals.constant(statement, statement.multicast)
        name, _, offset, literal = spot
        item, found = self.program.physical(name), []
        for rank, cta in enumerate(ranks(self.program, self.walk.thread.place)):
            for other in self.program.objects:
                same = other.name == name or (other.family is not None and other.family == item.family)
                if mask >> rank & 1 and same and other.owner is not None and other.owner.cta == cta:
                    found.append((other.name, other.name, offset, literal))
        if len(found) < mask.bit_count() or not mask:
            reason = f"goes to CTAs of the mask {mask:#x} that have no `{item.family or name}` at that offset"
            self.walk.undefined(statement, self.logic.both(guard, literal), reason)
        return found

    # --- what a copy does ---------------------------------------------------------------------------------------------

    def _move(self, statement: AsyncCopy, guard: Lit, leg: Leg, started: Started) -> None:
        """The reads and writes of the pieces of a copy."""
        accesses, walk = self.walk.accesses, self.walk
        memory, proxy = self.graph.memory, Proxy.ASYNC if statement.bulk else Proxy.GENERIC
        element = min(self.program.physical(name).type.size for name in (leg.source[0], leg.target[0]))
        known = 0 if leg.zeros else leg.size
        if statement.read is not None:
            known = walk.arrivals.constant(statement, statement.read)
        walk.reads |= {leg.source[0], leg.target[0]}
        depends: Deps = {one.id: 1 for one in started.reads if one.proxy is Proxy.TENSORMAP}
        order = Order.WEAK if statement.reduce else statement.order
        scope = statement.scope if order is not Order.WEAK else None
        common = {"proxy": proxy, "issue": started.start.id, "scope": scope}
        if statement.reduce is not None:
            element = (statement.type or self.program.physical(leg.target[0]).type).size
        whole = statement.reduce is not None
        for place, size in pieces(memory, leg.source, leg.target, leg.size, element, whole=whole):
            kind = Type("b", 8 * size)
            target = (leg.target[2] + place, size)
            given, deps = {0: 1}, dict(depends)
            if place < known:
                where = (leg.source[2] + place, size)
                read = accesses.access("R", statement, guard, leg.source, where, kind, order=order, **common)
                given = read.table = accesses.read_table(read)
                self._follow_map(read, depends)
                started.reads.append(read)
                deps[read.id] = 1
            owner = self.program.physical(leg.target[0]).owner
            if statement.reduce is not None:
                self._combine(statement, guard, leg.target, target, given, deps, started)
                continue
            write = accesses.access("W", statement, guard, leg.target, target, kind, order=order, **common)
            self._follow_map(write, depends)
            accesses.write(write, given, deps)
            started.writes.append((write, owner))

    def _follow_map(self, event: Event, reads: Deps) -> None:
        """Where a copy goes depends on what it read in its tensor map."""
        if self.walk.exact:
            self.graph.addr.extend((read, event.id, literal) for read, literal in reads.items())

    def _combine(self, statement: AsyncCopy | AsyncStore, guard: Lit, spot: Spot, where: Range, given: Table,
                 deps: Deps, started: Started) -> None:  # fmt: skip
        """An atomic operation on one element of the destination."""
        op = statement.reduce if isinstance(statement, AsyncCopy) else statement.op
        kind, accesses = statement.type or self.program.physical(spot[0]).type, self.walk.accesses
        assert op is not None
        proxy = Proxy.ASYNC if isinstance(statement, AsyncCopy) else Proxy.GENERIC
        common = {"proxy": proxy, "issue": started.start.id, "scope": statement.scope or Scope.SYS}
        read = accesses.access("R", statement, guard, spot, where, kind, order=Order.RELAXED, **common)
        read.table = accesses.read_table(read)
        written = combined(self.logic, read.table, given, lambda a, b: arith.atomic(op, a, (b, b), kind) or 0)
        order = Order.RELEASE if statement.order is Order.RELEASE else Order.RELAXED
        write = accesses.access("W", statement, guard, spot, where, kind, order=order, **common)
        read.rmw, write.rmw = write.id, read.id
        accesses.write(write, written, {**deps, read.id: 1})
        started.reads.append(read)
        started.writes.append((write, self.program.physical(spot[0]).owner))

    def _complete(self, statement: AsyncCopy | AsyncStore, mbarrier: Expr, guard: Lit, started: Started) -> None:
        """The completion on the mbarrier of each CTA that gets bytes: it releases what the copy did there.

        Where a copy may have several sizes, each has its own.
        """
        arrivals = self.walk.arrivals
        marks = arrivals.spots(statement, mbarrier, guard)
        if isinstance(statement, AsyncCopy) and statement.multicast is not None:
            marks = [one for mark in marks for one in self._members(statement, guard, mark)]
        each = started.sizes.items() if len(started.sizes) > 1 else [(size, 1) for size in started.sizes]
        for mark, (size, here) in product(marks, each):
            owner = self.program.physical(mark[0]).owner
            operation = Operation("complete", bytes=size)
            done = arrivals.operation(statement, self.logic.both(guard, here), mark, operation, order=Order.RELEASE,
                                      issue=started.start.id, scope=Scope.CLUSTER)  # fmt: skip
            mine = [event for event, place in started.writes if place == owner]
            if not mine and started.writes:
                reason = f"completes on `{mark[0]}`, which is in another CTA than its destination"
                self.walk.undefined(statement, self.logic.both(guard, mark[3]), reason)
            self.graph.done.extend((event.id, done.id, 1) for event in (*started.reads, *mine))

    # --- stores -------------------------------------------------------------------------------------------------------

    def store(self, statement: AsyncStore, guard: Lit) -> None:
        """The events of `st.async` and `red.async`."""
        walk, accesses, kind = self.walk, self.walk.accesses, statement.type
        start = walk.event("S", guard, statement, scope=statement.scope, order=statement.order)
        started = Started(start, True, guard, walk.node)
        size = kind.size * len(statement.values)
        alone = statement.mbarrier is not None and len(ranks(self.program, walk.thread.place)) == 1
        self._must_not(statement, guard, "is executed in a cluster of one CTA" if alone else "")
        for spot in accesses.spots(statement, statement.address, guard, size, size, writes=True):
            walk.reads.add(spot[0])
            own = statement.op is not None and statement.mbarrier is not None and self._whose(spot)
            astray = (
                "reduces in the shared memory of its own CTA, which `red.async` does in that of another" if own else ""
            )
            self._must_not(statement, self.logic.both(guard, spot[3]), astray)
            for element, value in enumerate(statement.values):
                where = (spot[2] + element * kind.size, kind.size)
                here = self.logic.both(guard, spot[3])
                if statement.op is not None:
                    self._combine(statement, here, spot, where, walk.table(value), walk.deps(value), started)
                    continue
                write = accesses.access("W", statement, here, spot, where, kind, order=statement.order,
                                        scope=statement.scope, issue=start.id)  # fmt: skip
                accesses.write(write, walk.table(value), walk.deps(value))
                started.writes.append((write, self.program.physical(spot[0]).owner))
        if statement.mbarrier is not None:
            started.sizes = {size: 1}
            self._complete(statement, statement.mbarrier, guard, started)
