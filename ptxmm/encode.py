"""From a test and a model to formulas: the structure of executions, the axioms, and the questions, each a literal."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.base import Base, same_virtual_bytes
from ptxmm.closure import components
from ptxmm.errors import Undecided
from ptxmm.evaluation import Evaluation
from ptxmm.events import Event, EventGraph
from ptxmm.features import ensure_readonly, ensure_sizes, ensure_supported, mixed_objects
from ptxmm.finals import Finals
from ptxmm.formula import Formulas, Lit
from ptxmm.graph import event_graph
from ptxmm.model import Check, Model
from ptxmm.plan import Plan, plan_of
from ptxmm.program import Expr, Program
from ptxmm.relation import Rel, Symbolic
from ptxmm.schedule import Schedule

CAUSALITY = ("cause", "causality", "causality-order")
STRONG = ("ms", "morally-strong", "morally_strong")


@dataclass
class Encoding:
    """A test under a model, as literals of `graph.formulas`.

    `asserted` must hold in every execution that counts, `axioms` are (name, literal), `bad` the literal that an
    undefined access is made.
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

    @property
    def formulas(self) -> Formulas:
        return self.graph.formulas

    @property
    def bad(self) -> Lit:
        return self.formulas.disj([literal for literal, _ in self.graph.bad])

    def condition(self, formula: Expr) -> Lit:
        """The literal that a formula over final states holds."""
        return self.finals.truth(formula)


def encode(program: Program, model: Model, bound: int, *, prefix: bool = False) -> Encoding:
    """The executions of a test that a model allows, as formulas.

    With `prefix`, executions may stop at barriers and where loops were cut (races count there too); otherwise all
    threads end. Raises Unsupported where the model lacks something that the test needs.
    """
    ensure_supported(program, model)
    graph = event_graph(program, bound, prefix=prefix)
    ensure_sizes(graph, model)
    ensure_readonly(graph)
    algebra = Symbolic(len(graph.events), graph.formulas)
    base = Base(graph, algebra)
    plan = plan_of(model)
    evaluation = Evaluation(plan, algebra, base)
    dep = algebra.union(algebra.union(base.rel("addr"), base.rel("data")), base.rel("ctrl"))
    axioms = evaluation.axioms()
    encoding = Encoding(program, model, plan, graph, base, Finals(base), evaluation, axioms)
    ensure_no_thin_air(encoding, dep)
    encoding.asserted = [*graph.assumed, Schedule(base.barriers).literal(base.rel("rf"), dep)]
    if not prefix:
        encoding.asserted += [*graph.ends, -graph.cut, *(-again.literal for again in graph.again)]
    return encoding


def ensure_no_thin_air(encoding: Encoding, dep: Rel) -> None:
    """Raise Undecided where values may feed on themselves and no axiom forbids it: tables hold only grounded values."""
    algebra, formulas = encoding.evaluation.algebra, encoding.formulas
    flow = algebra.union(encoding.base.rel("rf"), dep)
    part_of = {i: number for number, part in enumerate(components(flow.row_masks())) for i in part}
    circular = [(i, j, literal) for i, j, literal in flow.pairs() if i in part_of and part_of[i] == part_of.get(j)]
    if not circular:
        return
    guards = encoding.base.guards
    for _, check, negated, slot in encoding.plan.axioms:
        if check is Check.ACYCLIC and not negated:
            order = encoding.evaluation.rel(slot)
            if all(formulas.implies((literal, guards[i], guards[j]), order.lit(i, j)) for i, j, literal in circular):
                return
    name = encoding.model.name
    raise Undecided(f"the model {name} does not forbid values out of thin air, and this test can make them")


@dataclass(frozen=True, slots=True)
class RacePair:
    """Two accesses that conflict, and the literal that nothing orders them."""

    first: int
    second: int
    on: str
    mixed: bool
    literal: Lit


def race_pairs(encoding: Encoding) -> list[RacePair] | None:
    """The possible data races (PTX ISA 8.7.1), or None where the model names no causality or no moral strength.

    Accesses of one thread through one proxy do not race; through different proxies they do, where no proxy fence
    carries causality from one to the other.
    """
    cause, strong = encoding.evaluation.named(*CAUSALITY), encoding.evaluation.named(*STRONG)
    if cause is None or strong is None:
        return None
    formulas, found = encoding.formulas, []
    accesses = [e for e in encoding.graph.events if e.kind in "RW" and e.thread >= 0 and e.guard != -1]
    groups: dict[str, list[Event]] = {}
    for event in accesses:
        groups.setdefault(event.object, []).append(event)
    for events in groups.values():
        for place, one in enumerate(events):
            for other in events[:place]:
                if (one.thread, one.proxy) == (other.thread, other.proxy) or "W" not in (one.kind, other.kind):
                    continue
                if not same_virtual_bytes(one, other):
                    continue
                literal = formulas.conj(
                    (
                        one.guard, other.guard, -strong.lit(one.id, other.id),
                        -cause.lit(one.id, other.id), -cause.lit(other.id, one.id),
                    )
                )  # fmt: skip
                if literal != -1:
                    found.append(RacePair(other.id, one.id, one.object, one.where != other.where, literal))
    return found


def may_mix(encoding: Encoding) -> bool:
    """Whether accesses of different sizes to the same bytes are possible at all."""
    return bool(mixed_objects(encoding.graph))
