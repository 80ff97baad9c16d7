"""Proof by refutation: theory, hypotheses and the negated goal have no model.

A theorem is proved by one or more *steps*, each a question to Z3. An induction has four: the claim holds of the first
write of the chain (`base`); any other one is by an atomic operation, and what that reads is in the chain and earlier
(`before`); the claim is handed on from there (`step`); and the last event is in the chain (`chain`). Executions are
finite and coherence is a strict order, so that the first three give the claim for the whole chain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product

import z3

from ptxmm.model import Model
from ptxmm.prove.claims import Claim, Formula, relevant
from ptxmm.prove.language import ESTABLISHED, USED, Term, term
from ptxmm.prove.logic import Logic
from ptxmm.prove.names import MODEL_NAMES
from ptxmm.prove.sentences import Conjunction, Sentence, expression, renamed_events, sentence
from ptxmm.prove.statement import Hypothesis, Induction, Lemma, Theorem
from ptxmm.prove.theory import sources, theory
from ptxmm.solve import Truth

FACT = ""
BASIC = frozenset({"po", "loc", "vloc", "full", "rmw"})


@dataclass(frozen=True, slots=True)
class Step:
    """A question and its answer: UNSAT is proved. `used` are the hypotheses and axioms that Z3 needed."""

    name: str
    truth: Truth
    used: frozenset[str] = frozenset()
    why: str = ""


def _cases(one: Sentence) -> tuple[Sentence, ...]:
    """The alternatives of a sentence without premises, each for itself: one of them is true."""
    return (one,) if one.premises else tuple(Sentence((), (part,)) for part in one.alternatives)


class Proof:
    """The questions that prove a theorem from some of its hypotheses."""

    def __init__(
        self, theorem: Theorem, model: Model, dropped: Hypothesis | None = None, *, timeout: float = 60.0, work: int = 0
    ) -> None:
        """`timeout` in seconds and `work` in steps of Z3 limit each question; 0 is no limit."""
        self.theorem, self.model, self.timeout, self.work = theorem, model, timeout, work
        self.assumed = frozenset(theorem.assumed(model)) - {dropped}
        self.dropped = dropped
        self.named = {name: term(name) for name in theorem.events()}
        self.known: dict[str, Sentence] = {}

    def steps(self) -> Iterator[Step]:
        """Ask one question after another, until one fails; not again what does not use the dropped hypothesis."""
        for part in self.theorem.steps:
            if self.dropped is None or self.dropped in part.uses:
                for question in self._questions(part):
                    step = question.ask(self.timeout, self.work)
                    yield step
                    if step.truth is not Truth.UNSAT:
                        return
            self._learn(part)
        if self.dropped is None:
            yield self.goal().ask(self.timeout, self.work)

    def questions(self) -> Iterator[Question]:
        """All questions of the proof, unasked."""
        for part in self.theorem.steps:
            yield from self._questions(part)
            self._learn(part)
        yield self.goal()

    def _questions(self, part: Lemma | Induction) -> Iterator[Question]:
        match part:
            case Lemma():
                yield self.lemma(part)
            case Induction():
                yield from self.induction(part)

    def _learn(self, part: Lemma | Induction) -> None:
        match part:
            case Lemma():
                self.known[part.name] = sentence(part.says)
            case Induction():
                self.known[part.name] = renamed_events(sentence(part.claim), {"w": part.last})

    def goal(self) -> Question:
        """That the goal holds."""
        goals = tuple(map(sentence, self.theorem.goal))
        found = Question("goal", self, after=(self.theorem.steps[-1].name,), goals=goals)
        found.refute(z3.And([found.say(one, ESTABLISHED) for one in goals]))
        return found

    def lemma(self, lemma: Lemma) -> Question:
        """That a lemma holds; one that follows from definitions is asked for each case of its hypotheses."""
        goal = sentence(lemma.says)
        found = Question(
            lemma.name, self, lemma.by, lemma.after, goals=(goal,), general=lemma.general, defines=lemma.defines
        )
        found.refute(found.say(goal, ESTABLISHED))
        for event in lemma.reads:
            found.name_sources(self.named[event])
        return found

    def induction(self, part: Induction) -> Iterator[Question]:
        """That a claim holds of the first of a chain and is handed on, and that the chain has the event `last`.

        `before`: what an operation of the chain reads is in the chain, and earlier. `step`: the claim is handed on.
        """
        claim, members, earlier = sentence(part.claim), sentence(part.chain), sentence(part.earlier)
        first, last, w = self.named[part.first], self.named[part.last], term("w!")
        base = Question("base", self, defines=True)
        base.refute(base.say(claim, ESTABLISHED, w=first))
        yield base
        before = Question("before", self, part.by, besides="cause")
        v = before.name_sources(w)
        before.add(before.say(members, USED, w=w), w != first)
        smaller = before.say(earlier, ESTABLISHED, v=v, w=w)
        before.refute(z3.And(before.say(members, ESTABLISHED, w=v), smaller))
        yield before
        step = Question("step", self, part.by, part.after, defines=True)
        step.name_sources(step.name_sources(w))
        step.add(step.say(members, USED, w=w), w != first, step.say(claim, USED, w=v))
        step.add(step.say(members, USED, w=v), step.say(earlier, USED, v=v, w=w))
        step.refute(step.say(claim, ESTABLISHED, w=w))
        yield step
        inside = Question("chain", self, part.ends, defines=True)
        inside.refute(inside.say(members, ESTABLISHED, w=last))
        yield inside


class Question:
    """One question to Z3: the theory, what is assumed and known, and what is to be refuted.

    A general question assumes nothing about the named events, and looks into what the model says of `obs` where that is
    assumed. All others take it as a word.
    """

    def __init__(
        self, name: str, proof: Proof, by: Collection[Hypothesis] = (), after: Collection[str] = (), *,
        goals: Collection[Sentence] = (), general: bool = False, defines: bool = False, besides: str | None = None,
    ) -> None:  # fmt: skip
        self.name, self.named = name, {} if general else proof.named
        self.logic = Logic(proof.model, () if general else MODEL_NAMES)
        self.logic.used |= BASIC
        self.facts: list[Formula] = []
        self.split: list[list[Claim]] = []
        self.claims = [] if defines else self.logic.axioms(besides)
        known = [proof.known[part] for part in after]
        if not general:
            about = {event for one in (*known, *(h.sentence for h in by), *goals) for event in one.events}
            given = [one for one in map(sentence, proof.theorem.given) if not about.isdisjoint(one.events)]
            self.claims += [Claim("given", self.say(one, USED)) for one in given]
            for one in (h for h in by if h in proof.assumed):
                cases = _cases(one.sentence) if defines else (one.sentence,)
                self.split.append([Claim(one.name, self.say(case, USED)) for case in cases])
        self.claims += [Claim("lemma", self.say(one, USED)) for one in known]

    def add(self, *facts: Formula) -> None:
        """Assume more."""
        self.facts += facts

    def name_sources(self, write: Term) -> Term:
        """Name the read of an atomic operation that makes a write, and the write that it reads, which is returned."""
        source, claims = sources(self.logic, write)
        self.claims += claims
        return source

    def refute(self, formula: Formula) -> None:
        """Assume that a formula does not hold."""
        self.facts.append(z3.Not(formula))

    def say(self, one: Sentence, sign: int, **more: Term) -> Formula:
        """A sentence as a formula; `sign` says whether it is assumed (USED) or asked for."""
        where = {**self.named, **more}
        rest = {name: term(name) for name in one.about(where)}
        where |= rest
        alternatives = z3.Or([self._all(part, where, sign) for part in one.alternatives])
        whole = z3.Implies(self._all(one.premises, where, -sign), alternatives) if one.premises else alternatives
        return z3.ForAll(list(rest.values()), whole) if rest else whole

    def _all(self, atoms: Conjunction, where: Mapping[str, Term], sign: int) -> Formula:
        return z3.And([self._atom(atom.expr, tuple(where[n] for n in atom.events), sign) for atom in atoms])

    def _atom(self, text: str, at: tuple[Term, ...], sign: int) -> Formula:
        return self.logic.holds(self.logic.goal_names(expression(text)), at, sign)

    def sentences(self) -> list[Formula]:
        """All that the solver is given."""
        claims = [*self.claims, *theory(self.logic), *self.logic.claims, *chain(*self.split)]
        return [*self.facts, *(claim.sentence for claim in claims)]

    def ask(self, timeout: float, work: int) -> Step:
        """The answer; UNSAT, in every case, is a proof."""
        claims = [*self.claims, *theory(self.logic), *self.logic.claims]
        used = set[str]()
        for case in product(*self.split):
            solver, names = z3.Solver(), dict[str, str]()
            solver.set("rlimit", work)
            solver.set("timeout", max(1, int(timeout * 1000)))
            solver.set("random_seed", 0)
            _tell(solver, names, relevant([*(Claim(FACT, fact) for fact in self.facts), *claims, *case]))
            answer = Truth(str(solver.check()))
            if answer is not Truth.UNSAT:
                return Step(self.name, answer, why=solver.reason_unknown() if answer is Truth.UNKNOWN else "")
            used |= {names[str(tag)] for tag in solver.unsat_core()}
        return Step(self.name, Truth.UNSAT, frozenset(used))


def _tell(solver: z3.Solver, names: dict[str, str], claims: Iterable[Claim]) -> None:
    """Give claims to a solver, under tags that `names` explains; facts have none."""
    for claim in claims:
        if claim.name == FACT:
            solver.add(claim.sentence)
            continue
        tag = f"claim{len(names)}"
        names[tag] = claim.name
        solver.assert_and_track(claim.sentence, tag)
