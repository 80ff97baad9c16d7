"""That no value occurs in a proof: whatever the poll waits for, the theorem is the same.

This is looked for in the very sentences that the solver is given. Each symbol in them must be a named event, or a
predicate of events. A predicate over values, the value of an event or a number would be of another sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import z3

from ptxmm.model import Model
from ptxmm.prove.claims import Formula
from ptxmm.prove.language import EVENT
from ptxmm.prove.messages import VISIBLE
from ptxmm.prove.proving import Proof, Step
from ptxmm.prove.statement import Slots, Theorem
from ptxmm.solve import Truth

ADD = "red.release.gpu.global.add.u32 [m], {};"
TRIED: dict[str, Slots] = {
    "equality": {"publish": ADD.format(1), "happens": "B.v == 1"},
    "at least": {"publish": ADD.format(5), "happens": "B.v >= 3"},
    "sign flip": {"publish": ADD.format("0x80000000"), "happens": "((B.v ^ 0) & 0x80000000) != 0"},
    "parity": {"publish": ADD.format(3), "happens": "B.v % 2 == 1"},
}


def values_in(formulas: list[Formula]) -> frozenset[str]:
    """The symbols in formulas that are neither events nor predicates of events.

    >>> values_in([z3.Int("v") == 2]) == {"2", "v"}
    True
    """
    found, seen, todo = set[str](), set[int](), list(formulas)
    while todo:
        formula = todo.pop()
        if formula.get_id() in seen:
            continue
        seen.add(formula.get_id())
        if formula.sort() not in (EVENT, z3.BoolSort()):
            found.add(str(formula))
        todo += [formula.body()] if z3.is_quantifier(formula) else formula.children()
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class AnyPredicate:
    """The statement that some theorems hold whatever predicate of its value ends the wait."""

    about: tuple[Theorem, ...]
    name: str = "any-predicate"
    words: str = (
        "No value of memory or of a register occurs in these theorems and their proofs, so that they hold for every"
        " predicate that a wait may test, monotone or not."
    )

    def steps(self, model: Model) -> Iterator[Step]:
        """One for each theorem: whether its sentences are free of values."""
        for theorem in self.about:
            if theorem.stated_of(model):
                questions = Proof(theorem, model).questions()
                values = values_in([one for question in questions for one in question.sentences()])
                yield Step(theorem.name, Truth.SAT if values else Truth.UNSAT, why=", ".join(sorted(values)))

    def test(self, predicate: str) -> str:
        """The test of `visible-after-close` with one predicate."""
        return VISIBLE.test(f"{self.name}-{predicate.replace(' ', '-')}", TRIED[predicate])
