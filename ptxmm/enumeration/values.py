"""Which values a read may return: the least fixpoint of what stores can write, over every way through the code.

Registers hold sets of values here, and a branch whose condition depends on a read goes both ways. So only a cycle of
data and address flow could make a value that the fixpoint lacks, and such a cycle is reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from ptxmm.arith import U32, atomic, signed, wrap
from ptxmm.enumeration.expressions import evaluate
from ptxmm.enumeration.flows import carried
from ptxmm.enumeration.limits import Budget, GaveUp
from ptxmm.enumeration.memory import Spot, locate
from ptxmm.enumeration.phases import tokens
from ptxmm.enumeration.table import MOST_VALUES, NOTHING, Some, State, Table
from ptxmm.enumeration.threads import results
from ptxmm.enumeration.unroll import Graph, Node, written
from ptxmm.program import (
    Assign,
    Assume,
    AsyncCopy,
    AsyncStore,
    Atomic,
    Bar,
    Barrier,
    Branch,
    Const,
    CopyArrive,
    Exit,
    Expr,
    FinalMem,
    Load,
    MbarrierArrive,
    MbarrierTx,
    Program,
    Statement,
    Store,
    Thread,
    registers,
)  # fmt: skip


def fixpoint(program: Program, graphs: list[Graph], budget: Budget, asked: Iterable[FinalMem] = ()) -> Table:
    """The table of what may be written; `asked` is the memory that the question looks at.

    With copies, it is first found out which of their pieces anything looks at, and then what they carry.
    """
    arrivals = sum(ends_phases(graph.body[node.pc]) for graph in graphs for node in graph.order)
    table = Table(program, budget, tokens=tokens(program, arrivals))
    for one in asked:
        table.pieces.look(program.physical(one.name).name, one.offset, one.offset + one.type.size)
    settle(table, graphs)
    if table.pieces.legs:
        table = Table(program, budget, pieces=table.pieces, tokens=table.tokens)
        settle(table, graphs)
    return table


def settle(table: Table, graphs: list[Graph]) -> None:
    """As many passes as a chain of stores can be long."""
    for number in range(1_000):
        before = {place: set(values) for place, values in table.written.items()}
        ranges = {name: set(spans) for name, spans in table.ranges.items()}
        looked = {name: set(spans) for name, spans in table.pieces.looked.items()}
        for index, (thread, graph) in enumerate(zip(table.program.threads, graphs, strict=True)):
            Collector(table.program, index, thread, table).run(graph)
        links = sum(1 for one, sources in table.flows.items() if one[3] == "W" and sources)
        if ranges == table.ranges and looked == table.pieces.looked and (before == table.written or number > links):
            break


def ends_phases(item: Statement) -> bool:
    """Whether an instruction can end a phase of an mbarrier."""
    return isinstance(item, MbarrierArrive | MbarrierTx | CopyArrive | AsyncCopy | AsyncStore)


@dataclass
class Collector:
    """Runs all the ways through a thread at once."""

    program: Program
    index: int
    thread: Thread
    table: Table

    def run(self, graph: Graph) -> None:
        start: dict[str, Some] = {}
        for name, init in self.thread.init.items():
            value = init.value if isinstance(init, Const) else self.program.address(init)
            start[name] = Some(frozenset({wrap(value, self.thread.types.get(name, U32).bits)}))
        states: dict[Node, State] = {graph.entry: start} if isinstance(graph.entry, Node) else {}
        for node in graph.order:
            if node not in states:
                continue
            self.table.budget.spend()
            state, item = states[node], graph.body[node.pc]
            after = self.effect(node, item, state)
            for table, target in (("next", graph.next.get(node)), ("jump", graph.jump.get(node))):
                if isinstance(target, Node) and self.open(table, item, state):
                    states[target] = merge(states[target], after) if target in states else after

    def open(self, way: str, item: Statement, state: State) -> bool:
        """Whether control may go that way; both are open where a read decides."""
        condition = item.guard if isinstance(item, Branch | Exit) else item.cond if isinstance(item, Assume) else None
        if condition is None or (isinstance(item, Assume) and item.guard is not None):
            return True
        known = self.value(condition, state)
        taken = {(value != 0) != isinstance(item, Assume) for value in known.values}
        return bool(known.sources) or (way == "jump") in taken

    def value(self, expr: Expr, state: State) -> Some:
        """All values of an expression, trying each combination of what its registers may hold."""
        names = sorted(registers(expr))
        options = [sorted(state.get(name, Some()).values) for name in names]
        found = set()
        for chosen in product(*options):
            self.table.budget.look()
            found.add(evaluate(expr, self.program, dict(zip(names, chosen, strict=True))))
            if len(found) > MOST_VALUES:
                raise GaveUp(f"thread {self.thread.name} computes too many values to enumerate")
        return Some(frozenset(found), NOTHING.union(*(state.get(name, Some()).sources for name in names)))

    def effect(self, node: Node, item: Statement, state: State) -> State:
        """The registers after an instruction; what it writes to memory goes to the table."""
        guard = self.value(item.guard, state) if item.guard is not None else Some(frozenset({1}))
        if isinstance(item, Branch | Exit | Assume) or (not guard.sources and not any(guard.values)):
            return state
        after = dict(state)
        for name, value in self.assigned(node, item, state).items():
            bits = self.thread.types.get(name, U32).bits
            cut_down = Some(frozenset(wrap(one, bits) for one in value.values), value.sources)
            kept = state.get(name, Some())
            skipped = guard.sources or not all(guard.values)
            after[name] = Some(
                cut_down.values | (kept.values if skipped else frozenset()),
                cut_down.sources | (kept.sources | guard.sources if item.guard is not None else NOTHING),
            )
        return after

    def assigned(self, node: Node, item: Statement, state: State) -> dict[str, Some]:
        """What an instruction may write to registers."""
        match item:
            case Assign(dst=dst, value=value):
                return {dst: self.value(value, state)}
            case Barrier(kind=Bar.RED):
                given = results(self.program, self.thread, item)
                sources = self.value(item.pred, state).sources if item.pred is not None else NOTHING
                return {name: Some(frozenset(given), sources) for name in written(item)}
            case Load():
                return self.accessed(node, item, state, len(item.dst))
            case Atomic():
                return self.accessed(node, item, state, len(item.dst))
            case Store():
                self.accessed(node, item, state, len(item.values))
            case _:
                registers_to = carried(self, node, item, state)
                return {name: Some(values) for name, values in registers_to.items()}
        return {}

    def held(self, state: State, name: str) -> Some:
        """What a register may hold."""
        return state.get(name, Some())

    def accessed(self, node: Node, item: Load | Store | Atomic, state: State, elements: int) -> dict[str, Some]:
        """Record the accesses of one instruction, and what its reads give to registers."""
        address, found = self.value(item.address, state), dict[str, Some]()
        lanes, lane, whole = item.type.lanes, item.type.lane, item.type.size * elements
        starts = [spot for at in sorted(address.values) if (spot := locate(self.program, at, whole, whole))]
        reads: list[Some] = []
        for at in range(elements * lanes):
            spots = [Spot(s.object, s.offset + at * lane.size, lane.size, s.virtual) for s in starts]
            for spot in spots:
                self.table.touch(spot)
            if not isinstance(item, Store):
                reads.append(self.read(node, at, spots, address))
            if not isinstance(item, Load):
                self.store(node, at, item, spots, address, state)
        if isinstance(item, Store):
            return {}
        for index, dst in enumerate(item.dst):
            if dst is not None:
                found[dst] = joined(reads[index * lanes : (index + 1) * lanes], item)
        return found

    def read(self, node: Node, at: int, spots: list[Spot], address: Some) -> Some:
        read = (self.index, node, at, "R")
        self.table.places[read] = (frozenset(spots), bool(address.sources))
        self.table.flows.setdefault(read, set()).update(address.sources)
        values = frozenset(value for spot in spots for value in self.table(spot))
        return Some(values, frozenset({read}))

    def store(self, node: Node, at: int, item: Store | Atomic, spots: list[Spot], address: Some, state: State) -> None:
        """Add to the table what one element writes."""
        lanes, lane = item.type.lanes, item.type.lane
        write = (self.index, node, at, "W")
        if isinstance(item, Store):
            given = [self.value(item.values[at // lanes], state)]
        else:
            each = len(item.operands) // len(item.dst)
            given = [self.value(one, state) for one in item.operands[at // lanes * each : (at // lanes + 1) * each]]
        self.table.places[write] = (frozenset(spots), bool(address.sources))
        sources = self.table.flows.setdefault(write, set())
        sources.update(address.sources, *(one.sources for one in given))
        if isinstance(item, Atomic) and item.op not in ("exch", "cas"):
            sources.add((self.index, node, at, "R"))
        for spot in spots:
            place = self.table.written.setdefault((spot.object, spot.offset, spot.size), set())
            for chosen in product(*(sorted(one.values) for one in given)):
                operands = tuple(wrap(one >> lane.bits * (at % lanes), lane.bits) for one in chosen)
                if isinstance(item, Store):
                    place.add(operands[0])
                elif item.op in ("exch", "cas"):
                    place.add(operands[-1])
                else:
                    place.update(
                        value for old in self.table(spot) if (value := atomic(item.op, old, operands, lane)) is not None
                    )
            if len(place) > MOST_VALUES:
                raise GaveUp(f"`{spot.object}` may hold too many values to enumerate")


def joined(reads: list[Some], item: Load | Atomic) -> Some:
    """The register that the lanes of one element make."""
    values = {
        sum(value << item.type.lane.bits * i for i, value in enumerate(chosen))
        for chosen in product(*(sorted(one.values) for one in reads))
    }
    wide = {signed(value, item.type.bits) if item.type.signed else value for value in values}
    return Some(frozenset(wide), NOTHING.union(*(one.sources for one in reads)))


def merge(one: State, other: State) -> State:
    """Where two ways meet, a register may hold what it may hold on either."""
    return {name: one.get(name, Some()) | other.get(name, Some()) for name in {*one, *other}}
