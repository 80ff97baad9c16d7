"""An execution taken from an assignment, checked again without the solver: values, order and every axiom."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ptxmm import arith
from ptxmm import model as cat
from ptxmm.arith import Type
from ptxmm.closure import bits
from ptxmm.encode import Encoding
from ptxmm.errors import PtxmmError
from ptxmm.evaluation import Evaluation
from ptxmm.events import Event, final_leaves
from ptxmm.formula import Formulas, Lit
from ptxmm.mbarrier_replay import history, mistake
from ptxmm.memory import Range, part
from ptxmm.program import Expr, FinalMem, FinalReg, Program
from ptxmm.relation import Rel, Set, Symbolic
from ptxmm.values import Possible, Table, truth
from ptxmm.verdict import Execution, Happening, MbarrierHistory

MBARRIER = 8
CHOSEN = frozenset({"rf", "co", "fr"})


class Inconsistent(PtxmmError):
    """The solver's execution does not pass the check: a mistake in ptxmm, never a verdict."""


class Unsettled(LookupError):
    """A literal depends on a choice that was made after the execution was found, and that nothing asked for before."""


@dataclass
class Concrete:
    """One execution: which events run, what they read and write, who reads from whom, and the order of writes."""

    encoding: Encoding
    assignment: dict[int, bool]
    known: dict[int, bool]
    running: int
    values: dict[int, int]
    reads: dict[tuple[int, Range], int]
    order: frozenset[tuple[int, int]]
    evaluation: Evaluation

    def true(self, literal: Lit) -> bool:
        """Whether a literal holds in this execution."""
        node = abs(literal)
        if node not in self.known:
            self._settle(node)
        return self.known[node] == (literal > 0)

    def _settle(self, node: int) -> None:
        """Evaluate a node; raises Unsettled where it depends on a variable that the solver did not know."""
        self.encoding.formulas.settle(self.known, [node], self._assigned)

    def _assigned(self, variable: int) -> bool:
        if variable not in self.assignment:
            raise Unsettled(variable)
        return self.assignment[variable]

    def constant(self, table: Table) -> int:
        """The one entry of a table that holds."""
        found = [value for value, literal in table.items() if self.true(literal)]
        if len(found) != 1:
            raise Inconsistent(f"a value has {len(found)} readings")
        return found[0]

    def final(self, leaf: FinalReg | FinalMem) -> int:
        """A final value."""
        return self.constant(self.encoding.finals.leaf(leaf))


def concrete(encoding: Encoding, assignment: dict[int, bool], goal: Expr | None = None) -> Concrete:
    """The execution of an assignment, checked: raises Inconsistent where it breaks a rule, an axiom or the goal."""
    events = encoding.graph.events
    one = Concrete(encoding, assignment, {1: True}, 0, {}, {}, frozenset(), encoding.evaluation)
    one.running = running = sum(1 << e.id for e in events if one.true(e.guard))
    for event in events:
        if running >> event.id & 1 and event.kind in "RW":
            one.values[event.id] = one.constant(event.table)
    one.reads = _reads(one)
    one.order = frozenset(pair for pair, literal in encoding.base.choices.before.items() if one.true(literal))
    _check_order(one)
    wrong = mistake(encoding.base.mbarriers, one.true)
    if wrong:
        raise Inconsistent(wrong)
    for literal in encoding.asserted:
        if not one.true(literal):
            raise Inconsistent("a thread does not end, or a barrier does not complete")
    one.evaluation = _evaluation(one)
    for name, literal in one.evaluation.axioms():
        if literal != 1:
            raise Inconsistent(f"the axiom {name} does not hold in the execution that was found")
    if goal is not None and not satisfied(one, goal):
        raise Inconsistent("the execution that was found does not reach the condition")
    return one


def satisfied(one: Concrete, goal: Expr) -> bool:
    """Whether a formula over final states holds, by arithmetic alone."""
    return truth(Possible(), goal, lambda leaf: {one.final(leaf): 1}) == 1  # type: ignore[arg-type]


def _reads(one: Concrete) -> dict[tuple[int, Range], int]:
    events = one.encoding.graph.events
    found = {}
    for (read, cell), sources in one.encoding.base.choices.sources.items():
        if not one.running >> read & 1:
            continue
        chosen = [write for write, literal in sources if one.true(literal)]
        if len(chosen) != 1 or not one.running >> chosen[0] & 1:
            raise Inconsistent("a read does not read from one write that runs")
        write = events[chosen[0]]
        stored = part(one.values[write.id], write.where, cell)
        if stored != part(one.values[read], events[read].where, cell):
            raise Inconsistent("a read returns another value than its write stored")
        found[read, cell] = write.id
    return found


def _check_order(one: Concrete) -> None:
    events, order = one.encoding.graph.events, one.order
    for i, j in order:
        if (j, i) in order or not (one.running >> i & 1 and one.running >> j & 1) or events[j].thread < 0:
            raise Inconsistent("coherence is no order of the writes that run")
    after: dict[int, list[int]] = {}
    for i, j in order:
        after.setdefault(i, []).append(j)
    for i, j in order:
        for k in after.get(j, ()):
            if (i, k) not in order and set(events[i].cells) & set(events[j].cells) & set(events[k].cells):
                raise Inconsistent("coherence is not transitive")


def _evaluation(one: Concrete) -> Evaluation:
    """The model on this execution: the same operations, on certain pairs only."""
    encoding, running = one.encoding, one.running
    size = len(encoding.graph.events)
    algebra = Symbolic(size, Formulas(), [1 if running >> i & 1 else -1 for i in range(size)])

    def base(name: str) -> Rel | Set:
        if name in CHOSEN:
            return _chosen(one, name)
        value = encoding.base(name)
        if isinstance(value, Set):
            return Set(sum(1 << i for i in bits(value.mask & running) if one.true(value.lit(i))), {})
        must = [mask & running if running >> i & 1 else 0 for i, mask in enumerate(value.must)]
        for i, row in value.may.items():
            for j, literal in row.items():
                if running >> i & 1 and running >> j & 1 and one.true(literal):
                    must[i] |= 1 << j
        return Rel(must, {}, value.transitive)

    return Evaluation(encoding.plan, algebra, base)


def _chosen(one: Concrete, name: str) -> Rel:
    """rf, co and fr from the choices themselves."""
    must = [0] * len(one.encoding.graph.events)
    if name == "co":
        for i, j in one.order:
            must[i] |= 1 << j
    for (read, cell), write in one.reads.items():
        if name == "rf":
            must[write] |= 1 << read
        elif name == "fr":
            for i, j in one.order:
                if i == write and cell in one.encoding.graph.events[j].cells:
                    must[read] |= 1 << j
    return Rel(must, {})


# --- for people ------------------------------------------------------------------------------------------------------


def place_name(program: Program, name: str, where: Range) -> str:
    """Some bytes as the test names them: `x`, `a[1]`, `x+2`."""
    item = program.by_name[name]
    size = program.physical(name).type.size
    length = program.physical(name).length
    if where[1] == size and where[0] % size == 0:
        return name if length == 1 else f"{name}[{where[0] // size}]"
    return f"{item.name}+{where[0]}" if where[0] else item.name


def value_text(one: Concrete, event: Event) -> str:
    """What an event read or wrote, as a person reads it at its type."""
    return arith.shown(one.values[event.id], event.type)


def shown(one: Concrete, *, goal: Expr | None = None) -> Execution:
    """The execution as reports print it."""
    graph = one.encoding.graph
    used = {i for pair in one.reads.items() for i in (pair[1],)}
    running = [e for e in graph.events if one.running >> e.id & 1 and (e.thread >= 0 or e.id in used)]
    steps: dict[int, int] = {}
    happenings = []
    for event in running:
        steps[event.thread] = steps.get(event.thread, 0) + 1
        happenings.append(happening(one.encoding.program, event, steps[event.thread], one.values.get(event.id)))
    kept = {event.id for event in running}
    return Execution(tuple(happenings), _edges(one, kept), *_final_state(one, goal), _mbarriers(one))


def mbarrier_name(program: Program, object: str) -> str:
    """An mbarrier as the test names it, from the object of its operations: `m`, `full[1]`."""
    name, _, offset = object.partition("+")
    return place_name(program, name, (int(offset or 0), MBARRIER))


def _mbarriers(one: Concrete) -> tuple[MbarrierHistory, ...]:
    found = []
    for barrier in one.encoding.base.mbarriers.all.values():
        past = history(barrier, one.true)
        if past.operations:
            name, ids = mbarrier_name(one.encoding.program, barrier.name), tuple(e.id for e in past.operations)
            state = past.state
            left = MbarrierHistory(name, ids, state.valid, state.phase, state.pending, state.bytes, past.undefined)
            found.append(left)
    return tuple(found)


def happening(program: Program, event: Event, step: int, value: int | None) -> Happening:
    """One event as reports print it."""
    memory = event.kind in "RW"
    shown_name = event.virtual or event.object
    return Happening(
        id=event.id,
        kind="I" if event.thread < 0 else event.kind,
        thread=program.threads[event.thread].name if event.thread >= 0 else None,
        step=step,
        text=(event.statement.text or type(event.statement).__name__) if event.statement else "",
        place=place_name(program, shown_name, event.where) if memory else None,
        value=value,
        type=event.type,
        order=event.order,
        scope=event.scope,
        proxy=event.proxy,
        line=event.statement.at.line if event.statement else 0,
    )


def _edges(one: Concrete, kept: set[int]) -> dict[str, frozenset[tuple[int, int]]]:
    graph = one.encoding.graph
    edges: dict[str, frozenset[tuple[int, int]]] = {}
    order = [e for e in graph.events if e.id in kept and e.thread >= 0]
    edges["po"] = frozenset((a.id, b.id) for a, b in pairwise(order) if a.thread == b.thread)
    edges["rf"] = frozenset((write, read) for (read, _), write in one.reads.items())
    co = {(i, j) for i, j in one.order if {i, j} <= kept}
    middle = {(i, k) for i, j in co for j2, k in co if j == j2}
    edges["co"] = frozenset(co - middle)
    fr = one.evaluation.base("fr")
    assert isinstance(fr, Rel)
    edges["fr"] = frozenset((i, j) for i, j, _ in fr.pairs() if {i, j} <= kept)
    edges["rmw"] = frozenset((e.id, e.rmw) for e in order if e.kind == "R" and e.rmw in kept)
    for name in _synchronisations(one):
        found = frozenset((i, j) for i, j in _pairs_of(one, name) if {i, j} <= kept)
        if found:
            edges[name] = found
    return edges


def _synchronisations(one: Concrete) -> list[str]:
    """Names of the model and of the vocabulary that say what synchronises."""
    model = one.encoding.model
    own = [s.name for s in model.statements if isinstance(s, cat.Let) and s.name in ("sync", "barrier", "sw")]
    return [
        *dict.fromkeys(own),
        *(n for n in ("sync_fence", "syncbar", "syncwarp", "syncbarcl") if one.encoding.plan.uses(n)),
    ]


def _pairs_of(one: Concrete, name: str) -> list[tuple[int, int]]:
    """The pairs of a relation of the model or the vocabulary; none where the verdict did not depend on its choices."""
    try:
        value = one.evaluation.named(name) if name in one.evaluation.plan.names else one.evaluation.base(name)
    except Unsettled:
        return []
    return [(i, j) for i, j, _ in value.pairs()] if isinstance(value, Rel) else []


def _final_state(one: Concrete, goal: Expr | None) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    registers: dict[tuple[str, str], int] = {}
    memory: dict[str, int] = {}
    program = one.encoding.program
    for index, thread in enumerate(program.threads):
        for name in sorted(one.encoding.graph.finals[index]):
            if not name.startswith("%") and name not in thread.hidden and one.true(one.encoding.graph.ends[index]):
                registers[thread.name, name] = one.constant(one.encoding.graph.finals[index][name][0])
    for leaf in final_leaves(goal) if goal is not None else []:
        if isinstance(leaf, FinalMem):
            memory[place_name(program, leaf.name, (leaf.offset, leaf.type.size))] = one.final(leaf)
    return registers, memory


def type_of(program: Program, leaf: FinalReg | FinalMem) -> Type:
    """The type at which a final value is read."""
    if isinstance(leaf, FinalMem):
        return leaf.type
    return program.thread(leaf.thread).types.get(leaf.reg, Type("u", 32))
