"""Several kernels in one test: which waits for which to end, what that orders, and programmatic dependent launch.

Kernels run in a stream in the order of their numbers: one starts when those before it have ended and all that they did
is visible (PTX ISA 8.9.4). Kernels launched side by side are not ordered. A dependent kernel may start when every CTA
of the other has executed `griddepcontrol.launch_dependents` or has ended; only `griddepcontrol.wait` waits for its end.
What the other has not waited for may run on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.program import Fence, GridDependency, Order, Place, Program, Scope

PUBLISHING = frozenset({Order.RELEASE, Order.ACQ_REL, Order.SC})
WIDE = frozenset({Scope.GPU, Scope.SYS})


class Grids:
    """The kernels of a test and what their launches order, on one event graph."""

    def __init__(self, graph: EventGraph) -> None:
        self.graph, self.program, self.formulas = graph, graph.program, graph.formulas

    @cached_property
    def ended(self) -> dict[int, list[int]]:
        """For each kernel, those that have ended before it starts."""
        return {kernel: predecessors(self.program, kernel) for kernel in kernels(self.program)}

    @cached_property
    def dependent(self) -> dict[int, int]:
        """For each dependent kernel, the one it depends on."""
        return {second: first for second, kind, first in self.program.launches if kind == "dependent"}

    def threads(self, kernel: int) -> list[int]:
        """The threads of a kernel."""
        return [i for i, thread in enumerate(self.program.threads) if thread.place.kernel == kernel]

    def waits_for(self, thread: int) -> list[int]:
        """The threads that have ended before a thread starts, for the sake of its kernel."""
        kernel = self.program.threads[thread].place.kernel
        return [other for before in self.ended[kernel] for other in self.threads(before)]

    def ctas(self, kernel: int) -> list[list[int]]:
        """The threads of each CTA of a kernel."""
        found: dict[Place, list[int]] = {}
        for thread in self.threads(kernel):
            place = self.program.threads[thread].place
            found.setdefault(Place(place.device, place.cluster, place.cta, kernel=kernel), []).append(thread)
        return list(found.values())

    def triggers(self, threads: list[int]) -> list[Event]:
        """The `launch_dependents` of some threads."""
        return [e for e in self.graph.events if e.thread in threads and e.guard != -1 and _is(e, wait=False)]

    @cached_property
    def first_triggers(self) -> dict[int, Lit]:
        """For each `launch_dependents` of a kernel that others depend on, the literal that its CTA has none before."""
        first: dict[int, Lit] = {}
        for kernel in set(self.dependent.values()):
            for found in map(self.triggers, self.ctas(kernel)):
                first |= self._one_is_first(found)
        return first

    def _one_is_first(self, found: list[Event]) -> dict[int, Lit]:
        if len(found) == 1:
            return {found[0].id: found[0].guard}
        formulas = self.formulas
        first = {trigger.id: formulas.var() for trigger in found}
        formulas.at_most_one(list(first.values()))
        for trigger in found:
            formulas.require(-trigger.guard, *first.values())
            formulas.require(-first[trigger.id], trigger.guard)
            for other in found:
                if other.thread == trigger.thread and other.node < trigger.node:
                    formulas.require(-first[trigger.id], -other.guard)
        return first

    def ready(self, thread: int) -> Lit:
        """The literal that what a thread's kernel depends on lets it start."""
        first = self.dependent.get(self.program.threads[thread].place.kernel)
        if first is None:
            return 1
        formulas, ends = self.formulas, self.graph.ends
        ways = [
            formulas.disj([formulas.conj([ends[t] for t in cta]), *(e.guard for e in self.triggers(cta))])
            for cta in self.ctas(first)
        ]
        return formulas.conj(ways)

    def all_ended(self, wait: Event) -> Lit:
        """The literal that the kernel that a `griddepcontrol.wait` waits for has ended."""
        first = self.dependent.get(self.program.threads[wait.thread].place.kernel)
        return 1 if first is None else self.formulas.conj([self.graph.ends[t] for t in self.threads(first)])

    def waits(self) -> list[Event]:
        """The `griddepcontrol.wait` of dependent kernels."""
        return [e for e in self.graph.events if _is(e, wait=True) and self._depends(e)]

    def _depends(self, event: Event) -> bool:
        return self.program.threads[event.thread].place.kernel in self.dependent

    def pairs(self) -> Iterator[tuple[int, int, Lit]]:
        """The pairs of `api`: from all that a kernel did to what starts after its end, or waits for it."""
        if len(self.ended) < 2:
            return
        events = [e for e in self.graph.events if e.thread >= 0 and e.guard != -1]
        place = {e.id: self.program.threads[e.thread].place.kernel for e in events}
        for later in events:
            if later.issue >= 0:
                continue
            first = self.dependent.get(place[later.id]) if _is(later, wait=True) else None
            for earlier in events:
                if place[earlier.id] in self.ended[place[later.id]] or place[earlier.id] == first:
                    yield earlier.id, later.id, 1
        yield from self._triggered(events)

    def _triggered(self, events: Iterable[Event]) -> Iterator[tuple[int, int, Lit]]:
        """A release fence before the first trigger of its CTA synchronises with the start of the dependent kernel."""
        for second, first in self.dependent.items():
            started = [e for e in events if e.thread in self.threads(second) and e.issue < 0]
            for trigger in self.triggers(self.threads(first)):
                for fence in events:
                    if fence.thread == trigger.thread and _publishes(fence, trigger):
                        for event in started:
                            yield fence.id, event.id, self.first_triggers[trigger.id]


def kernels(program: Program) -> list[int]:
    """The numbers of the kernels of a test, in the order of the stream."""
    return sorted({thread.place.kernel for thread in program.threads})


def predecessors(program: Program, kernel: int) -> list[int]:
    """The kernels that have ended before one starts: for a dependent kernel, no more than before the other started."""
    launches = [(kind, first) for second, kind, first in program.launches if second == kernel]
    beside = {first for _, first in launches}
    found = [other for other in kernels(program) if other < kernel and other not in beside]
    for kind, first in launches:
        if kind == "dependent":
            found = [other for other in found if other in predecessors(program, first)]
    return found


def _is(event: Event, *, wait: bool) -> bool:
    return isinstance(event.statement, GridDependency) and event.statement.wait == wait


def _publishes(fence: Event, trigger: Event) -> bool:
    statement = fence.statement
    return (
        isinstance(statement, Fence)
        and statement.window is None
        and statement.order in PUBLISHING
        and statement.scope in WIDE
        and fence.node < trigger.node
    )
