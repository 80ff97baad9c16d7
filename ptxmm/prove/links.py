"""The links of the proof that who sees the sign flip has seen every contribution of the round.

Each link is proved from the hypotheses and the earlier links that it names. An earlier link is used as the very formula
that was proved: said of all events, or of the ones that are given for it.

Induction along coherence order: a write since the start has the claim (`Round.claim`) if all earlier ones have it.
Executions have finitely many writes and coherence is strict, so that all have it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import z3

from ptxmm.prove.chains import ATOMIC as LATER_ATOMIC
from ptxmm.prove.chains import POLLED_LATER, WORD_ADDRESS, WORD_GENERIC, WORD_SCOPE
from ptxmm.prove.claims import Formula
from ptxmm.prove.language import USED, Term, term
from ptxmm.prove.leaders import ADDS, ATOMIC, FLIPPED, OWN, PASSED, WORD_OF_ATOMICS
from ptxmm.prove.messages import STRONG
from ptxmm.prove.rounds import IN_ROUND, VALUES, Round, Value, every, signed
from ptxmm.prove.statement import Hypothesis

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
