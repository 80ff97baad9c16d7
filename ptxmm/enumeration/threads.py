"""One thread on its own: what its instructions do on one path through its unrolled code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ptxmm.arith import U32, wrap
from ptxmm.enumeration.accesses import atomic_operation, load, store
from ptxmm.enumeration.asynchronous import perform
from ptxmm.enumeration.copies import Flight
from ptxmm.enumeration.expressions import evaluate
from ptxmm.enumeration.legs import MAP, Undefined, place
from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.path import NONE, Arrival, Path, Step
from ptxmm.enumeration.phases import NO_TOKENS, Tokens
from ptxmm.enumeration.pieces import Pieces
from ptxmm.enumeration.unroll import Graph, Leave, Node, written
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    Atomic,
    Bar,
    Barrier,
    Branch,
    ClusterBarrier,
    Exit,
    Expr,
    Fence,
    Label,
    Load,
    Nop,
    Order,
    Program,
    ProxyFence,
    Statement,
    Store,
    Thread,
    WarpSync,
    registers,
)  # fmt: skip

Values = Callable[[Spot], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a thread came by an instruction: its registers that still matter with their sources, and steps so far."""

    values: tuple[int, ...]
    sources: tuple[frozenset[int], ...]
    steps: int

    def repeats(self, other: Mark) -> bool:
        """Whether what came after the other one could be left out: all is as it was there, and depends on no less."""
        return self.values == other.values and all(map(frozenset.issuperset, self.sources, other.sources))


@dataclass
class Runner:
    """Executes one thread once.

    With `live`, the registers that matter at each instruction, a thread that comes back to an instruction as it was
    there before, and has only read and fenced since, ends there: it may go round `again`.
    """

    program: Program
    thread: Thread
    graph: Graph
    values: Values
    choose: Callable[[Sequence[int]], int]
    live: list[tuple[str, ...]] | None = None
    regs: dict[str, int] = field(default_factory=dict)
    sources: dict[str, frozenset[int]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    decisions: list[tuple[Node, frozenset[int]]] = field(default_factory=list)
    open: list[tuple[Node, frozenset[int]]] = field(default_factory=list)
    marks: dict[int, list[Mark]] = field(default_factory=dict)
    pieces: Pieces = field(default_factory=Pieces)
    tokens: Tokens = NO_TOKENS
    flight: Flight = field(default_factory=Flight)
    trouble: str = ""

    def run(self) -> Path:
        """Follow the code from its entry until the thread leaves it."""
        for name, init in self.thread.init.items():
            value = self.program.address(init) if isinstance(init, Addr) else init.value
            self.regs[name] = wrap(value, self.thread.types.get(name, U32).bits)
        point = self.graph.entry
        while isinstance(point, Node) and not self.trouble:
            if (since := self.marked(point)) is not None:
                return Path(tuple(self.steps), "again", again=since)
            point = self.step(point, self.graph.body[point.pc])
            self.meet(point)
        kept = tuple(sorted(self.regs.items()))
        if self.trouble:
            return Path(tuple(self.steps), "undefined", kept, self.trouble)
        assert isinstance(point, Leave)
        return Path(tuple(self.steps), "end" if point.how == "exit" else point.how, kept)

    def marked(self, node: Node) -> int | None:
        """How many steps there were when the thread was in this state before; None where it never was, and it is now.

        Writes, barriers and copies are seen by others, so that nothing from before them counts.
        """
        if self.live is None or not node.turns:
            return None
        names = self.live[node.pc]
        values = tuple(self.regs.get(name, 0) for name in names)
        mark = Mark(values, tuple(self.sources.get(name, NONE) for name in names), len(self.steps))
        effects = (at for at in range(len(self.steps), 0, -1) if self.steps[at - 1].changes)
        seen = self.marks.setdefault(node.pc, [])
        since = next(effects, 0)
        for other in seen:
            if other.steps >= since and mark.repeats(other):
                return other.steps
        seen.append(mark)
        return None

    def value(self, expr: Expr) -> int:
        return evaluate(expr, self.program, self.regs)

    def flows(self, expr: Expr | None) -> frozenset[int]:
        """The reads whose values reach an expression."""
        return NONE.union(*(self.sources.get(name, NONE) for name in registers(expr)))

    def flows_of(self, exprs: Iterable[Expr]) -> frozenset[int]:
        """The reads whose values reach one of these expressions."""
        return NONE.union(*(self.flows(one) for one in exprs))

    def step(self, node: Node, item: Statement) -> Node | Leave:
        """Execute one instruction, and say where control goes."""
        onward = self.graph.next.get(node)
        if isinstance(item, Branch | Exit):
            taken = item.guard is None or self.value(item.guard) != 0
            return self.decide(node, item.guard, taken=taken)
        if item.guard is not None and self.value(item.guard) == 0:
            for name in written(item):
                self.sources[name] = self.sources.get(name, NONE) | self.flows(item.guard)
        elif isinstance(item, Assume):
            return self.decide(node, item.cond, taken=self.value(item.cond) == 0)
        else:
            self.perform(node, item)
        assert onward is not None
        return onward

    def meet(self, point: Node | Leave) -> None:
        """Where the ways of a branch meet, what any of them writes depends on what chose the way."""
        if self.program.conventions.branches_control_the_rest or not isinstance(point, Node):
            return
        for node, reads in self.open:
            if point not in self.graph.decided[node]:
                for name in self.graph.writes(node):
                    self.sources[name] = self.sources.get(name, NONE) | reads
        self.open = [(node, reads) for node, reads in self.open if point in self.graph.decided[node]]

    def decide(self, node: Node, condition: Expr | None, *, taken: bool) -> Node | Leave:
        """Branch, and remember what the branch decides."""
        if condition is not None:
            self.decisions.append((node, self.flows(condition)))
            self.open.append(self.decisions[-1])
        return self.graph.jump[node] if taken else self.graph.next[node]

    def control(self, node: Node, guard: Expr | None) -> frozenset[int]:
        """The reads that decide whether the instruction at `node` is executed."""
        rest = self.program.conventions.branches_control_the_rest
        deciding = (reads for at, reads in self.decisions if rest or node in self.graph.decided[at])
        return self.flows(guard).union(*deciding)

    def perform(self, node: Node, item: Statement) -> None:
        """The events and register writes of one instruction."""
        base = partial(Step, node=node, item=item, ctrl=self.control(node, item.guard))
        match item:
            case Assign(dst=dst, value=value):
                self.write(dst, self.value(value), self.flows(value), item.guard)
            case Load():
                load(self, item, partial(base, kind="R", order=item.order, scope=item.scope))
            case Store():
                store(self, item, partial(base, kind="W", order=item.order, scope=item.scope))
            case Atomic():
                atomic_operation(self, item, partial(base, scope=item.scope))
            case Fence():
                self.steps.append(base(kind="F", order=item.order, scope=item.scope))
            case ProxyFence():
                covered = self.covered(item)
                order = item.order if item.order is not None else Order.WEAK
                self.steps.append(base(kind="F", order=order, scope=item.scope, covered=covered))
            case Barrier():
                self.barrier(item, base)
            case ClusterBarrier():
                self.steps.append(base(kind="B", barrier=Arrival()))
            case WarpSync():
                mask = self.value(item.mask) if item.mask is not None else None
                self.steps.append(base(kind="B", barrier=Arrival(mask=mask)))
            case Label() | Nop():
                pass
            case _:
                try:
                    perform(self, item, base)
                except Undefined as why:
                    self.trouble = self.told(item, str(why))

    def told(self, item: Statement, why: str) -> str:
        return f"thread {self.thread.name}: `{item.text or type(item).__name__}` {why}"

    def covered(self, item: ProxyFence) -> Spot | None:
        """The tensor map that an acquire fence names."""
        if item.address is None:
            return None
        try:
            return place(self.program, self.thread, self.value(item.address), MAP, MAP)
        except Undefined as why:
            self.trouble = self.told(item, str(why))
            return None

    def write(self, dst: str, value: int, reads: frozenset[int], guard: Expr | None) -> None:
        """Set a register; behind a guard it still depends on its old value and on the guard."""
        if guard is not None:
            reads = reads | self.flows(guard) | self.sources.get(dst, NONE)
        self.regs[dst] = wrap(value, self.thread.types.get(dst, U32).bits)
        self.sources[dst] = reads

    def barrier(self, item: Barrier, base: partial[Step]) -> None:
        count = self.value(item.count) if item.count is not None else None
        pred = item.pred is not None and self.value(item.pred) != 0
        result = self.choose(results(self.program, self.thread, item)) if item.kind is Bar.RED else None
        arrival = Arrival(self.value(item.id), count, pred, None, result)
        self.steps.append(base(kind="B", barrier=arrival))
        if result is not None and item.dst is not None:
            self.write(item.dst, result, self.flows(item.pred), item.guard)


def weight(thread: Thread) -> int:
    """How many PTX threads a thread of the test stands for."""
    return 32 if thread.place.lane is None else 1


def results(program: Program, thread: Thread, item: Barrier) -> tuple[int, ...]:
    """What a barrier reduction may return."""
    if item.op != "popc":
        return (0, 1)
    sums = {0}
    for other in program.threads:
        if (other.place.kernel, other.place.device, other.place.cta) == (
            thread.place.kernel, thread.place.device, thread.place.cta
        ):  # fmt: skip
            sums |= {total + weight(other) for total in sums}
    return tuple(sorted(sums))
