"""From a model to its plan: names resolved, equal expressions shared, composed forms fused."""

from __future__ import annotations

from functools import lru_cache

from ptxmm import model as cat
from ptxmm.model import Axiom, Check, Expr, Let, LetRec, Model
from ptxmm.plan import Plan, Step


class _Same:
    """A model as a key by identity: hashing its whole text for each test would cost more than the test."""

    __slots__ = ("model",)

    def __init__(self, model: Model) -> None:
        self.model = model

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.model is self.model


def plan_of(model: Model) -> Plan:
    """The compiled form of a model, made once."""
    return _plan_of(_Same(model))


@lru_cache(maxsize=64)
def _plan_of(key: _Same) -> Plan:
    return _Compiler().compile(key.model)


class _Compiler:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.known: dict[Step, int] = {}
        self.names: dict[str, int] = {}
        self.recursions: dict[int, tuple[tuple[int, ...], tuple[int, ...], int]] = {}

    def compile(self, model: Model) -> Plan:
        axioms: list[tuple[str, Check, bool, int]] = []
        flags: list[tuple[str, Check, bool, int]] = []
        for statement in model.statements:
            match statement:
                case Let(name, body):
                    self.names[name] = self.slot(body)
                case LetRec(bindings):
                    self._recursion(bindings)
                case Axiom():
                    kind = flags if statement.flag else axioms
                    kind.append((statement.name, statement.check, statement.negated, self.slot(statement.body)))
        return Plan(tuple(self.steps), tuple(axioms), dict(self.names), self.recursions, tuple(flags))

    def emit(self, op: str, *args: int, base: str = "") -> int:
        step = Step(op, args, base)
        if step not in self.known:
            self.known[step] = len(self.steps)
            self.steps.append(step)
        return self.known[step]

    def slot(self, expr: Expr) -> int:  # noqa: PLR0912 (one arm for each form of expression)
        """The slot that holds the meaning of an expression."""
        match expr:
            case cat.Name(text):
                return self.names[text] if text in self.names else self.emit("base", base=text)
            case cat.Empty():
                return self.emit("nothing")
            case cat.Union(left, right):
                return self._union(self.slot(left), self.slot(right))
            case cat.Inter(left, right):
                return self._inter(self.slot(left), self.slot(right))
            case cat.Diff(left, right):
                return self.emit("diff", self.slot(left), self.slot(right))
            case cat.Seq(left, right):
                return self._seq(self.slot(left), self.slot(right))
            case cat.Product(left, right):
                return self.emit("product", self.slot(left), self.slot(right))
            case cat.Identity(of):
                return self.emit("identity", self.slot(of))
            case cat.Plus(rel):
                return self._plus(self.slot(rel))
            case cat.Inverse(rel):
                return self.emit("inverse", self.slot(rel))
            case cat.Star(rel):
                return self.emit("optional", self._plus(self.slot(rel)))
            case cat.Optional(rel):
                return self.emit("optional", self.slot(rel))
            case cat.Complement(arg):
                return self.emit("complement", self.slot(arg))
            case cat.Domain(rel):
                return self.emit("domain", self.slot(rel))
            case cat.Range(rel):
                return self.emit("range", self.slot(rel))

    def _union(self, left: int, right: int) -> int:
        """`A | A ; (B ; A)+`, as observation is written, is one operation: `A` and `B` in turn, from `A` to `A`."""
        step = self.steps[right]
        if step.op == "seq" and step.args[0] == left and self.steps[step.args[1]].op == "plus":
            inner = self.steps[self.steps[step.args[1]].args[0]]
            if inner.op == "seq" and inner.args[1] == left:
                return self.emit("in_turn", left, inner.args[0], right)
        return self.emit("union", left, right)

    def _seq(self, left: int, right: int) -> int:
        first, second = self.steps[left], self.steps[right]
        if first.op == "identity":
            return self.emit("from_set", first.args[0], right)
        if second.op == "identity":
            return self.emit("to_set", left, second.args[0])
        if second.op == "optional":
            return self.emit("seq_optional", left, second.args[0])
        if first.op == "optional":
            return self.emit("optional_seq", first.args[0], right)
        return self.emit("seq", left, right)

    def _inter(self, left: int, right: int) -> int:
        if self.steps[left].op == "seq":
            return self.emit("seq_within", *self.steps[left].args, right)
        if self.steps[right].op == "seq":
            return self.emit("seq_within", *self.steps[right].args, left)
        return self.emit("inter", left, right)

    def _plus(self, rel: int) -> int:
        step = self.steps[rel]
        if step.op == "seq_optional":
            return self.emit("plus_seq_optional", *step.args)
        return self.emit("plus", rel)

    def _recursion(self, bindings: tuple[tuple[str, Expr], ...]) -> None:
        if len(bindings) == 1 and (closed := _closed_form(*bindings[0])) is not None:
            self.names[bindings[0][0]] = self.slot(closed)
            return
        group = len(self.recursions)
        variables = tuple(self.emit("variable", base=f"{name}@{group}") for name, _ in bindings)
        for (name, _), variable in zip(bindings, variables, strict=True):
            self.names[name] = variable
        bodies = tuple(self.slot(body) for _, body in bindings)
        self.recursions[group] = (variables, bodies, len(self.steps))
        for place, (name, _) in enumerate(bindings):
            self.names[name] = self.emit("fixpoint", group, place)


def _closed_form(name: str, body: Expr) -> Expr | None:
    """`X = A | X;B;X` is `A ; (B ; A)*`, `X = A | X;X` is `A+`, `X = A | X;B` is `A ; B*`, where that is all of X."""
    plain, loops = list[Expr](), list[Expr]()
    for part in _unions(body):
        (loops if _mentions(part, name) else plain).append(part)
    if len(loops) != 1 or not plain:
        return None
    start = plain[0]
    for part in plain[1:]:
        start = cat.Union(start, part)
    chain = _chain(loops[0])
    me = [isinstance(part, cat.Name) and part.text == name for part in chain]
    middle = [part for part, mine in zip(chain, me, strict=True) if not mine]
    if any(_mentions(part, name) for part in middle) or len(chain) < 2:
        return None
    between = middle[0] if middle else None
    for part in middle[1:]:
        between = cat.Seq(between, part) if between is not None else part
    match (me[0], me[-1], sum(me)):
        case (True, True, 2):
            step = start if between is None else cat.Seq(between, start)
            return cat.Plus(start) if between is None else cat.Union(start, cat.Seq(start, cat.Plus(step)))
        case (True, False, 1) if between is not None:
            return cat.Union(start, cat.Seq(start, cat.Plus(between)))
        case (False, True, 1) if between is not None:
            return cat.Union(start, cat.Seq(cat.Plus(between), start))
    return None


def _unions(expr: Expr) -> list[Expr]:
    return [*_unions(expr.left), *_unions(expr.right)] if isinstance(expr, cat.Union) else [expr]


def _chain(expr: Expr) -> list[Expr]:
    return [*_chain(expr.left), *_chain(expr.right)] if isinstance(expr, cat.Seq) else [expr]


def _mentions(expr: Expr, name: str) -> bool:
    if isinstance(expr, cat.Name):
        return expr.text == name
    parts = (getattr(expr, slot) for slot in expr.__slots__)
    return any(_mentions(part, name) for part in parts if not isinstance(part, str))
