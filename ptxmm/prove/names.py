"""The names of a model resolved: each definition has one of its own, and axioms are written with these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from ptxmm import model as cat
from ptxmm.errors import Unsupported
from ptxmm.model import Axiom, Expr, Let, LetRec, Model, Name
from ptxmm.vocabulary import SETS

MODEL_NAMES = ("cause", "obs", "sync")


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


class Names:
    """`names` has the last definition of each name, `bodies` what it says, `recursive` those that `let rec` defines."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.names: dict[str, str] = {}
        self.axioms: list[tuple[Axiom, Expr]] = []
        self.bodies: dict[str, Expr] = {}
        self.sets = set(SETS)
        self.recursive: set[str] = set()
        for number, statement in enumerate(model.statements):
            self._read(number, statement)

    def _read(self, number: int, statement: cat.Statement) -> None:
        match statement:
            case Let(name, body):
                own, body = f"{name}#{number}", renamed(body, self.names)
                self.bodies[own], self.names[name] = body, own
                if self.is_set(body):
                    self.sets.add(own)
            case LetRec(bindings):
                self.names |= {name: f"{name}#{number}" for name, _ in bindings}
                for name, body in bindings:
                    self.bodies[self.names[name]] = renamed(body, self.names)
                    self.recursive.add(self.names[name])
            case Axiom() if not statement.flag:
                self.axioms.append((statement, renamed(statement.body, self.names)))

    def is_set(self, expr: Expr) -> bool:
        """Whether an expression denotes a set of events."""
        match expr:
            case Name(text):
                return text in self.sets
            case cat.Union(left, right) | cat.Inter(left, right) | cat.Diff(left, right):
                return self.is_set(left) or self.is_set(right)
            case cat.Complement(arg):
                return self.is_set(arg)
        return isinstance(expr, cat.Domain | cat.Range)

    def rests_on(self, expr: Expr) -> frozenset[str]:
        """The names in an expression, in their definitions, and so on."""
        found, todo = set[str](), list(names_in(expr))
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += names_in(self.bodies[name]) if name in self.bodies else ()
        return frozenset(found)

    def goal_names(self, expr: Expr) -> Expr:
        """An expression over base names and `MODEL_NAMES`, with the model's meaning of the latter."""
        missing = [name for name in MODEL_NAMES if name in names_in(expr) and name not in self.names]
        if missing:
            raise Unsupported(f"the model {self.model.name} does not say what `{missing[0]}` is")
        return renamed(expr, {name: self.names[name] for name in MODEL_NAMES if name in self.names})
