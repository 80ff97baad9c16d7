"""The base relations that a test decides by itself, whatever an execution chooses: program order, bytes and scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.program import Fence, Place, ProxyFence, Scope, Space
from ptxmm.relation import Rel
from ptxmm.tags import SCOPES, includes, scope_key

SCOPE_OF_WINDOW = {
    "shared::cta": Scope.CTA,
    "shared::cluster": Scope.CLUSTER,
    "shared::cluster::read": Scope.CLUSTER,
}


def place_of(graph: EventGraph, event: Event) -> Place | None:
    """The place of an event's thread; None for an initial write."""
    return graph.program.threads[event.thread].place if event.thread >= 0 else None


def _identity(graph: EventGraph) -> Rel:
    return Rel([1 << event.id for event in graph.events], {})


def _program_order(graph: EventGraph) -> Rel:
    """Program order: not between the elements of one access, but from an atomic's read to its write."""
    must, both = [0] * len(graph.events), graph.formulas.both
    for thread in range(len(graph.program.threads)):
        mine = [e for e in graph.events if e.thread == thread and e.guard != -1 and e.issue < 0]
        always, sometimes = 0, list[Event]()
        for place in range(len(mine) - 1, -1, -1):
            event = mine[place]
            mask = always
            for e in sometimes:
                if event.guard == 1 or both(event.guard, e.guard) != -1:
                    mask |= 1 << e.id
            for e in mine[place + 1 :]:
                if e.node != event.node:
                    break
                if e.id != event.rmw and not e.last:
                    mask &= ~(1 << e.id)
            must[event.id] = mask
            if event.guard == 1:
                always |= 1 << event.id
            else:
                sometimes.append(event)
    return Rel(must, {}, transitive=True)


def _same_thread(inside: bool, graph: EventGraph) -> Rel:
    threads: dict[int, int] = {}
    for event in graph.events:
        threads[event.thread] = threads.get(event.thread, 0) | 1 << event.id
    everything = (1 << len(graph.events)) - 1

    def row(event: Event) -> int:
        mine = 1 << event.id if event.thread < 0 else threads[event.thread]
        return mine if inside else everything & ~mine

    return Rel([row(event) for event in graph.events], {})


def _same_bytes(name: str, graph: EventGraph) -> Rel:
    groups: dict[tuple[object, ...], int] = {}
    for event in graph.events:
        if event.kind in "RW":
            for key in _keys(event, name):
                groups[key] = groups.get(key, 0) | 1 << event.id

    def row(event: Event) -> int:
        mask = 0
        if event.kind in "RW":
            for key in _keys(event, name):
                mask |= groups[key]
        return mask

    return Rel([row(event) for event in graph.events], {})


def _keys(event: Event, name: str) -> list[tuple[object, ...]]:
    if name == "full":
        return [(event.object, event.where)]
    virtual = event.virtual if name == "vloc" else ""
    return [(event.object, virtual, cell) for cell in event.cells]


def _mutual_scopes(graph: EventGraph) -> Rel:
    """Scopes are nested, so two that both include the other's thread agree on the narrower one."""
    groups: dict[tuple[Scope, Scope, object], int] = {}
    scoped = [(e, p, e.scope) for e in graph.events if (p := place_of(graph, e)) and e.scope]
    for event, place, scope in scoped:
        for narrower in SCOPES[: SCOPES.index(scope) + 1]:
            key = (scope, narrower, scope_key(narrower, place))
            groups[key] = groups.get(key, 0) | 1 << event.id
    rows = [0] * len(graph.events)
    for event, place, scope in scoped:
        for other in SCOPES:
            narrower = min(scope, other, key=SCOPES.index)
            rows[event.id] |= groups.get((other, narrower, scope_key(narrower, place)), 0)
    return Rel(rows, {})


def _same_scope(scope: Scope, graph: EventGraph) -> Rel:
    groups: dict[object, int] = {}
    placed = [(e, scope_key(scope, p)) for e in graph.events if (p := place_of(graph, e))]
    for event, key in placed:
        groups[key] = groups.get(key, 0) | 1 << event.id
    rows = [0] * len(graph.events)
    for event, key in placed:
        rows[event.id] = groups[key]
    return Rel(rows, {})


def windows(graph: EventGraph) -> Iterator[tuple[int, int, Lit]]:
    """The accesses of shared memory in the window of a fence that is restricted to one, with the fence."""
    for fence in graph.events:
        if not isinstance(fence.statement, Fence | ProxyFence) or fence.statement.window not in SCOPE_OF_WINDOW:
            continue
        place = place_of(graph, fence)
        scope = SCOPE_OF_WINDOW[fence.statement.window]
        for event in graph.events:
            if event.kind in "RW":
                item = graph.program.physical(event.object)
                if item.space is Space.SHARED and item.owner and place and includes(scope, place, item.owner):
                    yield event.id, fence.id, 1


def same_virtual_bytes(a: Event, b: Event) -> bool:
    """Whether two accesses overlap in virtual addresses (8.2.1)."""
    return a.object == b.object and a.virtual == b.virtual and any(cell in b.cells for cell in a.cells)


FIXED: dict[str, Callable[[EventGraph], Rel]] = {
    "id": _identity,
    "po": _program_order,
    "int": partial(_same_thread, True),
    "ext": partial(_same_thread, False),
    "loc": partial(_same_bytes, "loc"),
    "vloc": partial(_same_bytes, "vloc"),
    "full": partial(_same_bytes, "full"),
    "sr": _mutual_scopes,
    "scta": partial(_same_scope, Scope.CTA),
    "scluster": partial(_same_scope, Scope.CLUSTER),
    "sgpu": partial(_same_scope, Scope.GPU),
}
"""What gives each of these relations of the events of a test."""
