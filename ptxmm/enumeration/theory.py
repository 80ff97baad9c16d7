"""A model ready for candidate executions: when each name is known, and what follows from the form of its axioms.

Stage 0 are the paths and barriers, stage 1 reads-from, stage 2 the order of fence.sc, stage 3 coherence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from ptxmm.enumeration.forms import names, stage, united, variance
from ptxmm.model import Axiom, Check, Diff, Expr, Inverse, Let, LetRec, Name, Seq
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
