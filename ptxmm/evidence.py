"""An execution as evidence: its events, edges, mbarriers and final state, by the names that the test gives them."""

from __future__ import annotations

from itertools import pairwise

from ptxmm import arith
from ptxmm import model as cat
from ptxmm.arith import Type
from ptxmm.events import Event, final_leaves
from ptxmm.execution import Concrete, Unsettled
from ptxmm.mbarrier_replay import history
from ptxmm.memory import Range
from ptxmm.program import Expr, FinalMem, FinalReg, Program
from ptxmm.relation import Rel
from ptxmm.verdict import Execution, Happening, MbarrierHistory

MBARRIER = 8


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
