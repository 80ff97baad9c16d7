"""An expression as written becomes one of the model: names resolved, functions inlined, kinds checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ptxmm.cat.scope import Function, Kind, Primitive, Scope, Typed
from ptxmm.cat.source import Source
from ptxmm.cat.written import DEEPEST, Node
from ptxmm.errors import InputError, Span, near
from ptxmm.model import (
    Complement,
    Diff,
    Empty,
    Expr,
    Identity,
    Inter,
    Inverse,
    Name,
    Optional,
    Plus,
    Product,
    Seq,
    Star,
    Union,
)

LARGEST = 20_000
FARTHEST = 100
_MAKES_RELATION = "`[S]` is the identity on a set S, `S * S` its pairs"
_SAME: dict[str, tuple[str, Callable[[Expr, Expr], Expr]]] = {
    "union": ("|", Union), "inter": ("&", Inter), "diff": ("\\", Diff),
}  # fmt: skip
_PAIR: dict[str, tuple[str, Kind, Callable[[Expr, Expr], Expr]]] = {
    "seq": (";", Kind.RELATION, Seq), "product": ("*", Kind.SET, Product),
}  # fmt: skip
_ALONE: dict[str, tuple[str, Kind, Callable[[Expr], Expr]]] = {
    "identity": ("[…]", Kind.SET, Identity),
    "inverse": ("^-1", Kind.RELATION, Inverse),
    "plus": ("+", Kind.RELATION, Plus),
    "star": ("*", Kind.RELATION, Star),
    "optional": ("?", Kind.RELATION, Optional),
}


@dataclass(frozen=True, slots=True)
class Inliner:
    """Reads expressions of one source in one scope; `depth` is that of the functions that it stands in."""

    source: Source
    scope: Scope
    depth: int = 0

    def typed(self, node: Node) -> Typed:
        """The meaning of an expression."""
        match node.op:
            case "name":
                return self._name(node)
            case "nothing":
                return Typed(Empty(), Kind.EITHER)
            case "call":
                return self._call(node)
            case "complement":
                return self._complement(node)
            case op if op in _ALONE:
                mark, kind, make = _ALONE[op]
                arg = self.needs(kind, node.args[0], f"`{mark}`")
                return self._built(node, Kind.RELATION, make(arg.expr), arg)
            case op if op in _PAIR:
                mark, kind, join = _PAIR[op]
                left, right = (self.needs(kind, arg, f"`{mark}`") for arg in node.args)
                return self._built(node, Kind.RELATION, join(left.expr, right.expr), left, right)
        return self._same(node)

    def needs(self, kind: Kind, node: Node, what: str) -> Typed:
        """The meaning of an expression that must be a set, or a relation."""
        found = self.typed(node)
        if found.kind not in (kind, Kind.EITHER):
            hint = _MAKES_RELATION if kind is Kind.RELATION else "`domain(r)` and `range(r)` are sets"
            raise InputError(f"{what} needs {kind.value}, and this is {found.kind.value}", self.at(node), hint)
        return found

    def at(self, node: Node) -> Span:
        """Where an expression starts."""
        return self.source.at(node.start, len(node.text))

    def check_names(self, node: Node) -> None:
        """Complain about unknown names of a function's body where it is defined."""
        if node.op in ("name", "call") and node.text not in self.scope:
            raise self._unknown(node)
        for arg in node.args:
            self.check_names(arg)

    def _name(self, node: Node) -> Typed:
        meaning = self.scope.get(node.text)
        if meaning is None:
            raise self._unknown(node)
        if not isinstance(meaning, Typed):
            raise InputError(f"`{node.text}` is a function", self.at(node), f"write `{node.text}(…)`")
        if isinstance(meaning.expr, Name):
            return replace(meaning, expr=Name(meaning.expr.text, self.at(node)))
        return meaning

    def _call(self, node: Node) -> Typed:
        meaning = self.scope.get(node.text)
        if meaning is None:
            raise self._unknown(node)
        if isinstance(meaning, Typed):
            raise InputError(f"`{node.text}` is no function", self.at(node), "`r ; s` is the sequence of two relations")
        wanted = 1 if isinstance(meaning, Primitive) else len(meaning.parameters)
        if len(node.args) != wanted:
            some = f"{wanted} argument{'s' * (wanted != 1)}"
            raise InputError(f"`{node.text}` takes {some}, and here are {len(node.args)}", self.at(node))
        if isinstance(meaning, Primitive):
            arg = self.needs(Kind.RELATION, node.args[0], f"`{node.text}`")
            return self._built(node, meaning.result, meaning.operator(arg.expr), arg)
        return self._inlined(node, meaning)

    def _inlined(self, node: Node, function: Function) -> Typed:
        arguments = [self.typed(arg) for arg in node.args]
        depth = self.depth + function.body.depth
        if depth > DEEPEST:
            raise InputError("functions call each other too deeply", self.at(node))
        scope: Scope = {**function.scope, **dict(zip(function.parameters, arguments, strict=True))}
        try:
            body = Inliner(function.source, scope, depth).typed(function.body)
        except InputError as error:
            where = self.at(node)
            hint = f"this comes from `{node.text}(…)` in {where.path}, line {where.line}"
            at = error.at if error.at.path else where
            raise InputError(error.message, at, "; ".join(filter(None, (error.hint, hint)))) from None
        return self._measured(node, body)

    def _complement(self, node: Node) -> Typed:
        arg = self.typed(node.args[0])
        if arg.kind is Kind.EITHER:
            raise InputError("`~0` may be a set or a relation", self.at(node), "`_` is all events, `_ * _` all pairs")
        self._monotone(arg, node.args[0])
        return self._built(node, arg.kind, Complement(arg.expr), arg)

    def _same(self, node: Node) -> Typed:
        r"""`|`, `&` and `\`: of two sets or of two relations."""
        mark, make = _SAME[node.op]
        left, right = map(self.typed, node.args)
        if Kind.EITHER not in (left.kind, right.kind) and left.kind is not right.kind:
            which = node.args[0] if left.kind is Kind.SET else node.args[1]
            message = f"`{mark}` has a set on one side and a relation on the other"
            raise InputError(message, self.at(which), _MAKES_RELATION)
        if node.op == "diff":
            self._monotone(right, node.args[1])
        kind = right.kind if left.kind is Kind.EITHER else left.kind
        return self._built(node, kind, make(left.expr, right.expr), left, right)

    def _monotone(self, arg: Typed, node: Node) -> None:
        if arg.recursive:
            hint = "a least fixpoint needs its names outside of `~` and of what `\\` takes away"
            raise InputError("a recursive definition cannot stand here", self.at(node), hint)

    def _built(self, node: Node, kind: Kind, expr: Expr, *args: Typed) -> Typed:
        size, depth, reach = sum(a.size for a in args), max(a.depth for a in args), max(a.reach for a in args)
        recursive = any(a.recursive for a in args)
        return self._measured(node, Typed(expr, kind, 1 + size, 1 + depth, 1 + reach, recursive))

    def _measured(self, node: Node, built: Typed) -> Typed:
        if built.size > LARGEST or built.depth > DEEPEST:
            raise InputError("the expression is too large", self.at(node), "name parts of it with `let`")
        if built.reach > FARTHEST:
            hint = f"a model has at most {FARTHEST} operators inside each other, those of its definitions included"
            raise InputError("definitions build on each other too deeply", self.at(node), hint)
        return built

    def _unknown(self, node: Node) -> InputError:
        hint = near(node.text, self.scope) or "docs/models.md lists the sets and relations that a model may use"
        return InputError(f"nothing is called `{node.text}`", self.at(node), hint)
