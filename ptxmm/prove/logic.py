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

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from itertools import count
from typing import Any, TypeAlias, assert_never

import z3

from ptxmm import model as cat
from ptxmm.errors import Unsupported
from ptxmm.model import RELATIONS, SETS, Axiom, Check, Expr, Let, LetRec, Model, Name

Term: TypeAlias = Any
Formula: TypeAlias = Any

EVENT = z3.DeclareSort("Event")
USED, ESTABLISHED = 1, -1
MODEL_NAMES = ("cause", "obs", "sync")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence with the name under which a proof mentions it."""

    name: str
    sentence: Formula


def term(name: str) -> Term:
    """A named event."""
    return z3.Const(name, EVENT)


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """The expression with every name replaced by the one it stands for."""
    if isinstance(expr, Name):
        return Name(names.get(expr.text, expr.text))
    parts = {part.name: renamed(getattr(expr, part.name), names) for part in fields(expr)}
    return type(expr)(**parts)


def names_in(expr: Expr) -> frozenset[str]:
    """Every name in an expression."""
    if isinstance(expr, Name):
        return frozenset({expr.text})
    return frozenset().union(*(names_in(getattr(expr, part.name)) for part in fields(expr)))


class Logic:
    """A model as predicates; `claims` holds the sentences about those that were asked for so far."""

    def __init__(self, model: Model, opaque: Collection[str] = ()) -> None:
        """`opaque` are names of the model about which nothing is said where they are used."""
        self.model = model
        self.claims: list[Claim] = []
        self.used: set[str] = set()
        self.names: dict[str, str] = {}
        self._bodies: dict[str, Expr] = {}
        self._sets = set(SETS)
        self._recursive: set[str] = set()
        self._axioms: list[tuple[Axiom, Expr]] = []
        self._symbols: dict[Expr, z3.FuncDeclRef] = {}
        self._told: set[tuple[Expr, int]] = set()
        for number, statement in enumerate(model.statements):
            self._read(number, statement)
        self._opaque = self._recursive | {self.names[name] for name in opaque if name in self.names}

    def _read(self, number: int, statement: cat.Statement) -> None:
        match statement:
            case Let(name, body):
                own, body = f"{name}#{number}", renamed(body, self.names)
                self._bodies[own], self.names[name] = body, own
                if self.is_set(body):
                    self._sets.add(own)
            case LetRec(bindings):
                self.names |= {name: f"{name}#{number}" for name, _ in bindings}
                for name, body in bindings:
                    self._bodies[self.names[name]] = renamed(body, self.names)
                    self._recursive.add(self.names[name])
            case Axiom() if not statement.flag:
                self._axioms.append((statement, renamed(statement.body, self.names)))

    def is_set(self, expr: Expr) -> bool:
        """Whether an expression denotes a set of events."""
        match expr:
            case Name(text):
                return text in self._sets
            case cat.Union(left, right) | cat.Inter(left, right) | cat.Diff(left, right):
                return self.is_set(left) or self.is_set(right)
            case cat.Complement(arg):
                return self.is_set(arg)
        return isinstance(expr, cat.Domain | cat.Range)

    # --- sentences ----------------------------------------------------------------------------------------------------

    def axioms(self, besides: str | None = None) -> list[Claim]:
        """The axioms of the model, each as a sentence; without those that rest on the name `besides`."""
        left_out = self.names.get(besides or "", "")
        return [
            self.axiom(statement.name, statement.check, body, statement.negated)
            for statement, body in self._axioms
            if not left_out or left_out not in self._rests_on(body)
        ]

    def _rests_on(self, expr: Expr) -> frozenset[str]:
        """The names in an expression, in their definitions, and so on."""
        found, todo = set[str](), list(names_in(expr))
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += names_in(self._bodies[name]) if name in self._bodies else ()
        return frozenset(found)

    def axiom(self, name: str, check: Check, body: Expr, negated: bool = False) -> Claim:
        """What `empty`, `irreflexive` or `acyclic` says of an expression whose names are resolved."""
        x, y = term("x"), term("y")
        sign = USED if negated else ESTABLISHED
        if check is Check.EMPTY:
            places = (x,) if self.is_set(body) else (x, y)
            sentence = z3.ForAll(list(places), z3.Not(self.holds(body, places, sign)))
        else:
            related = cat.Plus(body) if check is Check.ACYCLIC else body
            sentence = z3.ForAll([x], z3.Not(self.holds(related, (x, x), sign)))
        return Claim(name, z3.Not(sentence) if negated else sentence)

    def goal_names(self, expr: Expr) -> Expr:
        """An expression over base names and `MODEL_NAMES`, with the model's meaning of the latter."""
        missing = [name for name in MODEL_NAMES if name in names_in(expr) and name not in self.names]
        if missing:
            raise Unsupported(f"the model {self.model.name} does not say what `{missing[0]}` is")
        return renamed(expr, {name: self.names[name] for name in MODEL_NAMES if name in self.names})

    # --- expressions --------------------------------------------------------------------------------------------------

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
        if text in self._bodies:
            if text in self._sets:
                return self.holds(self._bodies[text], at, sign)
            return self._symbol(Name(text), at, sign)
        if text == "_":
            return z3.BoolVal(True)
        if text == "id":
            return at[0] == at[1]
        if text not in SETS and text not in RELATIONS:
            raise Unsupported(f"the model {self.model.name} does not say what `{text}` is")
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

    # --- defined predicates -------------------------------------------------------------------------------------------

    def _symbol(self, expr: Expr, at: tuple[Term, ...], sign: int) -> Formula:
        """The predicate of an expression, of which at least what `sign` needs is said."""
        if expr not in self._symbols:
            label = expr.text if isinstance(expr, Name) else f"{type(expr).__name__.lower()}{len(self._symbols)}"
            self._symbols[expr] = z3.Function(f"{label}!", EVENT, EVENT, z3.BoolSort())
        if (expr, sign) not in self._told:
            self._told.add((expr, sign))
            self._tell(expr, self._symbols[expr], sign)
        return self._symbols[expr](*at)

    def _tell(self, expr: Expr, symbol: z3.FuncDeclRef, sign: int) -> None:
        x, y, z = term("x"), term("y"), term("z")
        match expr:
            case cat.Plus(rel) if sign == ESTABLISHED:
                self._say([x, y], z3.Implies(self.holds(rel, (x, y), sign), symbol(x, y)))
                self._say([x, y, z], z3.Implies(z3.And(symbol(x, y), symbol(y, z)), symbol(x, z)))
            case cat.Seq(left, right) if sign == ESTABLISHED:
                both = z3.And(self.holds(left, (x, y), sign), self.holds(right, (y, z), sign))
                self._say([x, y, z], z3.Implies(both, symbol(x, z)))
            case cat.Seq(left, right):
                both = z3.And(self.holds(left, (x, y), sign), self.holds(right, (y, z), sign))
                self._say([x, z], z3.Implies(symbol(x, z), z3.Exists([y], both)))
            case Name(text) if sign == ESTABLISHED:
                self._say([x, y], z3.Implies(self.holds(self._bodies[text], (x, y), sign), symbol(x, y)))
            case Name(text) if text not in self._opaque:
                self._say([x, y], z3.Implies(symbol(x, y), self.holds(self._bodies[text], (x, y), sign)))

    def _say(self, variables: list[Term], sentence: Formula) -> None:
        self.claims.append(Claim("definitions", z3.ForAll(variables, sentence)))
