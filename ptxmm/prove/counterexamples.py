"""Finite counterexamples: executions of small tests that the ordinary engine finds.

For a hypothesis that was dropped, the engine must say that the test which breaks it is allowed. The execution that it
shows is then read as a structure of the theorem: the named events are looked for among its events, so that the goal is
seen to be missed there, while all *other* hypotheses and all that `theory` says are true. With nothing dropped, the
test must be forbidden, and an execution in which all hypotheses are true must exist, so that the theorem is not empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from ptxmm import execution
from ptxmm.check import check
from ptxmm.closure import bits
from ptxmm.deadline import Deadline
from ptxmm.encode import encode
from ptxmm.execution import Concrete
from ptxmm.model import Axiom, Let, Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.prove.names import MODEL_NAMES, names_in
from ptxmm.prove.sentences import Atom, Sentence, axiom, expression, sentence, true
from ptxmm.prove.statement import Hypothesis, Theorem
from ptxmm.prove.theory import EXISTENCE, facts_of
from ptxmm.relation import Rel, Set
from ptxmm.script import smt_lib
from ptxmm.solve import Truth, session
from ptxmm.syntax.lit import read

# What can be looked at once an event is chosen: sentences, each with the events that it speaks of in general.
Ready: TypeAlias = dict[str, list[tuple[Sentence, tuple[str, ...]]]]

MOST = 200


@dataclass(frozen=True, slots=True)
class Example:
    """A test, its verdict, and which of its events are the named ones, in words; `events` is None where none fit."""

    test: str
    verdict: str
    events: Mapping[str, str] | None


def counterexample(theorem: Theorem, model: Model, dropped: Hypothesis) -> Example:
    """The test that breaks a hypothesis, decided; its execution fits when it breaks the goal and nothing else."""
    text = theorem.test(f"{theorem.name}-without-{dropped.name}", dropped.broken)
    kept = [h.sentence for h in theorem.assumed(model) if h is not dropped]
    return _example(theorem, model, text, kept, lambda goals: not all(goals))


def instance(theorem: Theorem, model: Model, form: str | None = None) -> tuple[Example, Example]:
    """The test in which all hypotheses hold: that it misses the goal, and that it reaches the point at all."""
    changes = theorem.forms[form] if form else {}
    name = f"{theorem.name}-holds"
    all_of_them = [h.sentence for h in theorem.assumed(model)]
    missed = _example(theorem, model, theorem.test(name, changes), all_of_them, lambda goals: not all(goals))
    happens = theorem.test(name, changes, misses=False)
    return missed, _example(theorem, model, happens, all_of_them, all)


def _example(
    theorem: Theorem, model: Model, text: str, hypotheses: Iterable[Sentence], goal: Callable[[list[bool]], bool]
) -> Example:
    (program,) = read(text, f"{theorem.name}.lit")
    options = Options()
    verdict = check(program, model, options).verdict
    if verdict != "allowed":
        return Example(text, verdict, None)
    assumed = [*map(sentence, theorem.given), *hypotheses]
    goals = [sentence(one) for one in theorem.goal]
    for structure in islice(structures(program, model, [*assumed, *goals], options), MOST):
        found = _best(structure, theorem, assumed, goals, goal)
        if found is not None:
            return Example(text, verdict, {name: structure.words(event) for name, event in found.items()})
    return Example(text, verdict, None)


def _best(
    structure: Structure, theorem: Theorem, assumed: list[Sentence], goals: list[Sentence],
    wanted: Callable[[list[bool]], bool],
) -> dict[str, int] | None:  # fmt: skip
    """The named events in an execution, chosen such that as much as possible of the goal is missed."""
    best: tuple[int, dict[str, int]] | None = None
    for found in structure.assignments(theorem.events(), assumed):
        reached = [structure.true(part, found) for part in goals]
        if wanted(reached) and (best is None or sum(reached) < best[0]):
            best = (sum(reached), found)
    return best[1] if best else None


# --- an execution as a structure --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Structure:
    """One execution, with the meaning of every expression that the theorem uses."""

    one: Concrete
    events: tuple[int, ...]
    meanings: Mapping[str, frozenset[tuple[int, ...]]]

    def words(self, number: int) -> str:
        """An event for people: its thread and its instruction."""
        encoding = self.one.encoding
        event = encoding.graph.events[number]
        if event.statement is None:
            return f"initial value of {event.object}"
        return f"{encoding.program.threads[event.thread].name}: {event.statement.text}"

    def holds(self, atom: Atom, where: Mapping[str, int]) -> bool:
        """Whether an atom is true of events."""
        return tuple([where[name] for name in atom.events]) in self.meanings[atom.expr]

    def true(self, one: Sentence, named: Mapping[str, int]) -> bool:
        """Whether a sentence is true."""
        return true(one, named, self.events, self.holds, one.about(named))

    def assignments(self, names: tuple[str, ...], sentences: Iterable[Sentence]) -> Iterator[dict[str, int]]:
        """Every choice of the named events that makes the sentences true."""
        ready: Ready = {name: [] for name in names}
        for one, others in sorted(((one, one.about(names)) for one in sentences), key=lambda pair: len(pair[1])):
            last = max((n for n in one.events if n in ready), key=names.index)
            ready[last].append((one, others))
        return self._choose(names, ready, {})

    def _choose(self, names: tuple[str, ...], ready: Ready, chosen: dict[str, int]) -> Iterator[dict[str, int]]:
        if len(chosen) == len(names):
            yield chosen
            return
        name = names[len(chosen)]
        for event in self.events:
            here = {**chosen, name: event}
            if all(true(one, here, self.events, self.holds, others) for one, others in ready[name]):
                yield from self._choose(names, ready, here)


def structures(program: Program, model: Model, sentences: Iterable[Sentence], options: Options) -> Iterator[Structure]:
    """Executions of a test that reach its condition, each read as a structure."""
    texts = sorted({atom.expr for one in sentences for part in (one.premises, *one.alternatives) for atom in part})
    encoding = encode(program, with_names(model, texts), options.bound, deadline=Deadline.after(options.timeout))
    assert program.condition is not None
    goal = encoding.condition(program.condition.formula)
    formulas, here = encoding.formulas, session()
    prefix = here.prefix()
    axioms = [literal for _, literal in encoding.axioms]
    text = smt_lib(formulas, [*encoding.asserted, -encoding.bad, goal, *axioms], (), f"{prefix}v")
    with here.load(text, prefix) as loaded:
        while loaded.check((), formulas.deadline) is Truth.SAT:
            found = loaded.assignment(formulas.variables)
            one = execution.concrete(encoding, found, program.condition.formula)
            meanings = {name: _meaning(one, _name(number)) for number, name in enumerate(texts)}
            yield Structure(one, tuple(bits(one.running)), meanings)
            known = {f"{prefix}v{n}": value for n, value in found.items() if f"{prefix}v{n} " in text}
            same = " ".join(name if value else f"(not {name})" for name, value in known.items())
            loaded.add(f"(assert (not (and true {same})))")


def with_names(model: Model, texts: Iterable[str]) -> Model:
    """The model with names for some expressions, which mean the base names that they use and the model's own.

    What `theory` says of the vocabulary is added as axioms: an execution makes all sentences true that a proof may use.
    """
    before, after = list[Let](), list[Let]()
    for number, text in enumerate(texts):
        body = expression(text)
        (after if names_in(body) & set(MODEL_NAMES) else before).append(Let(_name(number), body))
    facts = (Axiom(fact.cat, *axiom(fact.cat)) for fact in (*facts_of(model), *EXISTENCE))
    return replace(model, statements=(*before, *facts, *model.statements, *after))


def _name(number: int) -> str:
    return f"{number} of the theorem"


def _meaning(one: Concrete, name: str) -> frozenset[tuple[int, ...]]:
    value = one.evaluation.get(one.evaluation.plan.names[name])
    match value:
        case Set():
            return frozenset((event,) for event in bits(value.mask))
        case Rel():
            return frozenset((i, j) for i, j, _ in value.pairs())
