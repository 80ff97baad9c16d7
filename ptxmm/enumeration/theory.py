"""A model made ready for candidate executions: each name once, each part of a statement at the stage that decides it.

Stage 0 are the paths and barriers, stage 1 reads-from, stage 2 the order of fence.sc, stage 3 coherence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ptxmm.enumeration.forms import is_set, names, parts, renamed, stage, united, variance, without
from ptxmm.model import (
    Axiom,
    Check,
    Diff,
    Empty,
    Expr,
    Inverse,
    Let,
    LetRec,
    Model,
    Name,
    Optional,
    Plus,
    Seq,
    Star,
    Union,
)
from ptxmm.vocabulary import RELATIONS, SETS

Due = tuple[int, Let | LetRec | Axiom]
STAGES = {"rf": 1, "sync_fence": 2, "co": 3, "fr": 3}
LAST = 3
COHERENCE: Expr = Name("co")
EITHER_WAY = ({COHERENCE, Inverse(COHERENCE)}, {COHERENCE, Inverse(COHERENCE), Name("id")})


@dataclass(frozen=True)
class Theory:
    """A model in which every name is defined once; `stages[name]` says when it can be computed.

    `flags` are the names whose values raise a flag where the check holds, or where it does not.
    """

    statements: tuple[Due, ...]
    stages: Mapping[str, int]
    sets: frozenset[str]
    latest: Mapping[str, str]
    flags: tuple[tuple[str, Check, bool], ...] = ()

    def bounds(self, *, total: bool) -> list[Expr]:
        """What axioms put into coherence (`total`: into coherence or its inverse), known before it is chosen."""
        return [left for left, both in self.apart.values() if total or not both]

    @cached_property
    def apart(self) -> dict[int, tuple[Expr, bool]]:
        """By their numbers, the axioms that put something into coherence, or (True) into coherence or its inverse."""
        found: dict[int, tuple[Expr, bool]] = {}
        for number, (_, statement) in enumerate(self.statements):
            match statement:
                case Axiom(check=Check.EMPTY, negated=False, body=Diff(left, right)):
                    side = set(united(right))
                    if stage(left, self.stages) < LAST and (side == {COHERENCE} or side in EITHER_WAY):
                        found[number] = left, side != {COHERENCE}
        return found

    @cached_property
    def follows_mbarriers(self) -> bool:
        """Whether it matters which operation on an mbarrier finds what another left."""
        return "mbnext" in self.used()

    @cached_property
    def after_mbarriers(self) -> tuple[Expr, ...] | None:
        """What the orders of operations on mbarriers may not go against; None where the model says more of them."""
        found: list[Expr] = []
        for _, statement in self.statements:
            match statement:
                case Axiom(check=Check.IRREFLEXIVE, negated=False, body=Seq(left, right)) if left == Name("mbo"):
                    found.append(right)
                    bodies = [right]
                case LetRec(bindings):
                    bodies = [body for _, body in bindings]
                case Let() | Axiom():
                    bodies = [statement.body]
            if any("mbo" in names(body) for body in bodies):
                return None
        return tuple(found)

    def find(self, *names: str) -> str | None:
        """The definition that one of these names has at the end of the model."""
        return next((self.latest[name] for name in names if self.latest.get(name, name) != name), None)

    def used(self) -> set[str]:
        """The names that are needed to compute all of it, and the choices of an execution."""
        bodies: list[Expr] = []
        for _, statement in self.statements:
            bodies += [body for _, body in statement.bindings] if isinstance(statement, LetRec) else [statement.body]
        return {"id", "po", "sr"}.union(*(names(body) for body in bodies))

    def keeps_what_remains(self) -> bool:
        """Whether an execution that the model allows stays allowed when reads and fences are taken out of it.

        The base relations between the events that stay do not change. So it is enough that nothing is taken away from,
        or asked to exist in, what may shrink further.
        """
        return self.positive(dict.fromkeys((*SETS, *RELATIONS), 0), skipped=())

    def grows(self) -> bool:
        """Whether more pairs in reads-from, coherence and the order of fence.sc can only break axioms.

        The axioms that say what coherence must contain are apart from that.
        """
        given = {name: int(name in STAGES) for name in (*SETS, *RELATIONS)}
        known = self.variances(given)
        return self.positive(given, self.apart) and all(variance(left, known) < 2 for left, _ in self.apart.values())

    def variances(self, given: Mapping[str, int]) -> dict[str, int]:
        """For each name, 0 where it does not change, 1 where it changes one way, 2 where neither is certain."""
        known = dict(given)
        for _, statement in self.statements:
            match statement:
                case Let(name, body):
                    known[name] = variance(body, known)
                case LetRec(bindings):
                    known.update((name, 1) for name, _ in bindings)
                    if any(variance(body, known) == 2 for _, body in bindings):
                        known.update((name, 2) for name, _ in bindings)
        return known

    def positive(self, given: Mapping[str, int], skipped: Collection[int]) -> bool:
        """Whether every axiom but the skipped ones only says that something does not happen."""
        known = self.variances(given)
        return all(
            not axiom.negated and variance(axiom.body, known) < 2
            for number, (_, axiom) in enumerate(self.statements)
            if isinstance(axiom, Axiom) and number not in skipped
        )


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
