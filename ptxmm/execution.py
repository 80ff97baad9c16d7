"""An execution taken from an assignment, checked again without the solver: values, order and every axiom."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.closure import bits
from ptxmm.encode import Encoding
from ptxmm.errors import PtxmmError
from ptxmm.evaluation import Evaluation
from ptxmm.formula import Formulas, Lit
from ptxmm.mbarrier_replay import mistake
from ptxmm.memory import Range, part
from ptxmm.program import Expr, FinalMem, FinalReg
from ptxmm.relation import Rel, Set, Symbolic
from ptxmm.values import Possible, Table, truth

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
