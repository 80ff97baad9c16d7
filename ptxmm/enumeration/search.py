"""All executions of a test that a model allows, found by trying every candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product

from ptxmm.enumeration.barriers import Plan, plans
from ptxmm.enumeration.cat import Meaning
from ptxmm.enumeration.choices import Sources, coherences, fence_orders, options, reads_from
from ptxmm.enumeration.combine import Chosen, Combiner, Content
from ptxmm.enumeration.final import asked_columns
from ptxmm.enumeration.lanes import divergent, elected
from ptxmm.enumeration.launch import firsts
from ptxmm.enumeration.limits import THIN_AIR, Budget, GaveUp
from ptxmm.enumeration.path import Path
from ptxmm.enumeration.reach import Reach
from ptxmm.enumeration.resolve import Resolver
from ptxmm.enumeration.rounds import NO_ROUNDS, Rounds, rounds
from ptxmm.enumeration.rows import Pairs, Rows, bits, pairs, rows, union
from ptxmm.enumeration.schedule import happens
from ptxmm.enumeration.skeleton import Skeleton
from ptxmm.enumeration.staging import covers, theory
from ptxmm.enumeration.start import Starts, absent
from ptxmm.enumeration.table import Table
from ptxmm.enumeration.theory import LAST, Theory
from ptxmm.enumeration.unroll import unroll
from ptxmm.enumeration.values import ends_phases, fixpoint
from ptxmm.model import Model
from ptxmm.program import FinalMem, Program

CAUSALITY = ("cause", "causality")
STRENGTH = ("morally-strong", "ms")
IN_FLIGHT = ("issued", "done", "phase")


@dataclass(frozen=True)
class Found:
    """One execution that the model allows; `undefined` where a step of it has no defined meaning.

    It is not `scheduled` where that step is a barrier, and then what comes after the barrier means nothing. `first` are
    the first triggers of CTAs, which let dependent kernels start.
    """

    skeleton: Skeleton
    sources: Sources
    co: Pairs
    meaning: Meaning
    turn: Rounds = NO_ROUNDS
    first: frozenset[int] = frozenset()
    undefined: str = ""
    scheduled: bool = True


@dataclass
class Search:
    """The executions of one test under one model.

    With `waits`, loops that only wait are followed until they come back to where they were, without they are unrolled.
    `coherence_matters` says that the final memory is asked for, `once` that one execution a candidate is enough;
    `wanted` may refuse candidates that add nothing, `matters` those of which it is known what their paths decide,
    `ends` ways in which the threads of a candidate end; `more` gives further paths of a thread, for one that it has.
    The flags of the model whose names begin with `flagged` are evaluated, and executions that break the rules of
    mbarriers are followed where `broken` says so.
    """

    program: Program
    model: Model
    bound: int
    budget: Budget
    waits: bool = True
    coherence_matters: bool = True
    once: bool = False
    wanted: Callable[[Skeleton], bool] = lambda skeleton: True
    matters: Callable[[Skeleton, Meaning], bool] = lambda skeleton, start: True
    ends: Callable[[tuple[str, ...]], bool] = lambda ends: True
    more: Callable[[int, Path], Iterator[Path]] = lambda thread, path: iter(())
    flagged: str | None = None
    broken: bool = False
    table: Table = field(init=False)
    rules: Theory = field(init=False)
    starts: Starts = field(init=False)

    def __post_init__(self) -> None:
        self.rules = theory(self.model, (*CAUSALITY, *STRENGTH), flagged=self.flagged)
        self.simple = self.rules.grows()
        remain = self.rules.keeps_what_remains()
        self.waits = self.waits and remain
        bound = max(self.bound, 1) if self.waits else self.bound
        self.graphs = [unroll(thread.body, bound, self.budget) for thread in self.program.threads]
        asked = [one for one in asked_columns(self.program) if isinstance(one, FinalMem)]
        self.table = fixpoint(self.program, self.graphs, self.budget, asked)
        self.whole = frozenset(name for name, ranges in self.table.ranges.items() if not crossing(ranges))
        self.partly = self.simple and remain and len(self.whole) == len(self.table.ranges)
        self.each: list[list[Path]] = []

    def __iter__(self) -> Iterator[Found]:
        in_flight = any(ends_phases(item) for thread in self.program.threads for item in thread.body)
        hanging = ("rf", "data", "addr", *(IN_FLIGHT if in_flight else ()))
        if self.table.cyclic() and not covers(self.model, hanging):
            raise GaveUp(THIN_AIR)
        if not self.each:
            controlled = covers(self.model, (*hanging, "ctrl"))
            reach = Reach(self.program, self.graphs, self.table, self.whole, controlled, self.waits, self.budget)
            self.each = reach.paths()
            empty = absent(self.program, self.each, self.budget)
            self.rules = theory(self.model, (*CAUSALITY, *STRENGTH), empty, self.flagged)
            self.starts = Starts(self.program, self.rules)
        each = [
            list(dict.fromkeys([*found, *(other for path in found for other in self.more(thread, path))]))
            for thread, found in enumerate(self.each)
        ]
        for chosen in Combiner(each, self.table.initial, self.whole, self.beginning, self.ends):
            self.budget.spend()
            yield from self.candidates(chosen)

    def beginning(self, chosen: Chosen, later: frozenset[Content]) -> bool:
        """Whether the model allows the paths of the first threads, if other threads may write certain contents.

        Without the other threads, and what is read from them, an execution still is one for models like these.
        """
        self.budget.spend()
        if not self.partly:
            return True
        skeleton = self.starts.skeleton(chosen)
        start = self.starts.meaning(skeleton, Plan(), NO_ROUNDS, frozenset()).after({0}, {})
        if start is None:
            return False
        missing = frozenset(
            event.id for event in skeleton.events
            if event.kind == "R" and event.spot is not None
            and (event.spot.object, event.spot.offset, event.spot.size, event.value) in later
        )  # fmt: skip
        return (
            next(iter(Resolver(skeleton, start, self.budget, coherence_matters=False, missing=missing)), None)
            is not None
        )

    def candidates(self, chosen: Chosen) -> Iterator[Found]:
        """The allowed executions in which the threads take these paths."""
        skeleton = self.starts.skeleton(chosen)
        if not self.wanted(skeleton) or options(skeleton) is None or not elected(skeleton):
            return
        why = next((path.why for path in chosen if path.end == "undefined"), "") or divergent(skeleton)
        complete = self.resolved if self.simple else self.completions
        turns = [one for one in self.turns(skeleton) if self.broken or not one.undefined]
        for plan, turn, first in product(plans(skeleton) if turns else (), turns, list(firsts(skeleton))):
            self.budget.look()
            broken = turn.undefined
            start = self.starts.meaning(skeleton, plan, turn, first).after({0}, {})
            if start is None or not (plan.undefined or broken or self.matters(skeleton, start)):
                continue
            for found in complete(skeleton, start):
                if not turn.agrees(self.known(found.meaning)):
                    continue
                found = replace(found, turn=turn, first=first)
                if plan.undefined:
                    yield replace(found, undefined=plan.undefined, scheduled=False)
                elif happens(skeleton, plan, found):
                    yield replace(found, undefined=broken or why)
                    if self.once:
                        return

    def turns(self, skeleton: Skeleton) -> Iterator[Rounds]:
        """What the orders of operations on mbarriers may mean."""
        told_apart = self.rules.after_mbarriers is None
        followed, ends = self.rules.follows_mbarriers, self.model.expect_ends
        for one in rounds(skeleton, told_apart=told_apart, followed=followed, expect_ends=ends):
            self.budget.look()
            yield one

    def known(self, meaning: Meaning) -> Rows:
        """What comes before what, so that operations on mbarriers may not go against it."""
        found: Rows = (0,) * meaning.size
        for expr in self.rules.after_mbarriers or ():
            found = union(found, meaning.relation(expr))
        return found

    def resolved(self, skeleton: Skeleton, start: Meaning) -> Iterator[Found]:
        """The allowed ways to complete a candidate, where more can only break axioms."""
        for one in Resolver(skeleton, start, self.budget, self.coherence_matters):
            yield Found(skeleton, Sources(one.taken), pairs(one.co), one.whole)

    def completions(self, skeleton: Skeleton, start: Meaning) -> Iterator[Found]:
        """The allowed ways to complete a candidate: all ways to read, and to order fences and writes."""
        size = start.size
        related = pairs(start.relations["po"]) | pairs(start.relations["sr"])
        for sources in reads_from(skeleton):
            self.budget.spend()
            read = start.after({1}, {"rf": rows(sources.rf, size)})
            if read is None:
                continue
            for order in fence_orders(frozenset(bits(start.sets["SC"])), related):
                fenced = read.after({2}, {"sync_fence": rows(order, size)})
                if fenced is None:
                    continue
                forced, total = (
                    frozenset[tuple[int, int]]().union(*(pairs(fenced.relation(one)) for one in bounds))
                    for bounds in (self.rules.bounds(total=False), self.rules.bounds(total=True))
                )
                for co in coherences(skeleton, forced, total):
                    self.budget.spend()
                    chosen = {"co": rows(co, size), "fr": rows(sources.fr(skeleton, co), size)}
                    whole = fenced.after({LAST}, chosen)
                    if whole is not None:
                        yield Found(skeleton, sources, co, whole)
                        if not self.coherence_matters:
                            break


def crossing(ranges: set[tuple[int, int]]) -> bool:
    """Whether some of these overlap without being equal."""
    return any(one != other and one[0] < other[1] and other[0] < one[1] for one in ranges for other in ranges)
