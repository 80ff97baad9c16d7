"""Loads, stores and atomic operations: the places they can touch, and the reads and writes they make there."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from ptxmm import arith
from ptxmm.arith import Type, wrap
from ptxmm.errors import Undecided
from ptxmm.events import Deps, Event, Value
from ptxmm.formula import Formulas, Lit
from ptxmm.memory import Range
from ptxmm.program import (
    Addr,
    AsyncCopy,
    Atomic,
    Expr,
    Load,
    Object,
    Proxy,
    Space,
    Statement,
    Store,
    TensormapCopy,
    leaves,
)  # fmt: skip
from ptxmm.values import MAYBE, Table, choice, combined, cut, extended, gathered, mapped

if TYPE_CHECKING:
    from ptxmm.walk import Walk

Spot = tuple[str, str, int, Lit]


def addresses(statement: Statement) -> list[Expr]:
    """The operands of an instruction that say where it accesses memory."""
    match statement:
        case AsyncCopy(destination=destination, source=source, map=at):
            return [expr for expr in (destination, source, at) if expr is not None]
        case TensormapCopy(destination=destination, source=source):
            return [destination, source]
    address = getattr(statement, "address", None)
    return [] if address is None else [address]


class Accesses:
    """The memory accesses of one walk over a thread."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.graph, self.logic, self.program = walk, walk.graph, walk.logic, walk.program

    def _spots(self, statement: Load | Store | Atomic, guard: Lit, count: int) -> list[Spot]:
        """Where an ordinary access of `count` elements can go."""
        size = statement.type.size * count
        align = min(size, 16 if count == 1 else size)
        writes = not isinstance(statement, Load)
        return self.spots(statement, statement.address, guard, size, align, writes=writes)

    def spots(
        self, statement: Statement, address: Expr, guard: Lit, size: int, align: int, *, writes: bool = False
    ) -> list[Spot]:
        """Where an access can go: (object, virtual name, byte offset, literal); undefined places are only noted."""
        program = self.program
        found: list[tuple[Object | None, str, int, Lit]]
        if isinstance(address, Addr):
            found = [(program.physical(address.name), program.virtual(address.name), address.offset, 1)]
        else:
            found = [(*self.resolve(value), literal) for value, literal in self.walk.table(address).items()]
        views = [leaf for leaf in leaves(address) if isinstance(leaf, Addr)]
        good = []
        for item, virtual, offset, literal in found:
            reason = ""
            if item is None or not 0 <= offset <= item.size - size:
                reason = "accesses bytes outside every object"
            elif offset % align:
                reason = f"accesses {size} bytes at an address that is not a multiple of {align}"
            elif item.space in (Space.CONST, Space.PARAM) and writes:
                reason = f"writes to `{item.name}`, which is constant"
            elif not self._reachable(item):
                reason = f"accesses `{item.name}`, the shared memory of another cluster"
            if reason:
                self.walk.undefined(statement, self.logic.both(guard, literal), reason)
            else:
                assert item is not None
                good.append((item.name, virtual, offset, literal))
        if not good and views and not found:
            raise Undecided(self.walk.tell(statement, "has no possible address"))
        return good

    def _reachable(self, item: Object) -> bool:
        if item.owner is None:
            return True
        mine, owner = self.walk.thread.place, item.owner
        return (mine.kernel, mine.device, mine.cluster) == (owner.kernel, owner.device, owner.cluster)

    def resolve(self, value: int) -> tuple[Object | None, str, int]:
        names = list(self.program.addresses)
        bases = list(self.program.addresses.values())
        place = bisect_right(bases, value) - 1
        if place < 0:
            return None, "", 0
        return self.program.physical(names[place]), names[place], value - bases[place]

    def _access(self, kind: str, statement: Load | Store | Atomic, guard: Lit, spot: Spot,
                place: int, lane: Type) -> Event:  # fmt: skip
        """An event of an ordinary access on its element number `place`."""
        where = (spot[2] + place * lane.size, lane.size)
        proxy = statement.proxy if not isinstance(statement, Atomic) else Proxy.GENERIC
        return self.access(kind, statement, guard, spot, where, lane, order=statement.order, scope=statement.scope,
                           proxy=proxy)  # fmt: skip

    def access(self, kind: str, statement: Statement, guard: Lit, spot: Spot, where: Range, lane: Type,
               **what: object) -> Event:  # fmt: skip
        """An event that reads or writes some bytes of the object at a spot."""
        name, virtual, _, literal = spot
        self.graph.memory.touch(name, where)
        event = self.walk.event(
            kind, self.logic.both(guard, literal), statement, type=lane, object=name, virtual=virtual, where=where,
            **what,
        )  # fmt: skip
        if self.walk.exact:
            event.cells = tuple(self.graph.memory.cover(name, where))
            for read, dep in self.walk.deps(*addresses(statement)).items():
                self.graph.addr.append((read, event.id, dep))
        return event

    def read_table(self, event: Event) -> Table:
        self.walk.reads.add(event.object)
        domain = self.graph.memory.domain(event.object, event.where)
        if len(domain) == 1:
            return {domain[0]: 1}
        if not isinstance(self.logic, Formulas):
            return dict.fromkeys(domain, MAYBE)
        if len(domain) == 2:
            one = self.logic.var()
            return {domain[0]: -one, domain[1]: one}
        return {value: self.logic.var() for value in domain}

    def write(self, event: Event, table: Table, deps: Deps) -> None:
        if event.guard == -1:
            table = {}
        event.table = cut(self.logic, table, event.type)
        if self.walk.exact:
            self.graph.data.extend((read, event.id, literal) for read, literal in deps.items())
        elif event.guard != -1:
            if event.step is not None and not event.type.floating:
                counts = self.walk.counted(event)
                if self.graph.memory.add(event.object, event.where, counts, event.step):
                    return
            self.graph.memory.store(event.object, event.where, event.table)
            address = getattr(event.statement, "address", None)
            constant = event.guard == 1 and not deps and event.rmw < 0 and isinstance(address, Addr)
            self.walk.dependent_stores += not constant

    def load(self, statement: Load, guard: Lit, chosen: Lit) -> None:
        lane, lanes = statement.type.lane, statement.type.lanes
        spots = self._spots(statement, guard, len(statement.dst))
        results: list[Value] = []
        for element in range(len(statement.dst)):
            parts: list[tuple[Lit, Table]] = []
            deps: Deps = self.walk.deps(statement.address)
            for spot in spots:
                whole: Table = {0: 1}
                for number in range(lanes):
                    event = self._access("R", statement, guard, spot, element * lanes + number, lane)
                    event.table = self.read_table(event)
                    deps[event.id] = 1
                    shift = number * lane.bits
                    whole = event.table if lanes == 1 else combined(
                        self.logic, whole, event.table, lambda a, b, s=shift: a | b << s)  # type: ignore[misc]  # fmt: skip
                parts.append((spot[3], whole))
            results.append((self.chosen(parts), deps))
        for name, (table, deps) in zip(statement.dst, results, strict=True):
            if name is not None:
                kind = self.walk.thread.types.get(name, statement.type)
                self.walk.assign(name, extended(self.logic, table, statement.type, kind), deps, statement.guard, chosen)

    def chosen(self, parts: list[tuple[Lit, Table]]) -> Table:
        """The table of what was read at the one address that is used."""
        if len(parts) == 1:
            return parts[0][1]
        if not parts:
            return {0: 1}
        both = self.logic.both
        return gathered(self.logic, [(v, both(chosen, lit)) for chosen, table in parts for v, lit in table.items()])

    def store(self, statement: Store, guard: Lit) -> None:
        lane, lanes = statement.type.lane, statement.type.lanes
        spots = self._spots(statement, guard, len(statement.values))
        for element, value in enumerate(statement.values):
            table = self.walk.table(value)
            deps = self.walk.deps(value)
            for spot in spots:
                for number in range(lanes):
                    event = self._access("W", statement, guard, spot, element * lanes + number, lane)
                    shift, width = number * lane.bits, lane.bits
                    piece = table if lanes == 1 else mapped(
                        self.logic, table, lambda v, s=shift, w=width: wrap(v >> s, w))  # type: ignore[misc]  # fmt: skip
                    self.write(event, piece, deps)

    def atomic(self, statement: Atomic, guard: Lit, chosen: Lit) -> None:
        lane, lanes = statement.type.lane, statement.type.lanes
        each = 2 if statement.op == "cas" else 1
        spots = self._spots(statement, guard, len(statement.dst))
        operands = [self.walk.table(expr) for expr in statement.operands]
        for element, name in enumerate(statement.dst):
            mine = operands[element * each : element * each + each]
            deps = self.walk.deps(*statement.operands[element * each : element * each + each])
            parts: list[tuple[Lit, Table]] = []
            reads: Deps = self.walk.deps(statement.address)
            for spot in spots:
                whole: Table = {0: 1}
                for number in range(lanes):
                    shift, width = number * lane.bits, lane.bits
                    given = [mapped(self.logic, t, lambda v, s=shift, w=width: wrap(v >> s, w)) for t in mine]  # type: ignore[misc]
                    old, read = self._element(statement, guard, spot, element * lanes + number, lane, given, deps)
                    reads[read] = 1
                    whole = old if lanes == 1 else combined(
                        self.logic, whole, old, lambda a, b, s=shift: a | b << s)  # type: ignore[misc]  # fmt: skip
                parts.append((spot[3], whole))
            if name is not None:
                self.walk.assign(name, self.chosen(parts), reads, statement.guard, chosen)

    def _element(self, statement: Atomic, guard: Lit, spot: tuple[str, str, int, Lit], place: int, lane: Type,
                 given: list[Table], deps: Deps) -> tuple[Table, int]:  # fmt: skip
        """The read and the write of an atomic operation on one element: what was read, and the read's number."""
        logic, op = self.logic, statement.op
        read = self._access("R", statement, guard, spot, place, lane)
        read.table = self.read_table(read)
        happens: Lit = 1
        adds: Lit = 1
        if op == "cas":
            happens = logic.disj([logic.both(a, given[0][v]) for v, a in read.table.items() if v in given[0]])
            written, adds = given[1], happens
            if self.program.conventions.failed_cas_writes:
                written, happens = choice(logic, happens, given[1], read.table), 1
        elif op == "exch":
            written = given[0]
        else:
            written = combined(logic, read.table, given[0], lambda a, b: arith.atomic(op, a, (b, b), lane) or 0)
        write = self._access("W", statement, logic.both(guard, happens), spot, place, lane)
        read.rmw, write.rmw = write.id, read.id
        if op in ("add", "sub") and len(given[0]) == 1 and next(iter(given[0].values())) == 1:
            amount = next(iter(given[0]))
            write.step = wrap(amount if op == "add" else -amount, lane.bits)
        elif op == "cas" and self.walk.exact:
            write.step = _difference(given[0], given[1], lane)
            write.adds = adds if happens == 1 else 1
        self.write(write, written, deps)
        return read.table, read.id


def _difference(before: Table, after: Table, kind: Type) -> int | None:
    """By how much one table is more than another, where that is the same in every execution."""
    differences = {wrap(b - a, kind.bits) for a, x in before.items() for b, y in after.items() if x == y}
    moved = {wrap(value + step, kind.bits): literal for step in differences for value, literal in before.items()}
    return differences.pop() if len(differences) == 1 and moved == after else None
