"""From a test and a model to formulas: the structure of executions, the axioms, and the questions, each a literal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ptxmm.asked import Asked
from ptxmm.base import Base
from ptxmm.compilation import plan_of
from ptxmm.deadline import Deadline
from ptxmm.evaluation import Evaluation
from ptxmm.events import Ending, EventGraph, same_cta
from ptxmm.features import ensure_readonly, ensure_sizes, ensure_supported, needs
from ptxmm.finals import Finals
from ptxmm.forced import settle
from ptxmm.formula import Formulas, Lit
from ptxmm.graph import event_graph
from ptxmm.grounded import ensure_grounded
from ptxmm.grown import Grown
from ptxmm.lemma import could_chain, counterexample, samples
from ptxmm.model import Model
from ptxmm.plan import Plan
from ptxmm.possible import Possible, after_operations
from ptxmm.program import Expr, Program
from ptxmm.relation import Rel, Symbolic
from ptxmm.running import Running
from ptxmm.schedule import Schedule
from ptxmm.script import smt_lib
from ptxmm.solve import Truth, session

MBARRIER_ORDER = "mbarrier-order"
STRONG = ("ms", "morally-strong", "morally_strong")


@dataclass
class Encoding:
    """A test under a model, as literals of `graph.formulas`.

    `asserted` must hold in every execution that counts, `axioms` are (name, literal), `bad` the literal that an
    undefined access is made. `asked` is what solvers still hold of the last questions, that of all tests and one alone.
    """

    program: Program
    model: Model
    plan: Plan
    graph: EventGraph
    base: Base
    finals: Finals
    evaluation: Evaluation
    axioms: list[tuple[str, Lit]]
    asserted: list[Lit] = field(default_factory=list)
    asked: dict[bool, Asked] = field(default_factory=dict)

    @property
    def formulas(self) -> Formulas:
        return self.graph.formulas

    @property
    def bad(self) -> Lit:
        return self.formulas.disj([literal for literal, _ in self.graph.bad])

    def waits_for(self, thread: int) -> list[int]:
        """The threads that have ended before one starts: of earlier kernels, and of the CTA it is placed `after`."""
        found = self.base.grids.waits_for(thread)
        name = self.program.threads[thread].after
        if name is None:
            return found
        first = self.program.thread(name)
        return [*found, *(i for i, other in enumerate(self.program.threads) if same_cta(first, other))]

    def enabled(self, thread: int) -> Lit:
        """The literal that a thread can start."""
        ends = [self.graph.ends[other] for other in self.waits_for(thread)]
        return self.formulas.conj([*ends, self.base.grids.ready(thread)])

    def in_vain(self) -> Iterator[Lit]:
        """Literals that each say of a wait for other threads: who stays there is not let go on."""
        formulas, passes, grids = self.formulas, self.graph.passes, self.base.grids
        for members in self.base.barriers.groups.values():
            for event in self.base.barriers.blocking(members):
                if formulas.both(event.guard, -passes[event.id]) != -1:
                    yield formulas.disj((-event.guard, passes[event.id], self.base.barriers.lacking(members, event)))
        for wait in grids.waits():
            yield formulas.disj((-wait.guard, passes[wait.id], -grids.all_ended(wait)))

    def defined(self) -> list[Lit]:
        """What executions that count have, in tests with mbarriers, whose states say nothing after an undefined step.

        Each is looked at with all that follows: no thread stops at a wait for others where it could go on to such a
        step, or does not start.
        """
        if "mbarriers" not in needs(self.program):
            return []
        started = (self.formulas.disj((start, -self.enabled(n))) for n, start in enumerate(self.graph.starts))
        return [-self.bad, *self.in_vain(), *started]

    def condition(self, formula: Expr) -> Lit:
        """The literal that a formula over final states holds."""
        return self.finals.truth(formula)


def encode(
    program: Program,
    model: Model,
    bound: int,
    ending: Ending = Ending.FINISHED,
    deadline: Deadline | None = None,
    *,
    chains: bool = True,
    loose: bool = False,
    states: bool = True,
) -> Encoding:
    """The executions of a test that a model allows and that have such an `ending`, as formulas.

    With `chains`, words that only atomic operations write get their closed forms (`ptxmm.chains`) where the model
    admits them. Without `states`, nothing is asked of final registers. Raises Unsupported where the model lacks
    something that the test needs, Undecided where it is too large.
    """
    graph = events_under(program, model, bound, ending, deadline, states=states)
    return encoded(graph, model, chains=chains, loose=loose)


def events_under(
    program: Program,
    model: Model,
    bound: int,
    ending: Ending,
    deadline: Deadline | None,
    *,
    states: bool = True,
    grown: Grown | None = None,
) -> EventGraph:
    """The events of a test under a model, which says what loops leave behind."""
    ensure_supported(program, model)
    ensure_grounded(program, model)
    plan = plan_of(model)

    def attempts() -> bool:
        return plan.hereditary and chain_lemma(plan, model) and chain_lemma(plan, model, stores=True)

    graph = event_graph(
        program, bound, ending, deadline,
        waits=plan.monotone, states=states, attempts=attempts, hands_on=model.hands_on,
        expect_ends=model.expect_ends, refuted=refuted, grown=grown,
    )  # fmt: skip
    ensure_sizes(graph, model)
    ensure_readonly(graph)
    return graph


def encoded(graph: EventGraph, model: Model, *, chains: bool = True, loose: bool = False) -> Encoding:
    """The executions with these events that a model allows."""
    plan = plan_of(model)
    settle(graph)
    guards = [event.guard for event in graph.events]
    algebra = Symbolic(len(guards), graph.formulas, guards)
    base = Base(graph, algebra)
    base.causal = any(name == MBARRIER_ORDER for name, _, _, _ in plan.axioms)
    slots = after_operations(plan) if base.causal else None
    if slots is not None:
        base.causality = Possible(plan, slots, base)
    algebra.running = Running(graph.formulas, len(guards), guards, base.mbarriers.following)
    evaluation = Evaluation(plan, algebra, base)
    if chains and plan.monotone:
        several, stores = could_chain(graph)
        if several and chain_lemma(plan, model) and (not stores or chain_lemma(plan, model, stores=True)):
            base.strong, base.loose = _strong(plan, evaluation), loose
    dep = algebra.union(algebra.union(base.rel("addr"), base.rel("data")), base.rel("ctrl"))
    axioms = evaluation.axioms()
    encoding = Encoding(graph.program, model, plan, graph, base, Finals(base), evaluation, axioms)
    encoding.asserted = [
        *graph.assumed,
        Schedule(base.barriers, base.grids).literal(
            algebra.guarded(base.rel("rf")), algebra.guarded(dep), base.inflight.in_time()
        ),
    ]
    for index, start in enumerate(graph.starts):
        graph.formulas.require(-start, encoding.enabled(index))
    for wait in base.grids.waits():
        graph.formulas.require(-wait.guard, -graph.passes[wait.id], base.grids.all_ended(wait))
    if graph.ending is Ending.FINISHED:
        encoding.asserted += [*graph.ends, -graph.cut, *(-again.literal for again in graph.again)]
    return encoding


def refuted(formulas: Formulas, literal: Lit) -> bool:
    """Whether Z3 finds in a few steps that a literal cannot hold together with the clauses so far."""
    here = session()
    prefix = here.prefix()
    with here.load(smt_lib(formulas, [literal], (), f"{prefix}v"), prefix, formulas.deadline) as loaded:
        return loaded.check([], formulas.deadline, briefly=True) is Truth.UNSAT


@lru_cache(maxsize=64)
def chain_lemma(_: Plan, model: Model, *, stores: bool = False) -> bool:
    """Whether the model makes coherence of atomic operations total and lets each read only the one before it.

    With `stores`, whether that is so with plain stores among them.
    """
    for program in samples(stores):
        encoding = encode(program, model, 0, chains=False)
        formulas, here = encoding.formulas, session()
        wrong = counterexample(encoding.graph, encoding.base.choices, formulas)
        asserted = [*encoding.asserted, *(literal for _, literal in encoding.axioms), wrong]
        prefix = here.prefix()
        with here.load(smt_lib(formulas, asserted, (), f"{prefix}v"), prefix) as loaded:
            if loaded.check([], Deadline.after(5)) is not Truth.UNSAT:
                return False
    return True


def _strong(plan: Plan, evaluation: Evaluation) -> Rel | None:
    """Moral strength, where the model defines it without the choices of an execution."""
    name = next((name for name in STRONG if name in plan.names), None)
    if name is None or plan.needs(plan.names[name]) & {"rf", "co", "fr"}:
        return None
    return evaluation.named(name)
