"""A compiled model evaluated on one set of events, in a carrier, on demand."""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.formula import Lit
from ptxmm.model import Check
from ptxmm.plan import Plan, Step
from ptxmm.relation import Rel, Set, Symbolic

Value = Rel | Set


POINTWISE = frozenset({"union", "inter", "diff"})
COMPOSED = frozenset({"seq", "seq_within", "seq_optional", "optional_seq", "plus_seq_optional"})
OF_RELATION = frozenset({"inverse", "plus", "optional", "domain", "range"})
OF_SETS = frozenset({"product", "identity"})


class Evaluation:
    """A model on one set of events: every operation is evaluated once, when it is first asked for.

    `base` gives the meaning of a base name.
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
        return self._checked(self.plan.axioms)

    def flags(self) -> list[tuple[str, Lit]]:
        """For each flag, the literal that it is raised."""
        return self._checked(self.plan.flags)

    def _checked(self, checks: tuple[tuple[str, Check, bool, int], ...]) -> list[tuple[str, Lit]]:
        return [
            (name, -holds if negated else holds)
            for name, check, negated, slot in checks
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
        """One operation: on relations alone, on sets alone, or one of those that look closer."""
        self.algebra.formulas.deadline.check()
        op, args = step.op, step.args
        if op == "base":
            return self.base(step.base)
        if op in POINTWISE:
            return self._pointwise(op, args)
        if op in COMPOSED:
            return self._composed(op, args)
        if op in OF_RELATION:
            of_relation: Callable[[Rel], Value] = getattr(self.algebra, op)
            return of_relation(self.rel(args[0]))
        if op in OF_SETS:
            of_sets: Callable[..., Value] = getattr(self.algebra, op)
            return of_sets(*(self.set(arg) for arg in args))
        return {"from_set": self._limited, "to_set": self._limited}.get(op, self._special)(op, args)

    def _in_turn(self, first: int, second: int, rest: int) -> Value:
        """`A | A ; (B ; A)+`: where neither follows itself, `(A | B)+` from the sources to the targets of `A`."""
        a, b = self.rel(first), self.rel(second)
        algebra = self.algebra
        ends = [(algebra.domain(r).mask, algebra.range(r).mask) for r in (a, b)]
        if any(sources & targets for sources, targets in ends):
            return algebra.union(a, self.rel(rest))
        closed = algebra.plus(algebra.union(a, b))
        sources, targets = Set(ends[0][0], {}), Set(ends[0][1], {})
        return algebra.to_set(algebra.from_set(sources, closed), targets)

    def _limited(self, op: str, args: tuple[int, ...]) -> Value:
        """A relation from or to a set; an empty set saves the work on the relation."""
        chosen = self.set(args[op == "to_set"])
        if not chosen.must and not chosen.may:
            return self.algebra.nothing()
        rel = self.rel(args[op == "from_set"])
        return self.algebra.from_set(chosen, rel) if op == "from_set" else self.algebra.to_set(rel, chosen)

    def _special(self, op: str, args: tuple[int, ...]) -> Value:
        if op == "nothing":
            return self.algebra.nothing()
        if op == "fixpoint":
            return self._fixpoint(*args)
        if op == "in_turn":
            return self._in_turn(*args)
        value = self.get(args[0])
        if isinstance(value, Set):
            return self.algebra.set_diff(Set(self.algebra.all, {}), value)
        return self.algebra.complement(value)

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
        """Iterate a recursive group from empty until nothing changes.

        Where paths lead round in a circle, literals that mean the same keep growing. Each round that changes a value
        adds a pair, though, so that as many rounds as there are pairs to add have come to the end.
        """
        variables, bodies, _ = self.plan.recursions[group]
        now: list[Value] = [self.algebra.nothing() for _ in variables]
        rounds = 0
        while True:
            scratch = _Scratch(self, dict(zip(variables, now, strict=True)), self.plan.varying(group))
            after = [scratch.get(body) for body in bodies]
            rounds += 1
            if rounds > self._height(group, after) or all(_same(a, b) for a, b in zip(after, now, strict=True)):
                return after[place]
            now = after

    def _height(self, group: int, values: list[Value]) -> int:
        """How often the values of a recursive group can grow: in each row by itself where no row looks at another."""
        widths = [[mask.bit_count() for mask in value.row_masks()] for value in values if isinstance(value, Rel)]
        if self.plan.row_by_row(group):
            return max((sum(row) for row in zip(*widths, strict=True)), default=0)
        return sum(map(sum, widths))


class _Scratch(Evaluation):
    """One round of a recursion: the variables have values, everything that does not need them is shared."""

    def __init__(self, outer: Evaluation, given: dict[int, Value], varying: frozenset[int]) -> None:
        super().__init__(outer.plan, outer.algebra, outer.base)
        self.outer, self.given, self.varying = outer, given, varying

    def get(self, slot: int) -> Value:
        if slot in self.given:
            return self.given[slot]
        return super().get(slot) if slot in self.varying else self.outer.get(slot)


def _same(a: Value, b: Value) -> bool:
    return type(a) is type(b) and a.must == b.must and a.may == b.may
