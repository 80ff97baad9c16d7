"""What a model says of one candidate execution, on plain sets: each statement as soon as its stage is chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import assert_never

from ptxmm.enumeration import rows
from ptxmm.enumeration.forms import is_set
from ptxmm.enumeration.rows import Rows
from ptxmm.enumeration.theory import Theory
from ptxmm.model import (
    Axiom,
    Check,
    Complement,
    Diff,
    Domain,
    Empty,
    Expr,
    Identity,
    Inter,
    Inverse,
    Let,
    LetRec,
    Name,
    Optional,
    Plus,
    Product,
    Range,
    Seq,
    Star,
    Union,
)  # fmt: skip

NOTHING: Collection[int] = frozenset()


@dataclass(frozen=True)
class Meaning:
    """The values of names in one candidate of `size` events, so far: of sets and of relations."""

    rules: Theory
    size: int
    sets: Mapping[str, int]
    relations: Mapping[str, Rows]

    def after(self, stages: Collection[int], chosen: Mapping[str, Rows],
              skipped: Collection[int] = NOTHING) -> Meaning | None:  # fmt: skip
        """The same with what some stages add; None where an axiom, other than the skipped ones, forbids it."""
        sets, relations = dict(self.sets), {**self.relations, **chosen}
        now = Meaning(self.rules, self.size, sets, relations)
        for number, (due, statement) in enumerate(self.rules.statements):
            if due not in stages:
                continue
            match statement:
                case Let(name, body) if name in self.rules.sets:
                    sets[name] = now.events(body)
                case Let(name, body):
                    relations[name] = now.relation(body)
                case LetRec(bindings):
                    now.fix(bindings, relations)
                case Axiom(_, check, body, negated):
                    if number not in skipped and now.holds(check, body) == negated:
                        return None
        return now

    def fix(self, bindings: tuple[tuple[str, Expr], ...], relations: dict[str, Rows]) -> None:
        """The least fixpoint of mutually recursive definitions, from nothing."""
        relations.update((name, (0,) * self.size) for name, _ in bindings)
        while True:
            found = {name: self.relation(body) for name, body in bindings}
            if all(relations[name] == value for name, value in found.items()):
                return
            relations.update(found)

    def holds(self, check: Check, body: Expr) -> bool:
        """Whether a value is as an axiom says."""
        if is_set(body, self.rules.sets):
            return not self.events(body)
        match check:
            case Check.EMPTY:
                return not any(self.relation(body))
            case Check.IRREFLEXIVE:
                return rows.irreflexive(self.relation(body))
            case Check.ACYCLIC:
                return rows.acyclic(self.relation(body))

    def events(self, expr: Expr) -> int:
        """The set of events that an expression denotes."""
        match expr:
            case Name(text):
                return self.sets[text]
            case Union(left, right):
                return self.events(left) | self.events(right)
            case Inter(left, right):
                return self.events(left) & self.events(right)
            case Diff(left, right):
                return self.events(left) & ~self.events(right)
            case Complement(arg):
                return (1 << self.size) - 1 & ~self.events(arg)
            case Domain(rel):
                return rows.domain(self.relation(rel))
            case Range(rel):
                return rows.image(self.relation(rel))
        return 0

    def relation(self, expr: Expr) -> Rows:  # noqa: PLR0912
        """The relation that an expression denotes."""
        match expr:
            case Name(text):
                return self.relations[text]
            case Union(left, right):
                return rows.union(self.relation(left), self.relation(right))
            case Inter(left, right):
                return rows.intersection(self.relation(left), self.relation(right))
            case Diff(left, right):
                return rows.difference(self.relation(left), self.relation(right))
            case Seq(Identity(inner), right):
                return rows.starting(self.events(inner), self.relation(right))
            case Seq(left, Identity(inner)):
                return rows.ending(self.relation(left), self.events(inner))
            case Seq(left, right):
                return rows.sequence(self.relation(left), self.relation(right))
            case Complement(arg):
                return rows.complement(self.relation(arg))
            case Inverse(rel):
                return rows.inverse(self.relation(rel))
            case Plus(rel):
                return rows.closure(self.relation(rel))
            case Star(rel):
                return rows.union(rows.closure(self.relation(rel)), self.relations["id"])
            case Optional(rel):
                return rows.union(self.relation(rel), self.relations["id"])
            case Identity(inner):
                return rows.identity(self.events(inner), self.size)
            case Product(left, right):
                return rows.product(self.events(left), self.events(right), self.size)
            case Empty() | Domain() | Range():
                return (0,) * self.size
        assert_never(expr)
