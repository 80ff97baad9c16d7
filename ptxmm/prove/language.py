"""The words of a model as predicates of events: its expressions read as formulas, its definitions as sentences.

What is read is kept for as long as the model's language is, since each question of a proof is made from the same parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias, assert_never

import z3

from ptxmm import model as cat
from ptxmm.errors import Unsupported
from ptxmm.model import Check, Expr, Model, Name
from ptxmm.prove.claims import Claim, Formula
from ptxmm.prove.names import Names
from ptxmm.vocabulary import RELATIONS, SETS

Term: TypeAlias = Any
Need: TypeAlias = tuple[Expr, int]

EVENT = z3.DeclareSort("Event")
USED, ESTABLISHED = 1, -1


def term(name: str) -> Term:
    """A named event."""
    return z3.Const(name, EVENT)


@dataclass(frozen=True, slots=True)
class Told:
    """Sentences, the base names in them, and the defined predicates: `needs` says which half of each must be told."""

    claims: tuple[Claim, ...]
    used: frozenset[str]
    needs: tuple[Need, ...]


class Language:
    """A model's words as predicates; `opaque` are names about which nothing is said where they are used."""

    def __init__(self, model: Model, opaque: tuple[str, ...] = ()) -> None:
        self.words = Names(model)
        self._symbols: dict[Expr, z3.FuncDeclRef] = {}
        self._definitions: dict[Need, Told] = {}
        self._axioms: dict[tuple[str, Check, Expr, bool], Told] = {}
        names = self.words.names
        self._opaque = self.words.recursive | {names[name] for name in opaque if name in names}

    def symbol(self, expr: Expr) -> z3.FuncDeclRef:
        """The predicate of an expression that needs a quantifier."""
        if expr not in self._symbols:
            label = expr.text if isinstance(expr, Name) else f"{type(expr).__name__.lower()}{len(self._symbols)}"
            self._symbols[expr] = z3.Function(f"{label}!", EVENT, EVENT, z3.BoolSort())
        return self._symbols[expr]

    def axiom(self, name: str, check: Check, body: Expr, negated: bool) -> Told:
        """What `empty`, `irreflexive` or `acyclic` says of an expression whose names are resolved."""
        key = (name, check, body, negated)
        if key not in self._axioms:
            here, x, y = Reading(self), term("x"), term("y")
            sign = USED if negated else ESTABLISHED
            if check is Check.EMPTY:
                places = (x,) if self.words.is_set(body) else (x, y)
                sentence = z3.ForAll(list(places), z3.Not(here.holds(body, places, sign)))
            else:
                related = cat.Plus(body) if check is Check.ACYCLIC else body
                sentence = z3.ForAll([x], z3.Not(here.holds(related, (x, x), sign)))
            self._axioms[key] = here.told([Claim(name, z3.Not(sentence) if negated else sentence)])
        return self._axioms[key]

    def definition(self, expr: Expr, sign: int) -> Told:
        """What is said of a predicate where it is used, or where it is to be established."""
        if (expr, sign) not in self._definitions:
            here = Reading(self)
            said = self._halves(expr, here, sign)
            claims = [Claim("definitions", z3.ForAll(variables, sentence)) for variables, sentence in said]
            self._definitions[expr, sign] = here.told(claims)
        return self._definitions[expr, sign]

    def _halves(self, expr: Expr, here: Reading, sign: int) -> list[tuple[list[Term], Formula]]:
        x, y, z = term("x"), term("y"), term("z")
        symbol = self.symbol(expr)
        match expr:
            case cat.Plus(rel) if sign == ESTABLISHED:
                return [
                    ([x, y], z3.Implies(here.holds(rel, (x, y), sign), symbol(x, y))),
                    ([x, y, z], z3.Implies(z3.And(symbol(x, y), symbol(y, z)), symbol(x, z))),
                ]
            case cat.Seq(left, right) if sign == ESTABLISHED:
                both = z3.And(here.holds(left, (x, y), sign), here.holds(right, (y, z), sign))
                return [([x, y, z], z3.Implies(both, symbol(x, z)))]
            case cat.Seq(left, right):
                both = z3.And(here.holds(left, (x, y), sign), here.holds(right, (y, z), sign))
                return [([x, z], z3.Implies(symbol(x, z), z3.Exists([y], both)))]
            case Name(text) if sign == ESTABLISHED:
                return [([x, y], z3.Implies(here.holds(self.words.bodies[text], (x, y), sign), symbol(x, y)))]
            case Name(text) if text not in self._opaque:
                return [([x, y], z3.Implies(symbol(x, y), here.holds(self.words.bodies[text], (x, y), sign)))]
        return []


@lru_cache(maxsize=16)
def language(model: Model, opaque: tuple[str, ...]) -> Language:
    """The language of a model, kept."""
    return Language(model, opaque)


@dataclass(slots=True)
class Reading:
    """Expressions read as formulas; what these mention is noted."""

    language: Language
    used: set[str] = field(default_factory=set)
    needs: dict[Need, None] = field(default_factory=dict)

    def told(self, claims: list[Claim]) -> Told:
        """Claims with what is noted."""
        return Told(tuple(claims), frozenset(self.used), tuple(self.needs))

    def holds(self, expr: Expr, at: tuple[Term, ...], sign: int) -> Formula:  # noqa: PLR0912 (one arm for each form)
        """That the event or the pair `at` is in an expression; `sign` says whether this is used or established."""
        match expr:
            case Name(text):
                return self._name(text, at, sign)
            case cat.Empty():
                return z3.BoolVal(False)
            case cat.Union(left, right):
                return z3.Or(self.holds(left, at, sign), self.holds(right, at, sign))
            case cat.Inter(left, right):
                return z3.And(self.holds(left, at, sign), self.holds(right, at, sign))
            case cat.Diff(left, right):
                return z3.And(self.holds(left, at, sign), z3.Not(self.holds(right, at, -sign)))
            case cat.Complement(arg):
                return z3.Not(self.holds(arg, at, -sign))
            case cat.Seq():
                return self._sequence(expr, at, sign)
            case cat.Product(left, right):
                return z3.And(self.holds(left, at[:1], sign), self.holds(right, at[1:], sign))
            case cat.Identity(of):
                return z3.And(at[0] == at[1], self.holds(of, at[:1], sign))
            case cat.Inverse(rel):
                return self.holds(rel, at[::-1], sign)
            case cat.Optional(rel):
                return z3.Or(at[0] == at[1], self.holds(rel, at, sign))
            case cat.Star(rel):
                return z3.Or(at[0] == at[1], self._symbol(cat.Plus(rel), at, sign))
            case cat.Plus():
                return self._symbol(expr, at, sign)
            case cat.Domain(rel):
                return self._exists(lambda y: self.holds(rel, (at[0], y), sign))
            case cat.Range(rel):
                return self._exists(lambda y: self.holds(rel, (y, at[0]), sign))
            case _:
                assert_never(expr)

    def _exists(self, body: Any) -> Formula:
        some = term(f"y{next(self._numbers)}")
        return z3.Exists([some], body(some))

    _numbers = count()

    def _name(self, text: str, at: tuple[Term, ...], sign: int) -> Formula:
        if text in self.language.words.bodies:
            if text in self.language.words.sets:
                return self.holds(self.language.words.bodies[text], at, sign)
            return self._symbol(Name(text), at, sign)
        if text == "_":
            return z3.BoolVal(True)
        if text == "id":
            return at[0] == at[1]
        if text not in SETS and text not in RELATIONS:
            raise Unsupported(f"the model {self.language.words.model.name} does not say what `{text}` is")
        self.used.add(text)
        return z3.Function(text, *(EVENT for _ in at), z3.BoolSort())(*at)

    def _sequence(self, expr: cat.Seq, at: tuple[Term, ...], sign: int) -> Formula:
        match expr:
            case cat.Seq(cat.Identity(of), right):
                return z3.And(self.holds(of, at[:1], sign), self.holds(right, at, sign))
            case cat.Seq(left, cat.Identity(of)):
                return z3.And(self.holds(left, at, sign), self.holds(of, at[1:], sign))
            case cat.Seq(cat.Optional(rel), right):
                return z3.Or(self.holds(right, at, sign), self._sequence(cat.Seq(rel, right), at, sign))
            case cat.Seq(left, cat.Optional(rel)):
                return z3.Or(self.holds(left, at, sign), self._sequence(cat.Seq(left, rel), at, sign))
        return self._symbol(expr, at, sign)

    def _symbol(self, expr: Expr, at: tuple[Term, ...], sign: int) -> Formula:
        self.needs[expr, sign] = None
        return self.language.symbol(expr)(*at)
