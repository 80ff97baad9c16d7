"""What a solver is told, and which of it can matter: predicates that occur with one sign only are decided beforehand.

Take a structure that makes some sentences true, and a predicate that is never affirmed in them: only denied, or asked
for on the left of an implication. With the predicate empty, the structure makes them true as well. In the same way, a
predicate that is never denied may hold of everything. So either is put in, what is true then goes, and what is left has
a structure exactly if all had. This is repeated, since what went may have been all that affirmed another predicate.

Most of a model goes in this way: where nothing says that there are copies, what copies order need not be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import z3

Formula: TypeAlias = Any
Shape: TypeAlias = "int | Junction"
Predicates: TypeAlias = dict[int, z3.FuncDeclRef]

OTHER = 0


@dataclass(frozen=True, slots=True)
class Junction:
    """All of the parts, or one of them; without parts it is true, or false. `literals` occur in it.

    A literal is the number of a predicate, negative where the predicate is denied; `OTHER` is anything else.
    """

    every: bool
    parts: tuple[Shape, ...] = ()
    literals: frozenset[int] = frozenset()


TRUE, FALSE = Junction(True), Junction(False)


@dataclass(frozen=True)
class Claim:
    """A sentence with the name under which a proof mentions it."""

    name: str
    sentence: Formula

    @cached_property
    def outline(self) -> tuple[Shape, Predicates]:
        """Which predicates the sentence joins, whatever they are said of."""
        predicates: Predicates = {}
        return _shape(self.sentence, 1, predicates), predicates


def relevant(claims: Sequence[Claim]) -> list[Claim]:
    """The claims that are left when every predicate with one sign is decided.

    >>> x, (p, q) = z3.Int("x"), (z3.Function(name, z3.IntSort(), z3.BoolSort()) for name in "pq")
    >>> rule = Claim("rule", z3.ForAll([x], z3.Implies(p(x), q(x))))
    >>> relevant([rule, Claim("goal", z3.Not(q(1)))])
    []
    >>> len(relevant([rule, Claim("goal", z3.Not(q(1))), Claim("given", p(2))]))
    3
    """
    shapes = [claim.outline[0] for claim in claims]
    occurs = Counter(literal for shape in shapes for literal in _literals(shape))
    decided: dict[int, bool] = {}
    while pure := {abs(one): one > 0 for one, times in occurs.items() if times and not occurs[-one]}:
        decided |= pure
        for number, shape in enumerate(shapes):
            shapes[number] = left = _with(shape, pure)
            if left is not shape:
                occurs.subtract(_literals(shape))
                occurs.update(_literals(left))
    return [
        claim if shape is claim.outline[0] else replace(claim, sentence=_put_in(claim, decided))
        for claim, shape in zip(claims, shapes, strict=True)
        if shape != TRUE
    ]


def _put_in(claim: Claim, decided: Mapping[int, bool]) -> Formula:
    """The sentence with what is decided put in."""
    _, predicates = claim.outline
    values = [(name, z3.BoolVal(decided[number])) for number, name in predicates.items() if number in decided]
    return z3.substitute_funs(claim.sentence, *values)


# --- shapes -----------------------------------------------------------------------------------------------------------


def _literals(shape: Shape) -> frozenset[int]:
    return shape.literals if isinstance(shape, Junction) else frozenset({shape})


def _with(shape: Shape, decided: Mapping[int, bool]) -> Shape:
    """What a shape becomes; the same object where nothing in it is decided."""
    if not isinstance(shape, Junction):
        return Junction(decided[abs(shape)] == (shape > 0)) if abs(shape) in decided else shape
    if not any(abs(literal) in decided for literal in shape.literals):
        return shape
    return _junction(shape.every, [_with(part, decided) for part in shape.parts])


def _junction(every: bool, parts: Sequence[Shape]) -> Shape:
    """A junction without what says nothing in it."""
    deciding, idle = Junction(not every), Junction(every)
    if deciding in parts:
        return deciding
    left = tuple(part for part in parts if part != idle)
    return left[0] if len(left) == 1 else Junction(every, left, frozenset().union(*map(_literals, left)))


def _shape(formula: Formula, sign: int, predicates: Predicates) -> Shape:
    """The shape of a formula, or of its denial; the predicates in it are noted."""
    if z3.is_quantifier(formula):
        return _shape(formula.body(), sign, predicates)
    kind, parts = formula.decl().kind(), formula.children()
    match kind:
        case z3.Z3_OP_TRUE | z3.Z3_OP_FALSE:
            return Junction((kind == z3.Z3_OP_TRUE) == (sign > 0))
        case z3.Z3_OP_NOT:
            return _shape(parts[0], -sign, predicates)
        case z3.Z3_OP_AND | z3.Z3_OP_OR:
            return _junction((kind == z3.Z3_OP_AND) == (sign > 0), [_shape(one, sign, predicates) for one in parts])
        case z3.Z3_OP_IMPLIES:
            return _junction(sign < 0, [_shape(parts[0], -sign, predicates), _shape(parts[1], sign, predicates)])
    inside = _predicates(formula)
    predicates |= inside
    if inside and not any(map(_predicates, parts)):
        number: int = next(iter(inside))
        return sign * number
    return Junction(True, (OTHER,), frozenset({OTHER, *inside, *(-number for number in inside)}))


def _predicates(formula: Formula) -> Predicates:
    """The predicates in a formula, by number."""
    found: Predicates = {}
    for part in formula.children():
        found |= _predicates(part)
    if z3.is_app_of(formula, z3.Z3_OP_UNINTERPRETED) and z3.is_bool(formula) and formula.num_args():
        found[formula.decl().get_id() + 1] = formula.decl()
    return found
