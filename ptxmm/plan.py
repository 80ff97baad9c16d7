"""A model compiled once: names resolved, equal expressions shared, composed forms fused; evaluated on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from ptxmm import model as cat
from ptxmm.errors import Unsupported
from ptxmm.formula import Lit
from ptxmm.model import SETS, Axiom, Check, Expr, Let, LetRec, Model
from ptxmm.relation import Rel, Set, Symbolic

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its name, and the slots of its operands."""

    op: str
    args: tuple[int, ...] = ()
    base: str = ""


@dataclass(frozen=True)
class Plan:
    """The operations of a model, its axioms (name, check, negated, slot) and the slot of each name it defines."""

    steps: tuple[Step, ...]
    axioms: tuple[tuple[str, Check, bool, int], ...]
    names: dict[str, int]
    recursions: dict[int, tuple[tuple[int, ...], tuple[int, ...], int]] = field(default_factory=dict)

    def uses(self, base: str) -> bool:
        """Whether the model mentions a base name."""
        return any(step.base == base for step in self.steps)


@lru_cache(maxsize=64)
def plan_of(model: Model) -> Plan:
    """The compiled form of a model."""
    return _Compiler().compile(model)


class _Compiler:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.known: dict[Step, int] = {}
        self.names: dict[str, int] = {}
        self.recursions: dict[int, tuple[tuple[int, ...], tuple[int, ...], int]] = {}

    def compile(self, model: Model) -> Plan:
        axioms = []
        for statement in model.statements:
            match statement:
                case Let(name, body):
                    self.names[name] = self.slot(body)
                case LetRec(bindings):
                    self._recursion(bindings)
                case Axiom() if not statement.flag:
                    axioms.append((statement.name, statement.check, statement.negated, self.slot(statement.body)))
        return Plan(tuple(self.steps), tuple(axioms), dict(self.names), self.recursions)

    def emit(self, op: str, *args: int, base: str = "") -> int:
        step = Step(op, args, base)
        if step not in self.known:
            self.known[step] = len(self.steps)
            self.steps.append(step)
        return self.known[step]

    def slot(self, expr: Expr) -> int:
        """The slot that holds the meaning of an expression."""
        match expr:
            case cat.Name(text):
                return self.names[text] if text in self.names else self.emit("base", base=text)
            case cat.Empty():
                return self.emit("nothing")
            case cat.Union(left, right):
                return self.emit("union", self.slot(left), self.slot(right))
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
    plain, loops = [], []
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


Value = Rel | Set


class Evaluation:
    """A model on one set of events: every operation is evaluated once, when it is first asked for.

    `base` gives the meaning of a base name. Unsupported is raised for a recursion that does not settle.
    """

    def __init__(self, plan: Plan, algebra: Symbolic, base: Callable[[str], Value]) -> None:
        self.plan, self.algebra, self.base = plan, algebra, base
        self.values: dict[int, Value] = {}

    def named(self, *names: str) -> Rel | None:
        """The relation that the model defines under the first of these names it knows."""
        for name in names:
            if name in self.plan.names:
                value = self.get(self.plan.names[name])
                return value if isinstance(value, Rel) else None
        return None

    def axioms(self) -> list[tuple[str, Lit]]:
        """For each axiom, the literal that says it holds."""
        return [
            (name, -holds if negated else holds)
            for name, check, negated, slot in self.plan.axioms
            for holds in (self._holds(check, slot),)
        ]

    def _holds(self, check: Check, slot: int) -> Lit:
        step = self.plan.steps[slot]
        if check is Check.IRREFLEXIVE and step.op == "seq":
            return self.algebra.is_irreflexive_seq(self.rel(step.args[0]), self.rel(step.args[1]))
        if check is Check.IRREFLEXIVE:
            return self.algebra.is_irreflexive(self.rel(slot))
        if check is Check.ACYCLIC:
            return self.algebra.is_acyclic(self.rel(slot))
        return self.algebra.is_empty(self.get(slot))

    def get(self, slot: int) -> Value:
        """The meaning of a slot."""
        if slot not in self.values:
            self.values[slot] = self._compute(self.plan.steps[slot])
        return self.values[slot]

    def rel(self, slot: int) -> Rel:
        value = self.get(slot)
        return value if isinstance(value, Rel) else self.algebra.nothing()

    def set(self, slot: int) -> Set:
        value = self.get(slot)
        return value if isinstance(value, Set) else Set(0, {})

    def _compute(self, step: Step) -> Value:
        algebra, args = self.algebra, step.args
        match step.op:
            case "base":
                return self.base(step.base)
            case "nothing":
                return algebra.nothing()
            case "union" | "inter" | "diff":
                return self._pointwise(step.op, args)
            case "seq" | "seq_within" | "seq_optional" | "optional_seq" | "plus_seq_optional":
                return self._composed(step.op, args)
            case "from_set" | "to_set":
                chosen = self.set(args[step.op == "to_set"])
                if not chosen.must and not chosen.may:
                    return algebra.nothing()
                rel = self.rel(args[step.op == "from_set"])
                return algebra.from_set(chosen, rel) if step.op == "from_set" else algebra.to_set(rel, chosen)
            case "product":
                return algebra.product(self.set(args[0]), self.set(args[1]))
            case "identity":
                return algebra.identity(self.set(args[0]))
            case "inverse":
                return algebra.inverse(self.rel(args[0]))
            case "plus":
                return algebra.plus(self.rel(args[0]))
            case "optional":
                return algebra.optional(self.rel(args[0]))
            case "domain":
                return algebra.domain(self.rel(args[0]))
            case "range":
                return algebra.range(self.rel(args[0]))
            case "complement":
                value = self.get(args[0])
                if isinstance(value, Set):
                    return algebra.set_diff(Set(algebra.all, {}), value)
                return algebra.complement(value)
            case "fixpoint":
                return self._fixpoint(*args)
        raise AssertionError(step.op)

    def _composed(self, op: str, args: tuple[int, ...]) -> Value:
        """Compositions; an empty operand that is already known, or the second, saves the work on the other."""
        algebra = self.algebra
        if op == "optional_seq":
            right = self.rel(args[1])
            return right if right.empty else algebra.union(right, algebra.seq(self.rel(args[0]), right))
        if op == "plus_seq_optional":
            left = self.rel(args[0])
            return left if left.empty else algebra.plus_seq_optional(left, self.rel(args[1]))
        if op == "seq_optional":
            left = self.rel(args[0])
            return left if left.empty else algebra.union(left, algebra.seq(left, self.rel(args[1])))
        right = self.rel(args[1])
        if right.empty:
            return algebra.nothing()
        left = self.rel(args[0])
        if left.empty or op == "seq":
            return algebra.nothing() if left.empty else algebra.seq(left, right)
        limit = self.rel(args[2])
        return algebra.inter(algebra.seq(left, right, limit.row_masks()), limit)

    def _pointwise(self, op: str, args: tuple[int, ...]) -> Value:
        left = self.get(args[0])
        if op == "inter" and isinstance(left, Rel) and left.empty:
            return left
        right = self.get(args[1])
        if isinstance(left, Set) or isinstance(right, Set):
            table = {"union": self.algebra.set_union, "inter": self.algebra.set_inter, "diff": self.algebra.set_diff}
            return table[op](self.set(args[0]), self.set(args[1]))
        rels = {"union": self.algebra.union, "inter": self.algebra.inter, "diff": self.algebra.diff}
        return rels[op](left, right)

    def _fixpoint(self, group: int, place: int) -> Value:
        """Iterate a recursive group from empty until nothing changes."""
        variables, bodies, _ = self.plan.recursions[group]
        now: list[Value] = [self.algebra.nothing() for _ in variables]
        for _ in range(self.algebra.size * self.algebra.size + 2):
            scratch = _Scratch(self, dict(zip(variables, now, strict=True)))
            after = [scratch.get(body) for body in bodies]
            if all(_same(a, b) for a, b in zip(after, now, strict=True)):
                return after[place]
            now = after
        raise Unsupported("a `let rec` of the model does not settle on this test")


class _Scratch(Evaluation):
    """One round of a recursion: the variables have values, everything that does not need them is shared."""

    def __init__(self, outer: Evaluation, given: dict[int, Value]) -> None:
        super().__init__(outer.plan, outer.algebra, outer.base)
        self.outer, self.given = outer, given
        self.depends: dict[int, bool] = {}

    def get(self, slot: int) -> Value:
        if slot in self.given:
            return self.given[slot]
        if not self._varies(slot):
            return self.outer.get(slot)
        return super().get(slot)

    def _varies(self, slot: int) -> bool:
        if slot not in self.depends:
            step = self.plan.steps[slot]
            args = () if step.op == "fixpoint" else step.args
            self.depends[slot] = slot in self.given or any(self._varies(arg) for arg in args)
        return self.depends[slot]


def _same(a: Value, b: Value) -> bool:
    return type(a) is type(b) and a.must == b.must and a.may == b.may


def kind_is_set(name: str) -> bool:
    """Whether a base name denotes a set."""
    return name in SETS
