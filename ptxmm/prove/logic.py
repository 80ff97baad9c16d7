"""The third carrier of a model: first-order logic over any number of events.

There is one uninterpreted sort, `Event`. Every base name of the vocabulary is an uninterpreted predicate, every
definition of the model that needs a quantifier is a predicate of its own with sentences about it.

**Why a proof is right.** Take any execution that the model allows, of any program: it is a structure of this logic, in
which every base name has its meaning and every defined predicate is what the file says, closures and `let rec` being
least fixpoints. Every sentence that is given to the solver is true in that structure:

* a definition `q = body` gives `body -> q`, or `q -> body`, or both: halves of an equality;
* a closure `p = r+` gives `r -> p` and `p;p -> p`: the closure contains `r` and is transitive;
* a recursion `p = body(p)` gives `body(p) -> p`: a fixpoint is closed under its body;
* `acyclic r` gives `irreflexive r+`, which is what it means.

A sentence that is left out never makes a proof wrong, since less is assumed. So when these sentences, the hypotheses
and the negated goal have no model at all, then no execution satisfies the hypotheses and misses the goal. The converse
does not hold: no sentence here says that a closure is the *least* relation that contains `r`, so that what needs
leastness (that something is not in a closure) is not proved. Which half of a definition is written down is decided by
polarity: `q -> body` where something asserted has `q` as a conclusion, `body -> q` where it is to be established.
"""

from __future__ import annotations

from collections.abc import Collection

from ptxmm.model import Check, Expr, Model
from ptxmm.prove.claims import Claim, Formula
from ptxmm.prove.language import Reading, Term, Told, language


class Logic:
    """A model as predicates; `claims` holds the sentences about those that were asked for so far."""

    def __init__(self, model: Model, opaque: Collection[str] = ()) -> None:
        """`opaque` are names of the model about which nothing is said where they are used."""
        self.model = model
        self.claims: list[Claim] = []
        self.used: set[str] = set()
        self._language = language(model, tuple(opaque))
        self._told: set[tuple[Expr, int]] = set()

    def axioms(self, besides: str | None = None) -> list[Claim]:
        """The axioms of the model, each as a sentence; without those that rest on the name `besides`."""
        here = self._language.words
        left_out = here.names.get(besides or "", "")
        return [
            self.axiom(statement.name, statement.check, body, statement.negated)
            for statement, body in here.axioms
            if not left_out or left_out not in here.rests_on(body)
        ]

    def axiom(self, name: str, check: Check, body: Expr, negated: bool = False) -> Claim:
        """What `empty`, `irreflexive` or `acyclic` says of an expression whose names are resolved."""
        (claim,) = self._take(self._language.axiom(name, check, body, negated))
        return claim

    def goal_names(self, expr: Expr) -> Expr:
        """An expression over base names and `MODEL_NAMES`, with the model's meaning of the latter."""
        return self._language.words.goal_names(expr)

    def holds(self, expr: Expr, at: tuple[Term, ...], sign: int) -> Formula:
        """That the event or the pair `at` is in an expression; `sign` says whether this is used or established."""
        reading = Reading(self._language)
        formula = reading.holds(expr, at, sign)
        self._take(reading.told([]))
        return formula

    def _take(self, told: Told) -> tuple[Claim, ...]:
        """Tell what sentences need to be told with them."""
        self.used |= told.used
        for need in told.needs:
            if need not in self._told:
                self._told.add(need)
                self.claims += self._take(self._language.definition(*need))
        return told.claims
