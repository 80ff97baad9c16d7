"""Who sees the sign flip has seen every contribution of the round: what joins `nothing-between` and `sign-flip`.

Each link is proved from the hypotheses and the earlier links that it names. An earlier link is used as the very formula
that was proved: said of all events, or of the ones that are given for it. `nothing-between` and `sign-flip` are used in
the same way, as what those two theorems prove.

Induction along coherence order: a write since the start has the claim (`Round.claim`) if all earlier ones have it.
Executions have finitely many writes and coherence is strict, so that all have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from string import Template

import z3

from ptxmm.model import Model
from ptxmm.prove.arithmetic import SIGN_FLIP
from ptxmm.prove.chains import ATOMIC as LATER_ATOMIC
from ptxmm.prove.chains import POLLED_LATER, WORD_ADDRESS, WORD_GENERIC, WORD_SCOPE
from ptxmm.prove.claims import Formula
from ptxmm.prove.language import USED, Term, term
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
from ptxmm.prove.messages import STRONG
from ptxmm.prove.predecessor import PREDECESSOR
from ptxmm.prove.proving import Proof, Question, Step
from ptxmm.prove.rounds import IN_ROUND, VALUES, Round, Value, at, every, signed
from ptxmm.prove.sentences import sentence
from ptxmm.prove.statement import Hypothesis, Slots, Theorem
from ptxmm.solve import Truth

Terms = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A formula about some events, proved from hypotheses and from earlier links.

    `uses` names these links, each with the events that it is used for, or none: then it is used of all events.
    `counted` are writes at which the counts are defined, `sources` writes of which it is used that they read, if by
    an atomic operation. The model's axioms, but none about causality, are used where `axioms` says so.
    """

    name: str
    events: tuple[str, ...]
    premises: Callable[..., list[Formula]]
    conclusion: Callable[..., Formula]
    by: tuple[Hypothesis | Value, ...] = ()
    uses: tuple[tuple[str, tuple[str, ...]], ...] = ()
    counted: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    axioms: bool = False
    facts: Callable[[Round], list[Formula]] = field(default=lambda _: [])

    def formula(self, here: Round, events: Terms) -> Formula:
        """That the premises imply the conclusion, for these events."""
        return z3.Implies(z3.And(self.premises(here, *events)), self.conclusion(here, *events))

    def about_all(self, here: Round) -> Formula:
        """The same for all events."""
        events = len(self.events)
        return every(lambda *some: self.formula(here, some), events) if events else self.formula(here, ())


def _either(here: Round, w: Term, x: Term) -> Formula:
    return z3.Or(here.same_or_before(w, x), here.same_or_before(x, w))


def _reads(here: Round, w: Term, get: Term, v: Term) -> list[Formula]:
    return [here.reads(w, get, v)]


def _all_earlier(here: Round, w: Term) -> Formula:
    return every(lambda x: z3.Implies(z3.And(here.since(x), here.say("co(x, w)", x=x, w=w)), here.claim(x)))


def _of_contributions(proved: Hypothesis) -> Link:
    """A hypothesis of barriers that every contribution of a round has."""
    return Link(
        proved.name,
        ("contribution",),
        lambda here, contribution: [IN_ROUND(contribution)],
        lambda here, contribution: here.question.say(proved.sentence, USED, contribution=contribution),
        by=WORD_OF_ATOMICS,
    )


STEP = ("w", "get", "v")
PASS = ("own", "owns", "s", "u")

LINKS: tuple[Link, ...] = (
    Link(
        "order", ("w", "x"),
        lambda here, w, x: [here.after(w), here.after(x)],
        _either,
        by=WORD_OF_ATOMICS, axioms=True,
    ),
    Link(
        "source", ("w",),
        lambda here, w: [here.after(w)],
        lambda here, w: here.has_source(w),
        by=(ATOMIC,), sources=("w",),
    ),
    Link(
        "before", STEP, _reads,
        lambda here, w, get, v: z3.And(here.say("co(v, w)", v=v, w=w), here.since(v)),
        by=WORD_OF_ATOMICS, uses=(("nothing-between", ()),), axioms=True,
    ),
    Link(
        "one-more", STEP, _reads,
        lambda here, w, get, v: here.extended(w, v),
        by=WORD_OF_ATOMICS, uses=(("nothing-between", ()), ("order", ()), ("before", STEP)),
    ),
    Link(
        "base", (),
        lambda here: [],
        lambda here: here.claim(here.first),
        counted=("first",),
        facts=lambda here: here.nothing_counted(),
    ),
    Link(
        "sum", STEP,
        lambda here, w, get, v: [here.reads(w, get, v), here.kept(v), IN_ROUND(w)],
        lambda here, w, get, v: here.kept(w),
        by=(VALUES["weight"], VALUES["ones"], VALUES["one-heavy"], VALUES["once"], ADDS),
        uses=(("one-more", STEP),), counted=("v", "w"),
        facts=lambda here: [here.one_more(term("w"), term("v"))],
    ),
    Link(
        "all-stay", STEP,
        lambda here, w, get, v: [here.reads(w, get, v), here.all_in(v)],
        lambda here, w, get, v: here.all_in(w),
        uses=(("one-more", STEP),),
    ),
    Link(
        "sign", ("u",),
        lambda here, u: [here.claim(u)],
        lambda here, u: here.settled(u),
        by=(VALUES["start"], VALUES["one-heavy"], VALUES["once"]),
        uses=(("sign-flip", ("u",)),), counted=("u",),
    ),
    Link(
        "seen", ("own", "poll", "u"),
        lambda here, own, poll, u: [
            here.after(own), here.polls(poll, u), here.say("po(own, poll) and vloc(own, poll)", own=own, poll=poll),
        ],
        lambda here, own, poll, u: z3.And(here.after(u), here.same_or_before(own, u)),
        by=WORD_OF_ATOMICS, axioms=True,
    ),
    Link(
        "read-before", ("poll", "u", "get", "w", "v"),
        lambda here, poll, u, get, w, v: [
            here.reads(w, get, v), here.polls(poll, u), here.after(u),
            here.say("(RLX | ACQ)(poll) and sr(u, poll) and po(poll, get) and vloc(poll, w)",
                     u=u, poll=poll, get=get, w=w),
        ],
        lambda here, poll, u, get, w, v: here.same_or_before(u, v),
        by=WORD_OF_ATOMICS, uses=(("order", ("u", "v")), ("before", STEP)), axioms=True,
    ),
    Link(
        "pass", PASS,
        lambda here, own, owns, s, u: [
            here.reads(own, owns, s), IN_ROUND(own), here.claim(s), here.claim(u), signed(u) != signed(s),
        ],
        lambda here, own, owns, s, u: here.all_in(u),
        uses=(("one-more", ("own", "owns", "s")), ("sign", ("s",)), ("sign", ("u",))),
    ),
    Link(
        "step", STEP,
        lambda here, w, get, v: [here.reads(w, get, v), _all_earlier(here, w)],
        lambda here, w, get, v: here.claim(w),
        by=(PASSED,),
        uses=(
            ("before", STEP), ("sum", STEP), ("all-stay", STEP), ("before", PASS[:3]), ("pass", PASS),
            ("seen", ("own", "poll", "u")), ("read-before", ("poll", "u", "get", "w", "v")),
        ),
    ),
    Link(
        "goal", (*PASS, "poll", "contribution"),
        lambda here, own, owns, s, u, poll, contribution: [
            IN_ROUND(contribution), here.reads(own, owns, s), here.polls(poll, u),
            here.say("vloc(own, poll)", own=own, poll=poll),
        ],
        lambda here, own, owns, s, u, poll, contribution: here.question.say(
            POLLED_LATER.sentence, USED, contribution=contribution, last=u
        ),
        by=(OWN, FLIPPED),
        uses=(("before", PASS[:3]), ("pass", PASS), ("seen", ("own", "poll", "u"))),
        facts=lambda here: [here.all_have_the_claim()],
    ),
    *map(_of_contributions, (LATER_ATOMIC, WORD_SCOPE, WORD_GENERIC, WORD_ADDRESS, STRONG)),
)  # fmt: skip


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
