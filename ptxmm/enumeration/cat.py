"""What a model says of one candidate execution, computed on plain sets.

A statement is computed as soon as what it needs is chosen: first the paths and barriers, then reads-from, then the
order of fence.sc, then coherence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, assert_never

from ptxmm.enumeration.choices import cyclic
from ptxmm.model import (
    RELATIONS,
    SETS,
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
    Model,
    Name,
    Optional,
    Plus,
    Product,
    Range,
    Seq,
    Star,
    Union,
)  # fmt: skip

Value = frozenset[Any]
Due = tuple[int, Let | LetRec | Axiom]
STAGES = {"rf": 1, "sync_fence": 2, "co": 3, "fr": 3}
LAST = 3
NOTHING: Value = frozenset()


@dataclass(frozen=True)
class Theory:
    """A model in which every name is defined once; `stages[name]` says when it can be computed."""

    statements: tuple[Due, ...]
    stages: Mapping[str, int]
    sets: frozenset[str]
    latest: Mapping[str, str]

    def bounds(self, *, total: bool) -> list[Expr]:
        """What axioms put into coherence (`total`: into coherence or its inverse), known before it is chosen."""
        inverse: Expr = Inverse(Name("co"))
        sides: list[set[Expr]] = [{Name("co"), inverse}, {Name("co"), inverse, Name("id")}] if total else [{Name("co")}]
        found = []
        for _, statement in self.statements:
            match statement:
                case Axiom(check=Check.EMPTY, negated=False, body=Diff(left, right)):
                    if set(united(right)) in sides and stage(left, self.stages) < LAST:
                        found.append(left)
        return found

    def find(self, *names: str) -> str | None:
        """The definition that one of these names has at the end of the model."""
        return next((self.latest[name] for name in names if self.latest.get(name, name) != name), None)


def theory(model: Model, also: Collection[str]) -> Theory:
    """Rename so that each name is defined once, and keep what the axioms and the names in `also` need."""
    latest = {name: name for name in (*SETS, *RELATIONS)}
    stages = {name: STAGES.get(name, 0) for name in latest}
    sets = set(SETS)
    found: list[Due] = []
    for number, statement in enumerate(model.statements):
        match statement:
            case Let(name, body):
                body, own = renamed(body, latest), f"{name}#{number}"
                stages[own] = stage(body, stages)
                if is_set(body, sets):
                    sets.add(own)
                latest[name] = own
                found.append((stages[own], Let(own, body)))
            case LetRec(bindings):
                latest |= {name: f"{name}#{number}" for name, _ in bindings}
                bodies = tuple((latest[name], renamed(body, latest)) for name, body in bindings)
                stages |= {name: 0 for name, _ in bodies}
                when = max(stage(body, stages) for _, body in bodies)
                stages |= {name: when for name, _ in bodies}
                found.append((when, LetRec(bodies)))
            case Axiom(name, check, body, negated, flag):
                body = renamed(body, latest)
                if not flag:
                    found.append((stage(body, stages), Axiom(name, check, body, negated)))
    wanted = {latest[name] for name in also if name in latest}
    return Theory(tuple(needed(found, wanted)), stages, frozenset(sets), latest)


def needed(statements: list[Due], wanted: set[str]) -> list[Due]:
    """The statements that an axiom or a wanted name needs."""
    kept = []
    for when, statement in reversed(statements):
        match statement:
            case Axiom(body=body):
                wanted |= set(names(body))
            case Let(name, body) if name in wanted:
                wanted |= set(names(body))
            case LetRec(bindings) if any(name in wanted for name, _ in bindings):
                wanted |= {used for _, body in bindings for used in names(body)}
            case _:
                continue
        kept.append((when, statement))
    return kept[::-1]


def parts(expr: Expr) -> list[Expr]:
    """The direct operands of an expression."""
    return [] if isinstance(expr, Name | Empty) else [getattr(expr, one.name) for one in fields(expr)]


def united(expr: Expr) -> list[Expr]:
    """The parts of a union."""
    return [*united(expr.left), *united(expr.right)] if isinstance(expr, Union) else [expr]


def names(expr: Expr) -> Iterable[str]:
    """The names in an expression."""
    if isinstance(expr, Name):
        yield expr.text
    for below in parts(expr):
        yield from names(below)


def renamed(expr: Expr, latest: Mapping[str, str]) -> Expr:
    """An expression with each name replaced by its present definition."""
    if isinstance(expr, Name):
        return Name(latest[expr.text])
    return type(expr)(*(renamed(below, latest) for below in parts(expr)))


def stage(expr: Expr, stages: Mapping[str, int]) -> int:
    """When all names in an expression have values."""
    return max((stages[name] for name in names(expr)), default=0)


def is_set(expr: Expr, sets: Collection[str]) -> bool:
    """Whether an expression denotes a set of events, not a relation."""
    match expr:
        case Name(text):
            return text in sets
        case Domain() | Range():
            return True
        case Union(left, right) | Inter(left, right) | Diff(left, right):
            return is_set(left, sets) or is_set(right, sets)
        case Complement(arg):
            return is_set(arg, sets)
    return False


def covers(model: Model, wanted: Collection[str]) -> bool:
    """Whether some axiom keeps a relation acyclic containing `wanted` (program order contains dependencies)."""
    rules = theory(model, ())
    bodies = {s.name: s.body for _, s in rules.statements if isinstance(s, Let)}

    def inside(expr: Expr) -> set[str]:
        if isinstance(expr, Union | Plus | Star | Optional):
            return set().union(*(inside(below) for below in parts(expr)))
        if isinstance(expr, Name):
            return inside(bodies[expr.text]) if expr.text in bodies else {expr.text}
        return set()

    for _, axiom in rules.statements:
        if isinstance(axiom, Axiom) and axiom.check is Check.ACYCLIC and not axiom.negated:
            there = inside(axiom.body)
            if all(one in there or (one != "rf" and "po" in there) for one in wanted):
                return True
    return False


@dataclass(frozen=True)
class Meaning:
    """The values of names in one candidate, so far."""

    rules: Theory
    values: Mapping[str, Value]

    def after(self, when: int, chosen: Mapping[str, Value]) -> Meaning | None:
        """The same with what one stage adds; None where an axiom forbids the candidate."""
        now = Meaning(self.rules, {**self.values, **chosen})
        values: dict[str, Value] = dict(now.values)
        now = Meaning(self.rules, values)
        for due, statement in self.rules.statements:
            if due != when:
                continue
            match statement:
                case Let(name, body):
                    values[name] = now.of(body)
                case LetRec(bindings):
                    now.fix(bindings, values)
                case Axiom(_, check, body, negated):
                    if holds(check, now.of(body)) == negated:
                        return None
        return now

    def fix(self, bindings: tuple[tuple[str, Expr], ...], values: dict[str, Value]) -> None:
        """The least fixpoint of mutually recursive definitions, from nothing."""
        values.update((name, NOTHING) for name, _ in bindings)
        while True:
            found = {name: self.of(body) for name, body in bindings}
            if all(values[name] == value for name, value in found.items()):
                return
            values.update(found)

    def of(self, expr: Expr) -> Value:
        """The set or relation that an expression denotes."""
        match expr:
            case Name(text):
                return self.values[text]
            case Empty():
                return NOTHING
            case Union(left, right):
                return self.of(left) | self.of(right)
            case Inter(left, right):
                return self.of(left) & self.of(right)
            case Diff(left, right):
                return self.of(left) - self.of(right)
            case Complement(arg):
                everything = self.values["_"]
                whole = everything if is_set(arg, self.rules.sets) else product_of(everything, everything)
                return whole - self.of(arg)
        return self.derived(expr)

    def derived(self, expr: Seq | Product | Identity | Inverse | Plus | Star | Optional | Domain | Range) -> Value:
        """What an operator on relations gives."""
        match expr:
            case Seq(left, right):
                return sequence(self.of(left), self.of(right))
            case Product(left, right):
                return product_of(self.of(left), self.of(right))
            case Identity(inner):
                return frozenset((a, a) for a in self.of(inner))
            case Inverse(rel):
                return frozenset((b, a) for a, b in self.of(rel))
            case Plus(rel):
                return closure(self.of(rel))
            case Star(rel):
                return closure(self.of(rel)) | self.values["id"]
            case Optional(rel):
                return self.of(rel) | self.values["id"]
            case Domain(rel):
                return frozenset(a for a, _ in self.of(rel))
            case Range(rel):
                return frozenset(b for _, b in self.of(rel))
        assert_never(expr)


def product_of(left: Value, right: Value) -> Value:
    """`left * right`."""
    return frozenset((a, b) for a in left for b in right)


def holds(check: Check, value: Value) -> bool:
    """Whether a value is as an axiom says."""
    match check:
        case Check.EMPTY:
            return not value
        case Check.IRREFLEXIVE:
            return all(a != b for a, b in value)
        case Check.ACYCLIC:
            return not cyclic(value)


def sequence(left: Value, right: Value) -> Value:
    """`left ; right`."""
    onward: dict[int, list[int]] = {}
    for b, c in right:
        onward.setdefault(b, []).append(c)
    return frozenset((a, c) for a, b in left for c in onward.get(b, ()))


def closure(relation: Value) -> Value:
    """The transitive closure."""
    found = relation
    while not (more := sequence(found, relation)) <= found:
        found |= more
    return found
