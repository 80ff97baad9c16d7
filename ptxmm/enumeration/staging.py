"""A model made ready for candidate executions: each name once, each part at the stage that decides it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ptxmm.enumeration.forms import is_set, names, parts, renamed, stage, without
from ptxmm.enumeration.theory import STAGES, Due, Theory
from ptxmm.model import Axiom, Check, Empty, Expr, Let, LetRec, Model, Name, Optional, Plus, Star, Union
from ptxmm.vocabulary import RELATIONS, SETS


@lru_cache(maxsize=256)
def theory(
    model: Model, also: tuple[str, ...], empty: frozenset[str] = frozenset(), flagged: str | None = None
) -> Theory:
    """Rename so that each name is defined once, and keep what the axioms and the names in `also` need.

    What is `empty` in all candidates takes no time to compute. Flags are kept whose names begin with `flagged`.
    """
    nothing = set(empty)
    latest = {name: name for name in (*SETS, *RELATIONS)}
    stages = {name: STAGES.get(name, 0) for name in latest}
    parted = Parted(stages, set(SETS))
    found: list[Due] = []
    flags: list[tuple[str, Check, bool]] = []
    for number, statement in enumerate(model.statements):
        match statement:
            case Let(name, body):
                whole, own = renamed(body, latest), f"{name}#{number}"
                latest[name], body = own, without(whole, nothing)
                if is_set(whole, parted.sets):
                    parted.sets.add(own)
                if body == Empty():
                    nothing.add(own)
                found += parted.defined(own, body)
            case LetRec(bindings):
                latest |= {name: f"{name}#{number}" for name, _ in bindings}
                bodies = tuple((latest[name], without(renamed(body, latest), nothing)) for name, body in bindings)
                stages |= {name: 0 for name, _ in bodies}
                when = max(stage(body, stages) for _, body in bodies)
                stages |= {name: when for name, _ in bodies}
                split = [(name, *parted.split(body, when)) for name, body in bodies]
                found += [due for _, _, dues in split for due in dues]
                found.append((when, LetRec(tuple((name, body) for name, body, _ in split))))
            case Axiom(name, check, body, negated, flag):
                body = without(renamed(body, latest), nothing)
                if flag and flagged is not None and name.startswith(flagged):
                    latest[name] = own = f"{name}#{number}"
                    found += parted.defined(own, body)
                    if body != Empty() or not negated:
                        flags.append((own, check, negated))
                if not flag:
                    when = stage(body, stages)
                    body, dues = parted.split(body, when)
                    found += [*dues, (when, Axiom(name, check, body, negated))]
    wanted = {latest[name] for name in also if name in latest} | {name for name, _, _ in flags}
    return Theory(tuple(needed(found, wanted)), stages, frozenset(parted.sets), latest, tuple(flags))


@dataclass
class Parted:
    """Gives names to the parts of statements that are known before the rest of them."""

    stages: dict[str, int]
    sets: set[str]

    def __post_init__(self) -> None:
        self.known: dict[Expr, Expr] = {}

    def defined(self, name: str, body: Expr) -> list[Due]:
        """A definition, after those of its parts."""
        when = self.stages[name] = stage(body, self.stages)
        if is_set(body, self.sets):
            self.sets.add(name)
        body, dues = self.split(body, when)
        return [*dues, (when, Let(name, body))]

    def split(self, expr: Expr, when: int) -> tuple[Expr, list[Due]]:
        """An expression whose larger parts of earlier stages have names, and the definitions of these."""
        if isinstance(expr, Name | Empty):
            return expr, []
        if expr in self.known:
            return self.known[expr], []
        if stage(expr, self.stages) < when:
            name = f"#{len(self.stages)}"
            dues = self.defined(name, expr)
            self.known[expr] = Name(name)
            return Name(name), dues
        split = [self.split(below, when) for below in parts(expr)]
        return type(expr)(*(below for below, _ in split)), [due for _, dues in split for due in dues]


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


def covers(model: Model, wanted: Iterable[str]) -> bool:
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
