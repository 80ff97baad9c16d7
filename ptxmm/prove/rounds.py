"""A round of a barrier on one word: who contributes, what the word holds, and what has been counted at each write.

Beside the events and relations of a model there are integers here: the `value` of each write of the word, what an
atomic operation `added`, the `cta` that contributes, and for each write how much has been contributed by then. *By
then* means: this write, and what coherence has between the start of the round and this write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import z3

from ptxmm.prove.arithmetic import CONDITIONS, SIGN, WORD, Condition, Sums
from ptxmm.prove.claims import Formula
from ptxmm.prove.language import EVENT, USED, Term, term
from ptxmm.prove.proving import Question
from ptxmm.prove.sentences import sentence

INT, BOOL = z3.IntSort(), z3.BoolSort()
IN_ROUND = z3.Function("in the round", EVENT, BOOL)
IS_HEAVY = z3.Function("by the heavy CTA", EVENT, BOOL)
CTA = z3.Function("cta", EVENT, INT)
VALUE = z3.Function("value", EVENT, INT)
ADDED = z3.Function("added", EVENT, INT)
ARRIVED = z3.Function("ordinary CTAs by then", EVENT, INT)
CALLS = z3.Function("ordinary contributions by then", EVENT, INT)
ONES = z3.Function("sum of ordinary contributions by then", EVENT, INT)
HEAVY = z3.Function("the heavy CTA by then", EVENT, BOOL)
SECOND = z3.Function("the heavy CTA twice by then", EVENT, BOOL)


def every(says: Callable[..., Formula], events: int = 1) -> Formula:
    """What is said holds of any events, which are new names each time, so that no other name is caught."""
    some = [z3.FreshConst(EVENT, "any") for _ in range(events)]
    return z3.ForAll(some, says(*some))


def there_are(says: Callable[..., Formula], events: int = 1) -> Formula:
    """There are events of which it holds."""
    return z3.Not(every(lambda *some: z3.Not(says(*some)), events))


def at(formula: Formula, write: Term) -> Formula:
    """A formula about the integers of `sign-flip`, said of one write of the word."""
    sums = Sums()
    meanings = [
        (sums.start, VALUE(term("first"))), (sums.weight, SIGN - (sums.n - 1)), (sums.arrived, ARRIVED(write)),
        (sums.calls, CALLS(write)), (sums.ones, ONES(write)), (sums.heavy, HEAVY(write)), (sums.second, SECOND(write)),
    ]  # fmt: skip
    return z3.substitute(formula, *meanings)


@dataclass(frozen=True, slots=True)
class Round:
    """Formulas about the round that starts after the write `first`, for one question."""

    question: Question

    @property
    def first(self) -> Term:
        """The write before the round."""
        return term("first")

    def say(self, text: str, **events: Term) -> Formula:
        """A sentence about events."""
        return self.question.say(sentence(text), USED, **events)

    def after(self, w: Term) -> Formula:
        """`w` writes the word after the start."""
        return self.say("W(w) and loc(w, first) and co(first, w)", w=w)

    def since(self, w: Term) -> Formula:
        """`w` is the start or writes the word after it."""
        return z3.Or(w == self.first, self.after(w))

    def by_then(self, c: Term, w: Term) -> Formula:
        """`c` writes the word after the start and no later than `w`."""
        return z3.And(self.after(c), self.same_or_before(c, w))

    def same_or_before(self, u: Term, v: Term) -> Formula:
        """`u` is `v` or comes earlier in coherence order."""
        return z3.Or(u == v, self.say("co(u, v)", u=u, v=v))

    def reads(self, w: Term, get: Term, v: Term) -> Formula:
        """`w` writes the word after the start, by an atomic operation that reads `v`."""
        own = self.say("rmw(get, w) and rf(v, get) and W(v)", get=get, w=w, v=v)
        return z3.And(self.after(w), own)

    def has_source(self, w: Term) -> Formula:
        """Such an operation exists for `w`."""
        return there_are(lambda get, v: self.reads(w, get, v), 2)

    def polls(self, poll: Term, u: Term) -> Formula:
        """`poll` reads `u`, by the generic proxy."""
        return self.say("R(poll) and GEN(poll) and rf(u, poll) and W(u)", poll=poll, u=u)

    def contributions_come_after(self) -> Formula:
        """The contributions of the round are writes of the word after the start."""
        return every(lambda c: z3.Implies(IN_ROUND(c), self.after(c)))

    def all_in(self, u: Term) -> Formula:
        """Every contribution of the round has been made by then."""
        return every(lambda c: z3.Implies(IN_ROUND(c), self.by_then(c, u)))

    def kept(self, u: Term) -> Formula:
        """By then there is nothing but the round, and the word holds the sum of its contributions."""
        only = every(lambda c: z3.Implies(self.by_then(c, u), IN_ROUND(c)))
        return z3.And(only, VALUE(u) == at(Sums().value, u), ONES(u) == CALLS(u), CALLS(u) == ARRIVED(u))

    def claim(self, u: Term) -> Formula:
        """All have contributed, or the word holds the sum so far."""
        return z3.Or(self.all_in(u), self.kept(u))

    def settled(self, u: Term) -> Formula:
        """All have contributed, or the sign is that of the start."""
        return z3.Or(self.all_in(u), signed(u) == signed(self.first))

    def all_have_the_claim(self) -> Formula:
        """What the induction comes to."""
        return every(lambda x: z3.Implies(self.since(x), self.claim(x)))

    # --- counting ---------------------------------------------------------------------------------------------------

    def counts(self, u: Term) -> list[Formula]:
        """What the counts at a write mean.

        There are `n` CTAs, one of them heavy, and so `n - 1` ordinary ones. Where the CTAs that have contributed are as
        many as there are, each of them has.
        """
        n = Sums().n

        def contributed(d: Term) -> Formula:
            return z3.And(self.by_then(d, u), IN_ROUND(d))

        def heavy(d: Term) -> Formula:
            return z3.And(contributed(d), IS_HEAVY(d))

        def arrived(c: Term) -> Formula:
            return there_are(lambda d: z3.And(contributed(d), CTA(d) == CTA(c)))

        return [
            n >= 1, n <= SIGN, ARRIVED(u) >= 0, ARRIVED(u) <= n - 1,
            HEAVY(u) == there_are(heavy),
            SECOND(u) == there_are(lambda d, e: z3.And(d != e, heavy(d), heavy(e)), 2),
            z3.Implies(at(Sums().all_of_them, u), every(lambda c: z3.Implies(IN_ROUND(c), arrived(c)))),
        ]  # fmt: skip

    def nothing_counted(self) -> list[Formula]:
        """At the start nothing has been contributed, and a word holds 32 bits."""
        start = self.first
        return [ARRIVED(start) == 0, CALLS(start) == 0, ONES(start) == 0, VALUE(start) >= 0, VALUE(start) < WORD]

    def one_more(self, w: Term, v: Term) -> Formula:
        """How the counts go on from `v` to `w`, when `w` is the one write more that is made by then."""
        ordinary = z3.And(IN_ROUND(w), z3.Not(IS_HEAVY(w)))

        def of_another(d: Term) -> Formula:
            before = z3.And(self.by_then(d, v), IN_ROUND(d), z3.Not(IS_HEAVY(d)))
            return z3.Implies(before, CTA(d) != CTA(w))

        new = z3.And(ordinary, every(of_another))
        counted = z3.And(
            ONES(w) == ONES(v) + z3.If(ordinary, ADDED(w), 0),
            CALLS(w) == CALLS(v) + z3.If(ordinary, 1, 0),
            ARRIVED(w) == ARRIVED(v) + z3.If(new, 1, 0),
        )
        return z3.Implies(self.extended(w, v), counted)

    def extended(self, w: Term, v: Term) -> Formula:
        """What is made by `w` is what is made by `v`, and `w`."""
        one_more = every(lambda c: self.by_then(c, w) == z3.Or(self.by_then(c, v), c == w))
        return z3.And(one_more, z3.Not(self.by_then(w, v)))


def signed(write: Term) -> Formula:
    """Whether a write sets the sign of the word."""
    return VALUE(write) >= SIGN


# --- hypotheses about values ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A hypothesis about the values of a round, and what breaks it and nothing else."""

    name: str
    words: str
    says: Callable[[Round], Formula] = field(compare=False)
    broken: Mapping[str, str] = field(compare=False)


def _each(says: Callable[[Term], Formula]) -> Callable[[Round], Formula]:
    return lambda _: every(lambda c: z3.Implies(IN_ROUND(c), says(c)))


def _pair(same: Callable[[Term, Term], Formula]) -> Callable[[Round], Formula]:
    return lambda _: every(lambda c, d: z3.Implies(z3.And(IN_ROUND(c), IN_ROUND(d)), same(c, d)), 2)


SAYS: dict[str, Callable[[Round], Formula]] = {
    "start": lambda r: z3.Or(VALUE(r.first) == 0, VALUE(r.first) == SIGN),
    "one-heavy": _pair(lambda c, d: z3.Implies(z3.And(IS_HEAVY(c), IS_HEAVY(d)), CTA(c) == CTA(d))),
    "weight": _each(lambda c: z3.Implies(IS_HEAVY(c), ADDED(c) == SIGN - (Sums().n - 1))),
    "ones": _each(lambda c: z3.Implies(z3.Not(IS_HEAVY(c)), ADDED(c) == 1)),
    "once": _pair(lambda c, d: z3.Implies(CTA(c) == CTA(d), c == d)),
}


def _of(condition: Condition) -> Value:
    """A hypothesis of `sign-flip`, of the contributions of a round."""
    return Value(name=condition.name, words=condition.words, says=SAYS[condition.name], broken=condition.broken)


VALUES = {condition.name: _of(condition) for condition in CONDITIONS}
