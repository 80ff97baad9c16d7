"""A cat file as it is written: statements and expressions whose names are not yet resolved."""

from __future__ import annotations

from dataclasses import dataclass

DEEPEST = 150


@dataclass(frozen=True, slots=True)
class Node:
    """An expression as written: an operator of the grammar, its operands, and the text it starts with."""

    op: str
    args: tuple[Node, ...]
    start: int
    text: str
    depth: int

    def names(self) -> frozenset[str]:
        """Every name that stands in it."""
        mine = {self.text} if self.op in ("name", "call") else set()
        return frozenset(mine.union(*(arg.names() for arg in self.args)))


@dataclass(frozen=True, slots=True)
class Binding:
    """`name = body`, or a function `name(parameters) = body`."""

    name: str
    start: int
    parameters: tuple[str, ...] | None
    body: Node


@dataclass(frozen=True, slots=True)
class Define:
    """`let`, or `let rec … and …`."""

    bindings: tuple[Binding, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class Include:
    """`include "file"`."""

    file: str
    start: int


@dataclass(frozen=True, slots=True)
class Claim:
    """An axiom or a flag, with the text of its name, if it has one."""

    flag: bool
    negated: bool
    check: str
    body: Node
    name: str | None
    start: int


Written = Define | Include | Claim
