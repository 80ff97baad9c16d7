"""All executions of a test that a model allows, found by trying every candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product

from ptxmm.enumeration.barriers import Plan, plans
from ptxmm.enumeration.base import Pairs, base_relations, base_sets
from ptxmm.enumeration.cat import LAST, NOTHING, Meaning, Theory, covers, theory
from ptxmm.enumeration.choices import Sources, coherences, fence_orders, reads_from
from ptxmm.enumeration.limits import Budget, GaveUp
from ptxmm.enumeration.path import Path
from ptxmm.enumeration.paths import paths
from ptxmm.enumeration.schedule import possible
from ptxmm.enumeration.skeleton import Skeleton, assemble
from ptxmm.enumeration.unroll import unroll
from ptxmm.enumeration.values import Table, fixpoint
from ptxmm.model import Model
from ptxmm.program import Program

CAUSALITY = ("cause", "causality")
STRENGTH = ("morally-strong", "ms")
THIN_AIR = "the model does not exclude values out of thin air, and the values of this test may form a cycle"


@dataclass(frozen=True)
class Found:
    """One execution that the model allows; `undefined` where a step of it has no defined meaning.

    It is not `scheduled` where that step is a barrier, and then what comes after the barrier means nothing.
    """

    skeleton: Skeleton
    sources: Sources
    co: Pairs
    meaning: Meaning
    undefined: str = ""
    scheduled: bool = True


@dataclass
class Search:
    """The executions of one test under one model.

    `coherence_matters` says that the final memory is asked for; `wanted` may refuse candidates that add nothing.
    """

    program: Program
    model: Model
    bound: int
    budget: Budget
    coherence_matters: bool = True
    wanted: Callable[[Skeleton], bool] = lambda skeleton: True
    table: Table = field(init=False)
    rules: Theory = field(init=False)

    def __post_init__(self) -> None:
        self.rules = theory(self.model, (*CAUSALITY, *STRENGTH))
        self.forced, self.total = self.rules.bounds(total=False), self.rules.bounds(total=True)
        self.graphs = [unroll(thread.body, self.bound) for thread in self.program.threads]
        self.table = fixpoint(self.program, self.graphs)

    def __iter__(self) -> Iterator[Found]:
        if self.table.cyclic() and not covers(self.model, ("rf", "data", "addr")):
            raise GaveUp(THIN_AIR)
        each = [
            paths(self.program, thread, graph, self.table)
            for thread, graph in zip(self.program.threads, self.graphs, strict=True)
        ]
        for chosen in product(*each):
            self.budget.spend()
            yield from self.candidates(chosen)

    def candidates(self, chosen: tuple[Path, ...]) -> Iterator[Found]:
        """The allowed executions in which the threads take these paths."""
        skeleton = assemble(self.program, chosen)
        if not self.wanted(skeleton) or next(reads_from(skeleton), None) is None:
            return
        why = next((path.why for path in chosen if path.end == "undefined"), "")
        base = {**base_sets(skeleton), **base_relations(skeleton)}
        for plan in plans(skeleton):
            start = Meaning(self.rules, {**base, **plan.relations}).after(0, {})
            if start is None:
                continue
            for sources in reads_from(skeleton):
                self.budget.spend()
                if plan.undefined:
                    for found in self.completions(skeleton, sources, start, plan.undefined):
                        yield replace(found, scheduled=False)
                elif happens(skeleton, plan, sources):
                    yield from self.completions(skeleton, sources, start, why)

    def completions(self, skeleton: Skeleton, sources: Sources, start: Meaning, undefined: str) -> Iterator[Found]:
        """The allowed ways to order fences and writes."""
        read = start.after(1, {"rf": sources.rf})
        if read is None:
            return
        for order in fence_orders(start.values["SC"], start.values["po"] | start.values["sr"]):
            fenced = read.after(2, {"sync_fence": order})
            if fenced is None:
                continue
            forced, total = (NOTHING.union(*(fenced.of(one) for one in bounds)) for bounds in (self.forced, self.total))
            for co in coherences(skeleton, forced, total):
                self.budget.spend()
                whole = fenced.after(LAST, {"co": co, "fr": sources.fr(skeleton, co)})
                if whole is None:
                    continue
                yield Found(skeleton, sources, co, whole, undefined)
                if not self.coherence_matters:
                    break


def happens(skeleton: Skeleton, plan: Plan, sources: Sources) -> bool:
    """Whether barriers let the candidate happen; without barriers nothing stands in its way."""
    if not any(event.kind == "B" for event in skeleton.events):
        return True
    before: dict[int, set[int]] = {}
    for write, read in sources.rf:
        before.setdefault(read, set()).add(write)
    for event, step in skeleton.steps():
        if event.thread is not None:
            needed = step.data | step.addr | step.ctrl
            before.setdefault(event.id, set()).update(skeleton.at[event.thread, one] for one in needed)
    return possible(skeleton, plan, before)
