"""The events of a test: what each instruction instance does, under which guard, with which possible values.

`event_graph` unrolls every thread, grows the possible values of memory to their fixpoint in three-valued logic, and
walks the threads once more with formulas. Addresses in registers become one event for each possible address, so which
bytes an event touches is always known.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from ptxmm import arith
from ptxmm.arith import Type, wrap
from ptxmm.errors import Undecided
from ptxmm.formula import Formulas, Lit
from ptxmm.memory import Memory, Range, initial
from ptxmm.program import (
    Addr, Assign, Assume, Atomic, Bar, Barrier, Branch, ClusterBarrier, Const, Exit, Expr, Fence, FinalMem, FinalReg,
    Load, Object, Order, Program, Proxy, ProxyFence, Reg, Scope, Space, Statement, Store, Thread, WarpSync, leaves,
    registers,
)  # fmt: skip
from ptxmm.unroll import CUT, END, TAKEN, Node, unrolled
from ptxmm.values import (
    MAYBE, Logic, Possible, Table, choice, combined, cut, evaluate, extended, gathered, mapped, truth,
)  # fmt: skip

Deps = dict[int, Lit]
Value = tuple[Table, Deps]
Env = dict[str, Value]


@dataclass(slots=True)
class Event:
    """One event. `kind` is R, W, F or B; `thread` is -1 for initial writes; `table` what is read or written.

    `object` and `where` are the bytes in physical memory, `virtual` the name whose virtual address was used. `rmw` is
    the other half of an atomic operation. A barrier's `barrier` is its id (or mask) and count, `chosen` the literal
    that they are these, `predicate` what it contributes to a reduction.
    """

    id: int
    kind: str
    thread: int
    node: int
    guard: Lit
    statement: Statement | None = None
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    type: Type = arith.U32
    object: str = ""
    virtual: str = ""
    where: Range = (0, 0)
    cells: tuple[Range, ...] = ()
    table: Table = field(default_factory=dict)
    rmw: int = -1
    barrier: tuple[int, int | None] = (0, None)
    chosen: Lit = 1
    predicate: Lit = 1


@dataclass
class EventGraph:
    """All events of a test with their dependencies and the final registers; literals are those of `formulas`.

    `cut` is the literal that some loop was left at the bound, `bad` lists (literal, reason) of undefined accesses,
    `passes` the literals that a blocking barrier lets its thread go on (TRUE when only finished executions count).
    """

    program: Program
    formulas: Formulas
    memory: Memory
    nodes: list[tuple[Node, ...]]
    events: list[Event] = field(default_factory=list)
    addr: list[tuple[int, int, Lit]] = field(default_factory=list)
    data: list[tuple[int, int, Lit]] = field(default_factory=list)
    ctrl: list[tuple[int, int, Lit]] = field(default_factory=list)
    finals: list[Env] = field(default_factory=list)
    ends: list[Lit] = field(default_factory=list)
    cut: Lit = -1
    bad: list[tuple[Lit, str]] = field(default_factory=list)
    assumed: list[Lit] = field(default_factory=list)
    passes: dict[int, Lit] = field(default_factory=dict)
    prefix: bool = False
    inits: int = 0

    def final(self, thread: str, reg: str) -> Table:
        """The table of a register when its thread has ended."""
        for index, one in enumerate(self.program.threads):
            if one.name == thread:
                env = self.finals[index]
                return env[reg][0] if reg in env else start_value(self.program, one, reg)
        raise KeyError(thread)


def start_value(program: Program, thread: Thread, reg: str) -> Table:
    """What a register holds when its thread starts."""
    given = thread.init.get(reg, Const(0))
    number = program.address(given) if isinstance(given, Addr) else given.value
    kind = thread.types.get(reg)
    return {wrap(number, kind.bits) if kind else number: 1}


def event_graph(program: Program, bound: int, *, prefix: bool = False) -> EventGraph:
    """The events of a test, loops unrolled to `bound`.

    With `prefix`, a thread may stop at any blocking barrier or where a loop was cut; otherwise every thread is taken to
    finish. Raises Undecided where values or code are too many.
    """
    to_the_end = program.conventions.branches_control_the_rest
    nodes = [unrolled(thread.body, bound, to_the_end=to_the_end) for thread in program.threads]
    memory = Memory(program)
    _grow(program, nodes, memory, prefix)
    graph = EventGraph(program, Formulas(), memory, nodes, prefix=prefix)
    _add_inits(graph)
    for index in range(len(program.threads)):
        _Walk(graph, index, graph.formulas).run()
    _add_own_dependencies(graph)
    return graph


def _grow(program: Program, nodes: list[tuple[Node, ...]], memory: Memory, prefix: bool) -> None:
    """Grow the possible values of memory to their fixpoint, or as far as they can go without feeding on themselves.

    A value that is not a constant comes through a chain of stores each of which depends on a read. Without values out
    of thin air no store occurs twice in a chain, so that one round more than there are such stores is enough.
    """
    logic = Possible()
    fed = any(_uses_values(statement) for thread in program.threads for statement in thread.body)
    rounds, done = 1, 0
    reads: dict[int, set[str]] = {}
    dependent: dict[int, int] = {}
    stale = set(range(len(program.threads)))
    while stale and done < rounds:
        done += 1
        for index in stale:
            walk = _Walk(EventGraph(program, Formulas(), memory, nodes, prefix=prefix), index, logic)
            walk.run()
            reads[index], dependent[index] = walk.reads, walk.dependent_stores
        changed = memory.advance()
        if not fed:
            return
        rounds = max(rounds, sum(dependent.values()) + 2)
        stale = {index for index, names in reads.items() if names & changed}


def _uses_values(statement: Statement) -> bool:
    """Whether what an instruction does can depend on what was read before, or, for an atomic, by itself."""
    match statement:
        case Atomic(op="exch") | Load() | Store():
            used = [statement.guard, statement.address, *getattr(statement, "values", getattr(statement, "operands", ()))]
        case Atomic() | Assign() | Assume() | Barrier():
            return True
        case _:
            used = [statement.guard]
    return any(registers(expr) for expr in used)


def _add_inits(graph: EventGraph) -> None:
    for name in graph.memory.ranges:
        item = graph.program.by_name[name]
        assert isinstance(item, Object)
        for cell in graph.memory.cells(name):
            event = Event(len(graph.events), "W", -1, -1, 1, object=name, virtual=name, where=cell, cells=(cell,))
            event.table = {initial(graph.program, item, cell): 1}
            event.type = item.type if item.type.size == cell[1] else Type("b", 8 * cell[1])
            graph.events.append(event)
    graph.inits = len(graph.events)


def _add_own_dependencies(graph: EventGraph) -> None:
    """The write of an atomic operation depends on its own read, by value, or for `cas` by whether it happens."""
    for event in graph.events:
        statement = event.statement
        if event.kind == "W" and event.rmw >= 0 and isinstance(statement, Atomic) and statement.op != "exch":
            (graph.ctrl if statement.op == "cas" else graph.data).append((event.rmw, event.id, 1))


class _Walk:
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

    def run(self) -> None:
        """Walk all nodes; fills the graph's events, dependencies and final registers."""
        leaving: list[tuple[Lit, Lit, Env]] = []
        ending: tuple[Env, Lit] = ({}, -1)
        joins = {j for node in self.nodes if len(node.before) > 1 for j, _ in node.before}
        splits: dict[int, int] = {}
        for node in self.nodes:
            for j, _ in node.before:
                splits[j] = splits.get(j, 0) + 1
        for number, node in enumerate(self.nodes):
            self._enter(number, node, leaving)
            taken: Lit = -1
            going = self.here
            if node.statement is not None and self.here != -1:
                going, taken = self._execute(node.statement)
            elif node.pc == CUT:
                self.graph.cut = self.logic.disj((self.graph.cut, self.here))
            elif node.pc == END:
                ending = (self.env, self.here)
            shared = splits.get(number, 0) > 1 or number in joins
            leaving.append((going, taken, dict(self.env) if shared else self.env))
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
                incoming.append((literal, env))
        if not node.before and number == 0:
            self.here, self.env = 1, {}
        elif not incoming:
            self.here, self.env = -1, {}
        elif len(incoming) == 1:
            self.here, self.env = incoming[0]
            self.env = dict(self.env) if len(node.before) > 1 else self.env
        else:
            self.here = self.logic.disj([literal for literal, _ in incoming])
            if node.like >= 0 and not self.graph.prefix:
                self.here = self.reach[node.like]
            self.env = self._join(incoming)
        self.reach.append(self.here)

    def _join(self, incoming: list[tuple[Lit, Env]]) -> Env:
        names = {name for _, env in incoming for name in env}
        joined: Env = {}
        for name in sorted(names):
            values = [(literal, self._register(name, env)) for literal, env in incoming]
            first = values[0][1]
            if all(value is first or value == first for _, value in values):
                joined[name] = first
                continue
            both = self.logic.both
            table = gathered(self.logic, [(v, both(g, l)) for g, (table, _) in values for v, l in table.items()])
            deps: dict[int, list[Lit]] = {}
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
        match statement:
            case Load():
                self._load(statement, guard, chosen)
            case Store():
                self._store(statement, guard)
            case Atomic():
                self._atomic(statement, guard, chosen)
            case Assign():
                self.assign(statement.dst, self.table(statement.value), self.deps(statement.value),
                            statement.guard, chosen)  # fmt: skip
            case Fence():
                self._event("F", guard, statement, order=statement.order, scope=statement.scope)
            case ProxyFence():
                self._event("F", guard, statement)
            case Barrier() | ClusterBarrier() | WarpSync():
                return self._barrier(statement, guard, chosen), -1
            case Branch() | Exit():
                self.decisions[self.node] = self.deps(statement.guard)
                return self.logic.both(self.here, -chosen), guard
            case Assume():
                self.decisions[self.node] = self.deps(statement.cond, statement.guard)
                holds = self.truth(statement.cond)
                self.graph.assumed.append(-self.logic.both(guard, -holds))
        return self.here, -1

    def _event(self, kind: str, guard: Lit, statement: Statement, **what: object) -> Event:
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

    def _spots(self, statement: Load | Store | Atomic, guard: Lit, count: int) -> list[tuple[str, str, int, Lit]]:
        """Where an access can go: (object, virtual name, byte offset, literal); undefined ones are noted and dropped."""
        program, address = self.program, statement.address
        if isinstance(address, Addr):
            found = [(program.physical(address.name), program.virtual(address.name), address.offset, 1)]
        else:
            found = [(*self._resolve(value), literal) for value, literal in self.table(address).items()]
        views = [leaf for leaf in leaves(address) if isinstance(leaf, Addr)]
        size = statement.type.size * count
        good = []
        for item, virtual, offset, literal in found:
            reason = ""
            if item is None or not 0 <= offset <= item.size - size:
                reason = "accesses bytes outside every object"
            elif offset % min(size, 16 if count == 1 else size):
                reason = f"accesses {size} bytes at an address that is not a multiple of {size}"
            elif item.space in (Space.CONST, Space.PARAM) and not isinstance(statement, Load):
                reason = f"writes to `{item.name}`, which is constant"
            elif not self._reachable(item):
                reason = f"accesses `{item.name}`, the shared memory of another cluster"
            if reason:
                self.graph.bad.append((self.logic.both(guard, literal), self._tell(statement, reason)))
            else:
                assert item is not None
                good.append((item.name, virtual, offset, literal))
        if not good and views and not found:
            raise Undecided(self._tell(statement, "has no possible address"))
        return good

    def _reachable(self, item: Object) -> bool:
        if item.owner is None:
            return True
        mine, owner = self.thread.place, item.owner
        return (mine.kernel, mine.device, mine.cluster) == (owner.kernel, owner.device, owner.cluster)

    def _tell(self, statement: Statement, reason: str) -> str:
        line = f" (line {statement.at.line})" if statement.at.line else ""
        return f"thread {self.thread.name}: `{statement.text or type(statement).__name__}`{line} {reason}"

    def _resolve(self, value: int) -> tuple[Object | None, str, int]:
        names = list(self.program.addresses)
        bases = list(self.program.addresses.values())
        place = bisect_right(bases, value) - 1
        if place < 0:
            return None, "", 0
        return self.program.physical(names[place]), names[place], value - bases[place]

    def _access(self, kind: str, statement: Load | Store | Atomic, guard: Lit, spot: tuple[str, str, int, Lit],
                place: int, lane: Type) -> Event:  # fmt: skip
        name, virtual, offset, literal = spot
        where = (offset + place * lane.size, lane.size)
        self.graph.memory.touch(name, where)
        event = self._event(
            kind, self.logic.both(guard, literal), statement, order=statement.order, scope=statement.scope, type=lane,
            object=name, virtual=virtual, where=where,
            proxy=statement.proxy if not isinstance(statement, Atomic) else Proxy.GENERIC,
        )  # fmt: skip
        if self.exact:
            event.cells = tuple(self.graph.memory.cover(name, where))
            for read, dep in self.deps(statement.address).items():
                self.graph.addr.append((read, event.id, dep))
        return event

    def _read_table(self, event: Event) -> Table:
        self.reads.add(event.object)
        domain = self.graph.memory.domain(event.object, event.where)
        if len(domain) == 1:
            return {domain[0]: 1}
        if not isinstance(self.logic, Formulas):
            return dict.fromkeys(domain, MAYBE)
        if len(domain) == 2:
            one = self.logic.var()
            return {domain[0]: -one, domain[1]: one}
        return {value: self.logic.var() for value in domain}

    def _write(self, event: Event, table: Table, deps: Deps) -> None:
        if event.guard == -1:
            table = {}
        event.table = cut(self.logic, table, event.type)
        if self.exact:
            self.graph.data.extend((read, event.id, literal) for read, literal in deps.items())
        elif event.guard != -1:
            self.graph.memory.store(event.object, event.where, event.table)
            self.dependent_stores += bool(deps) or event.rmw >= 0

    def _load(self, statement: Load, guard: Lit, chosen: Lit) -> None:
        lane, lanes = statement.type.lane, statement.type.lanes
        spots = self._spots(statement, guard, len(statement.dst))
        results: list[Value] = []
        for element in range(len(statement.dst)):
            parts: list[tuple[Lit, Table]] = []
            deps: Deps = self.deps(statement.address)
            for spot in spots:
                whole: Table = {0: 1}
                for number in range(lanes):
                    event = self._access("R", statement, guard, spot, element * lanes + number, lane)
                    event.table = self._read_table(event)
                    deps[event.id] = 1
                    shift = number * lane.bits
                    whole = event.table if lanes == 1 else combined(
                        self.logic, whole, event.table, lambda a, b, s=shift: a | b << s)  # type: ignore[misc]  # fmt: skip
                parts.append((spot[3], whole))
            results.append((self._chosen(parts), deps))
        for name, (table, deps) in zip(statement.dst, results, strict=True):
            if name is not None:
                kind = self.thread.types.get(name, statement.type)
                self.assign(name, extended(self.logic, table, statement.type, kind), deps, statement.guard, chosen)

    def _chosen(self, parts: list[tuple[Lit, Table]]) -> Table:
        """The table of what was read at the one address that is used."""
        if len(parts) == 1:
            return parts[0][1]
        if not parts:
            return {0: 1}
        both = self.logic.both
        return gathered(self.logic, [(v, both(chosen, l)) for chosen, table in parts for v, l in table.items()])

    def _store(self, statement: Store, guard: Lit) -> None:
        lane, lanes = statement.type.lane, statement.type.lanes
        spots = self._spots(statement, guard, len(statement.values))
        for element, value in enumerate(statement.values):
            table = self.table(value)
            deps = self.deps(value)
            for spot in spots:
                for number in range(lanes):
                    event = self._access("W", statement, guard, spot, element * lanes + number, lane)
                    shift, width = number * lane.bits, lane.bits
                    piece = table if lanes == 1 else mapped(
                        self.logic, table, lambda v, s=shift, w=width: wrap(v >> s, w))  # type: ignore[misc]  # fmt: skip
                    self._write(event, piece, deps)

    def _atomic(self, statement: Atomic, guard: Lit, chosen: Lit) -> None:
        lane, lanes = statement.type.lane, statement.type.lanes
        each = 2 if statement.op == "cas" else 1
        spots = self._spots(statement, guard, len(statement.dst))
        operands = [self.table(expr) for expr in statement.operands]
        for element, name in enumerate(statement.dst):
            mine = operands[element * each : element * each + each]
            deps = self.deps(*statement.operands[element * each : element * each + each])
            parts: list[tuple[Lit, Table]] = []
            reads: Deps = self.deps(statement.address)
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
                self.assign(name, self._chosen(parts), reads, statement.guard, chosen)

    def _element(self, statement: Atomic, guard: Lit, spot: tuple[str, str, int, Lit], place: int, lane: Type,
                 given: list[Table], deps: Deps) -> tuple[Table, int]:  # fmt: skip
        """The read and the write of an atomic operation on one element: what was read, and the read's number."""
        logic, op = self.logic, statement.op
        read = self._access("R", statement, guard, spot, place, lane)
        read.table = self._read_table(read)
        written = combined(logic, read.table, given[0], lambda a, b: arith.atomic(op, a, (b, b), lane) or 0)
        happens: Lit = 1
        if op == "cas":
            happens = logic.disj([logic.both(a, b) for v, a in read.table.items() for w, b in given[0].items() if v == w])
            written = given[1]
            if self.program.conventions.failed_cas_writes:
                written, happens = choice(logic, happens, given[1], read.table), 1
        elif op == "exch":
            written = given[0]
        write = self._access("W", statement, logic.both(guard, happens), spot, place, lane)
        read.rmw, write.rmw = write.id, read.id
        self._write(write, written, deps)
        return read.table, read.id

    def _barrier(self, statement: Barrier | ClusterBarrier | WarpSync, guard: Lit, chosen: Lit) -> Lit:
        """The events of a barrier, one for each possible id; the literal that the thread goes on."""
        blocking = not isinstance(statement, (Barrier, ClusterBarrier)) or (
            statement.wait if isinstance(statement, ClusterBarrier) else statement.kind is not Bar.ARRIVE
        )
        going = self.here
        for number, count, literal in self._identities(statement):
            order = statement.order if isinstance(statement, ClusterBarrier) else Order.WEAK
            event = self._event("B", self.logic.both(guard, literal), statement, order=order)
            event.barrier, event.chosen = (number, count), literal
            if isinstance(statement, Barrier) and statement.pred is not None:
                event.predicate = self.truth(statement.pred)
            if isinstance(statement, Barrier) and statement.dst is not None:
                self._reduction_result(event, statement, chosen)
            if self.exact and blocking:
                passing = self.logic.var() if self.graph.prefix and isinstance(self.logic, Formulas) else 1
                self.graph.passes[event.id] = passing
                going = self.logic.both(going, -self.logic.both(event.guard, -passing))
        return going

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
                raise Undecided(self._tell(statement, "has a thread count that is not the same in every execution"))
            count = next(iter(counts))
        return [(value, count, literal) for value, literal in self.table(statement.id).items()]


def same_cta(one: Thread, other: Thread) -> bool:
    """Whether two threads run in one CTA."""
    a, b = one.place, other.place
    return (a.kernel, a.device, a.cta) == (b.kernel, b.device, b.cta)


def final_leaves(expr: Expr) -> list[FinalReg | FinalMem]:
    """The registers and memory that a condition names."""
    return [leaf for leaf in leaves(expr) if isinstance(leaf, (FinalReg, FinalMem))]
