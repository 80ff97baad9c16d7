"""A memory model as a value: the statements of a cat file, with functions and includes already expanded."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ptxmm.errors import Span
from ptxmm.program import NOWHERE


@dataclass(frozen=True, slots=True)
class Name:
    """A set or relation by name: a base name of `vocabulary`, or one that an earlier statement defines."""

    text: str
    at: Span = field(default=NOWHERE, compare=False, hash=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """`0` or `{}`: the empty set or relation."""


@dataclass(frozen=True, slots=True)
class Union:
    """`left | right`, of two sets or two relations."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Inter:
    """`left & right`."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Diff:
    """`left` without `right`, written with a backslash."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Seq:
    """`left ; right`."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Product:
    """`left * right`, of two sets."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Identity:
    """`[set]`: the identity on a set."""

    set: Expr


@dataclass(frozen=True, slots=True)
class Inverse:
    """`rel^-1`."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Plus:
    """`rel+`: the transitive closure."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Star:
    """`rel*`: the reflexive transitive closure, over all events."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Optional:
    """`rel?`: the relation and the identity over all events."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Complement:
    """`~arg`, of a set or a relation."""

    arg: Expr


@dataclass(frozen=True, slots=True)
class Domain:
    """`domain(rel)`: a set."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Range:
    """`range(rel)`: a set."""

    rel: Expr


Expr = (
    Name | Empty | Union | Inter | Diff | Seq | Product | Identity | Inverse | Plus | Star | Optional | Complement
    | Domain | Range
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = body`. A name may be that of an earlier one or of a base relation: later uses mean the new one."""

    name: str
    body: Expr


@dataclass(frozen=True, slots=True)
class LetRec:
    """`let rec a = … and b = …`: the least fixpoint."""

    bindings: tuple[tuple[str, Expr], ...]


class Check(StrEnum):
    """What an axiom says of its relation (of its set, for EMPTY)."""

    EMPTY = "empty"
    IRREFLEXIVE = "irreflexive"
    ACYCLIC = "acyclic"


@dataclass(frozen=True, slots=True)
class Axiom:
    """`empty|irreflexive|acyclic body as name`; `negated` for a leading `~`. A flag never forbids, it only reports."""

    name: str
    check: Check
    body: Expr
    negated: bool = False
    flag: bool = False


Statement = Let | LetRec | Axiom


@dataclass(frozen=True, slots=True)
class Model:
    """A model: `name` is the file's stem, `supports` what it declares beyond the plain generic proxy (`FEATURES`).

    `hands_on` is declared as well: where an atomic operation writes back what it reads, the model goes on allowing an
    execution if whoever reads that reads the earlier write instead (docs/loops.md). So is that an `mbarrier.expect_tx`
    ends no phase; by default it does where it brings the transaction count to zero with no arrival pending.
    """

    name: str
    title: str
    statements: tuple[Statement, ...]
    supports: frozenset[str]
    path: str = ""
    source: str = field(default="", compare=False, hash=False, repr=False)
    hands_on: bool = False
    expect_ends: bool = True

    @property
    def axioms(self) -> tuple[Axiom, ...]:
        """The axioms that forbid executions, in the file's order."""
        return tuple(s for s in self.statements if isinstance(s, Axiom) and not s.flag)
