"""From cat as written to the statements of a model, one statement after another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count

from ptxmm.cat.inline import Inliner
from ptxmm.cat.scope import Function, Kind, Scope, Typed, base_scope
from ptxmm.cat.source import Source
from ptxmm.cat.written import Binding, Claim, Define
from ptxmm.errors import InputError
from ptxmm.model import Axiom, Check, Empty, Let, LetRec, Name, Statement


class Expander:
    """Collects a model's statements; each sees what earlier ones define, and a function what stood before it.

    A name may be defined again. Where an inlined function still means the earlier one, that one lives on under a name
    that no file can spell (`co@1`).
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._scope, self._functions = base_scope()
        self._axioms: set[str] = set()
        self._kept: set[str] = set()

    def define(self, source: Source, written: Define) -> None:
        """`let` and `let rec`."""
        if written.recursive:
            self._recursive(source, written.bindings)
            return
        (binding,) = written.bindings
        if binding.parameters is not None:
            self._function(source, binding, binding.parameters)
            return
        body = Inliner(source, self._scope).typed(binding.body)
        if body.kind is Kind.EITHER:
            self._shadow(binding.name)
            self._scope[binding.name] = Typed(Empty(), Kind.EITHER)
            return
        self._shadow(binding.name)
        self.statements.append(Let(binding.name, body.expr))
        self._scope[binding.name] = Typed(Name(binding.name), body.kind, reach=body.reach)

    def claim(self, source: Source, written: Claim) -> None:
        """An axiom or a flag."""
        check, body = Check(written.check), Inliner(source, self._scope)
        any_kind = check is Check.EMPTY
        expr = (body.typed(written.body) if any_kind else body.needs(Kind.RELATION, written.body, f"`{check}`")).expr
        name = written.name or f"{check}@{source.at(written.start).line}"
        name = next(n for n in chain([name], _numbered(f"{name}#", 2)) if n not in self._axioms)
        self._axioms.add(name)
        self.statements.append(Axiom(name, check, expr, written.negated, written.flag))

    def _function(self, source: Source, binding: Binding, parameters: tuple[str, ...]) -> None:
        if len(set(parameters)) < len(parameters):
            at = source.at(binding.start, len(binding.name))
            raise InputError(f"`{binding.name}` has two parameters of one name", at)
        function = Function.of(parameters, binding.body, source, self._scope)
        names: Scope = {**self._scope, **{p: Typed(Empty(), Kind.EITHER) for p in parameters}}
        Inliner(source, names).check_names(binding.body)
        self._functions.append(function)
        self._scope[binding.name] = function

    def _recursive(self, source: Source, bindings: tuple[Binding, ...]) -> None:
        names = [binding.name for binding in bindings]
        for binding in bindings:
            at = source.at(binding.start, len(binding.name))
            if binding.parameters is not None:
                raise InputError("a recursive definition takes no parameters", at)
            if names.count(binding.name) > 1:
                raise InputError(f"`{binding.name}` is defined twice in one `let rec`", at)
            self._shadow(binding.name)
        inner = Inliner(source, {**self._scope, **{n: Typed(Name(n), Kind.RELATION, recursive=True) for n in names}})
        bodies = [inner.needs(Kind.RELATION, b.body, "`let rec`") for b in bindings]
        self.statements.append(LetRec(tuple((name, body.expr) for name, body in zip(names, bodies, strict=True))))
        reach = max(body.reach for body in bodies)
        self._scope |= {name: Typed(Name(name), Kind.RELATION, reach=reach) for name in names}

    def _shadow(self, name: str) -> None:
        """Before `name` gets a new meaning: keep the present one for the functions that mean it."""
        present = self._scope.get(name)
        if not isinstance(present, Typed) or present.expr != Name(name):
            return
        users = [f for f in self._functions if f.scope.get(name) is present]
        if users:
            kept = next(k for k in _numbered(f"{name}@", 1) if k not in self._kept)
            self._kept.add(kept)
            self.statements.append(Let(kept, Name(name)))
            for function in users:
                function.scope[name] = Typed(Name(kept), present.kind, reach=present.reach)


def _numbered(stem: str, first: int) -> Iterator[str]:
    return (f"{stem}{number}" for number in count(first))
