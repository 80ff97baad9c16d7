"""What the names of a cat file stand for, and sets told from relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ptxmm.cat.source import Source
from ptxmm.cat.written import Node
from ptxmm.model import Domain, Expr, Name, Range
from ptxmm.vocabulary import RELATIONS, SETS


class Kind(Enum):
    """What an expression denotes; `0` is either."""

    SET = "a set"
    RELATION = "a relation"
    EITHER = "empty"


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression of the model with its kind and measures, and whether it mentions a name that is being defined.

    `depth` counts the operators inside each other here, `reach` also those in the definitions of the names here.
    """

    expr: Expr
    kind: Kind
    size: int = 1
    depth: int = 1
    reach: int = 1
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Primitive:
    """A function that the model's expressions have an operator for."""

    operator: Callable[[Expr], Expr]
    result: Kind


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """`let f(x) = …`, with the meanings that the names of its body had there."""

    parameters: tuple[str, ...]
    body: Node
    source: Source
    scope: Scope

    @classmethod
    def of(cls, parameters: tuple[str, ...], body: Node, source: Source, scope: Scope) -> Function:
        """The function that means by the names of its body what they mean in `scope`."""
        free = {name: scope[name] for name in body.names() if name in scope and name not in parameters}
        return cls(parameters, body, source, free)


Meaning = Typed | Function | Primitive
Scope = dict[str, Meaning]


def base_scope() -> tuple[Scope, list[Function]]:
    """The vocabulary and the functions that every cat file may use, and those of them that see base names."""
    scope: Scope = {name: Typed(Name(name), Kind.SET) for name in SETS}
    scope |= {name: Typed(Name(name), Kind.RELATION) for name in RELATIONS}
    fencerel = Function.of(("S",), _FENCEREL, _BUILT_IN, scope)
    toid = Function.of(("S",), _TOID, _BUILT_IN, {})
    primitives = {"domain": Primitive(Domain, Kind.SET), "range": Primitive(Range, Kind.SET)}
    return scope | primitives | {"fencerel": fencerel, "toid": toid}, [fencerel]


def _name(text: str) -> Node:
    return Node("name", (), 0, text, 1)


_BUILT_IN = Source("", "")
_TOID = Node("identity", (_name("S"),), 0, "[", 2)
_BEFORE = Node("inter", (_name("po"), Node("product", (_name("_"), _name("S")), 0, "_", 2)), 0, "po", 3)
_FENCEREL = Node("seq", (_BEFORE, _name("po")), 0, "(", 4)
