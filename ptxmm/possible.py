"""What causality may relate at most, before anything is known of reads-from, coherence and the order of operations.

The same model is evaluated on relations that have every pair which some execution may have. What it says then is not
less than what it says of any execution, as long as nothing that is chosen is taken away from something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ptxmm.base import Base
from ptxmm.evaluation import Evaluation
from ptxmm.events import Event, EventGraph
from ptxmm.formula import Formulas
from ptxmm.mbarrier_orders import phases_of
from ptxmm.mbarrier_reach import Reach
from ptxmm.mbarrier_state import Phase, passes, phase_of
from ptxmm.model import Check
from ptxmm.plan import Plan
from ptxmm.relation import Rel, Set, Symbolic

CHOSEN = frozenset({"rf", "co", "fr", "sync_fence", "phase", "reached", "mbo", "mbnext", "mbloc"})
Found = Mapping[str, Reach | None]


@lru_cache(maxsize=64)
def after_operations(plan: Plan) -> tuple[int, ...] | None:
    """The relations that the order of operations on mbarriers must agree with; None where a model asks for more of it.

    Each is the `r` of an axiom `irreflexive mbo ; r`, and nothing else may look at that order.
    """
    steps = {number: step for number, step in enumerate(plan.steps) if step.op not in ("base", "fixpoint")}
    orders = {number for number, step in enumerate(plan.steps) if step.base == "mbo"}
    asked = {slot for _, check, negated, slot in plan.axioms if check is Check.IRREFLEXIVE and not negated}
    using = {number for number, step in steps.items() if orders.intersection(step.args)}
    named = {slot for _, _, _, slot in (*plan.axioms, *plan.flags)} | set(plan.names.values())
    named.update(body for _, bodies, _ in plan.recursions.values() for body in bodies)
    further = {number for number, step in steps.items() if using.intersection(step.args)}
    if plan.uses("mbnext") or orders & named or further or not using <= asked:
        return None
    parts = [steps[number] for number in sorted(using)]
    fits = all(step.op == "seq" and step.args[0] in orders and step.args[1] not in orders for step in parts)
    return tuple(step.args[1] for step in parts) if fits else None


@lru_cache(maxsize=256)
def taken_away(plan: Plan, slot: int) -> frozenset[str]:
    """The base names of what a relation takes away from something."""
    steps = [plan.steps[number] for number in plan.below([slot])]
    taken = [step.args[1] for step in steps if step.op == "diff"]
    taken += [step.args[0] for step in steps if step.op == "complement"]
    return frozenset(name for one in taken for name in plan.needs(one) if name)


class Possible:
    """What the relations of a plan can be at most on an event graph, for what operations on mbarriers can find."""

    def __init__(self, plan: Plan, slots: Sequence[int], base: Base) -> None:
        self.plan, self.slots, self.graph = plan, slots, base.graph
        self.size = len(base.events)
        algebra = Symbolic(self.size, base.formulas, base.guards)
        self.rough = Base(base.graph, algebra, base.barriers)
        self.rough.grids = base.grids
        self.sound = all(self._kept(slot) for slot in slots)

    def _kept(self, slot: int) -> bool:
        """Whether a relation takes away only what is the same in all executions."""
        names = taken_away(self.plan, slot)
        return not names & CHOSEN and not any(self.rough(name).may for name in names)

    def __call__(self, found: Found, apart: str = "") -> list[int] | None:
        """For each event, the mask of those that it may be related to; without ways through the phases of `apart`."""
        if not self.sound:
            return None
        phase = _phases(self.graph, found, apart)

        def base(name: str) -> Rel | Set:
            if name == "phase":
                return Rel(phase, {})
            if name in CHOSEN:
                return Rel(self._chosen(name), {})
            value = self.rough(name)
            return Set(value.mask, {}) if isinstance(value, Set) else Rel(value.row_masks(), {}, value.transitive)

        evaluation = Evaluation(self.plan, Symbolic(self.size, Formulas()), base)
        rows = [0] * self.size
        for slot in self.slots:
            rows = [a | b for a, b in zip(rows, evaluation.rel(slot).row_masks(), strict=True)]
        return rows

    def _chosen(self, name: str) -> list[int]:
        """Every pair that a choice could have."""
        kinds = {"rf": ("W", "R"), "co": ("W", "W"), "fr": ("R", "W"), "sync_fence": ("SC", "SC")}.get(
            name, ("MB", "MB")
        )
        first, second = (self._mask(kind) for kind in kinds)
        near = self.rough.rel("loc").must if name in ("rf", "co", "fr") else [(1 << self.size) - 1] * self.size
        return [near[i] & second if first >> i & 1 else 0 for i in range(self.size)]

    def _mask(self, name: str) -> int:
        value = self.rough(name)
        assert isinstance(value, Set)
        return value.mask


def _phases(graph: EventGraph, found: Found, apart: str) -> list[int]:
    """From each operation of a phase the waits that may find that phase complete; of the object `apart`, none."""
    rows = [0] * len(graph.events)
    barriers: dict[str, list[Event]] = {}
    for event in graph.events:
        if event.kind == "A" and event.guard != -1 and event.object != apart:
            barriers.setdefault(event.object, []).append(event)
    for name, events in barriers.items():
        reach = found[name]
        waits: dict[Phase | None, int] = {}
        for wait in events:
            for phase in _completed(reach, wait) if wait.waits else ():
                waits[phase] = waits.get(phase, 0) | 1 << wait.id
        for event in events:
            if event.counts:
                for phase in phases_of(reach, event) if reach is not None and not reach.undefined else waits:
                    rows[event.id] |= waits.get(phase, 0)
    return rows


def _completed(reach: Reach | None, wait: Event) -> set[Phase | None]:
    """The phases that a wait may find complete; None stands for any."""
    if reach is None or reach.undefined:
        return {None}
    return {
        (state.life, state.phase - 1 if wait.parity else phase_of(asked))
        for state in reach.found[wait.id]
        for asked in wait.asked
        if passes(state, asked, parity=wait.parity)
    }
