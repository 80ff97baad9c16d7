"""Who sees the sign flip has seen every contribution of the round: what joins `nothing-between` and `sign-flip`.

Its links are proved one after another (`prove.links`). `nothing-between` and `sign-flip` are used as links are, as what
those two theorems prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from string import Template

import z3

from ptxmm.model import Model
from ptxmm.prove.arithmetic import SIGN_FLIP
from ptxmm.prove.chains import ATOMIC as LATER_ATOMIC
from ptxmm.prove.chains import POLLED_LATER, WORD_ADDRESS, WORD_GENERIC, WORD_SCOPE
from ptxmm.prove.claims import Formula
from ptxmm.prove.language import USED, term
from ptxmm.prove.leaders import (
    ADDRESS,
    ADDS,
    ATOMIC,
    FLIPPED,
    OWN,
    PASSED,
    PROXY,
    SCOPE,
    SLOTS,
    TEXT,
    WORD_OF_ATOMICS,
)
from ptxmm.prove.links import LINKS, Link, Terms
from ptxmm.prove.messages import STRONG
from ptxmm.prove.predecessor import PREDECESSOR
from ptxmm.prove.proving import Proof, Question, Step
from ptxmm.prove.rounds import VALUES, Round, Value, at
from ptxmm.prove.sentences import sentence
from ptxmm.prove.statement import Hypothesis, Slots, Theorem
from ptxmm.solve import Truth


@dataclass(frozen=True, slots=True)
class FlipSeen:
    """The statement: a leader that sees the sign flip has seen all contributions of the round."""

    name: str = "flip-seen"
    words: str = (
        "In a word of atomic additions, one of 2^31 - (n - 1) and n - 1 of 1 a round, a leader that sees another sign"
        " than its own contribution was added to reads a write which no contribution of the round comes after."
    )
    hypotheses: tuple[Hypothesis | Value, ...] = (
        *VALUES.values(), ATOMIC, ADDS, SCOPE, ADDRESS, PROXY, PASSED, OWN, FLIPPED,
    )  # fmt: skip
    goals: tuple[Hypothesis, ...] = (POLLED_LATER, LATER_ATOMIC, WORD_SCOPE, WORD_GENERIC, WORD_ADDRESS, STRONG)

    def assumed(self, model: Model) -> tuple[Hypothesis | Value, ...]:
        """The hypotheses that are needed under a model."""
        return tuple(h for h in self.hypotheses if isinstance(h, Value) or h in _THEOREM.assumed(model))

    def steps(
        self, model: Model, timeout: float, work: int, dropped: Hypothesis | Value | None = None
    ) -> Iterator[Step]:
        """The two theorems that are used, then one link after another, until one fails."""
        if dropped is None:
            yield _renamed(PREDECESSOR.name, Proof(PREDECESSOR, model, timeout=timeout, work=work).steps())
            yield _renamed(SIGN_FLIP.name, SIGN_FLIP.steps(timeout))
        for link in self.links(model):
            if dropped is None or dropped in link.by:
                step = self.question(link, model, dropped).ask(timeout, work)
                yield step
                if step.truth is not Truth.UNSAT:
                    return

    def links(self, model: Model) -> tuple[Link, ...]:
        """The links of a proof under a model: what all programs have that it supports is not proved."""
        idle = {h.name for h in self.goals if h.features and not h.features & model.supports}
        return tuple(link for link in LINKS if link.name not in idle)

    def question(self, link: Link, model: Model, dropped: Hypothesis | Value | None = None) -> Question:
        """Whether a link holds."""
        kept = tuple(h for h in link.by if h is not dropped)
        relational = tuple(h for h in kept if isinstance(h, Hypothesis))
        question = Question(link.name, Proof(_THEOREM, model), relational, defines=not link.axioms, besides="cause")
        here, events = Round(question), tuple(map(term, link.events))
        for name in link.sources:
            question.name_sources(term(name))
        question.add(here.contributions_come_after(), *link.premises(here, *events), *link.facts(here))
        question.add(*(h.says(here) for h in kept if isinstance(h, Value)))
        question.add(*(fact for name in link.counted for fact in here.counts(term(name))))
        question.add(*(_used(here, model, name, tuple(map(term, of))) for name, of in link.uses))
        question.refute(link.conclusion(here, *events))
        return question

    def test(self, name: str, changes: Slots, *, misses: bool = True) -> str:
        """The litmus test with some slots changed: that a leader passes too early, or only that it passes."""
        slots = {**SLOTS, **changes}
        condition = f"{slots['happens']} && {slots['missed']}" if misses else slots["happens"]
        filled = Template(TEXT).substitute({**slots, "name": name, "condition": condition})
        return "\n".join(line for line in filled.splitlines() if line.strip()) + "\n"


_THEOREM = Theorem(
    name="round",
    words="",
    given=("W(first)", "IW(first) or (RLX | REL)(first)"),
    hypotheses=WORD_OF_ATOMICS,
    goal=(),
    steps=(),
    text="",
    slots={},
)
_BY_NAME = {link.name: link for link in LINKS}


def _renamed(name: str, steps: Iterable[Step]) -> Step:
    """All steps of a theorem as one: the last, which is the first that fails."""
    done = list(steps)
    return replace(next((step for step in done if step.truth is not Truth.UNSAT), done[-1]), name=name)


def _used(here: Round, model: Model, name: str, events: Terms) -> Formula:
    """What an earlier link or theorem says: of these events, or of all."""
    if name == SIGN_FLIP.name:
        return at(SIGN_FLIP.law(), events[0])
    if name == PREDECESSOR.name:
        return _as_formula(PREDECESSOR, here, model)
    return _BY_NAME[name].formula(here, events) if events else _BY_NAME[name].about_all(here)


def _as_formula(theorem: Theorem, here: Round, model: Model) -> Formula:
    """A theorem about any events: what is given and the hypotheses imply the goal."""
    events = {name: term(f"{theorem.name} {name}") for name in theorem.events()}
    premises = [*map(sentence, theorem.given), *(h.sentence for h in theorem.assumed(model))]
    said = [here.question.say(one, USED, **events) for one in premises]
    goal = [here.question.say(sentence(one), USED, **events) for one in theorem.goal]
    return z3.ForAll(list(events.values()), z3.Implies(z3.And(said), z3.And(goal)))


FLIP_SEEN = FlipSeen()
