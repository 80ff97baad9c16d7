"""Hash-consed boolean formulas with constant folding, and their SMT-LIB text.

A literal is an integer: `TRUE` and `FALSE`, a variable, or a conjunction; its negative is its negation. Disjunctions
are negated conjunctions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Protocol

from ptxmm.deadline import Deadline
from ptxmm.errors import Undecided

TRUE, FALSE = 1, -1
OFTEN = 0x3FF
LARGEST = 1_500_000
FEW = 200
Lit = int


class Meaning(Protocol):
    """What a variable stands for: a formula, which is only built to be written, and its truth without building it."""

    def formula(self) -> Lit:
        """The formula."""

    def needs(self) -> Iterable[Lit]:
        """The literals that decide it."""

    def holds(self, true: Callable[[Lit], bool]) -> bool:
        """Its truth, from that of those literals."""


class Formulas:
    """A store of formulas: variables, conjunctions, and clauses that are asserted as they stand.

    >>> f = Formulas()
    >>> a, b = f.var(), f.var()
    >>> f.conj([a, TRUE]) == a, f.conj([a, -a]), f.disj([a, -f.conj([a, b])])
    (True, -1, 1)
    """

    __slots__ = ("_known", "clauses", "deadline", "kids", "meanings", "next", "places", "variables")

    def __init__(self, deadline: Deadline | None = None) -> None:
        self.next = 2
        self.deadline = deadline or Deadline.never()
        self.kids: dict[int, tuple[int, ...]] = {}
        self.meanings: dict[int, Meaning] = {}
        self.places: dict[int, tuple[int, int]] = {}
        self.variables: list[int] = []
        self.clauses: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], int] = {}

    def tick(self) -> None:
        """Raise Undecided when time is up or the formulas have grown too large."""
        self.deadline.check()
        if self.next + len(self.clauses) > LARGEST:
            raise Undecided(f"the formulas have more than {LARGEST:,} parts")

    def var(self) -> Lit:
        """A new variable."""
        self.next += 1
        self.variables.append(self.next)
        return self.next

    def earlier(self, first: int, second: int) -> Lit:
        """A variable that says that one place comes before another; places are integers that the solver chooses."""
        literal = self.var()
        self.places[literal] = (first, second)
        return literal

    def conj(self, literals: Iterable[Lit]) -> Lit:
        """The conjunction, folded."""
        parts: set[int] = set()
        for literal in literals:
            if literal == 1:
                continue
            if literal == -1 or -literal in parts:
                return -1
            parts.add(literal)
        if len(parts) > 1:
            folded = self._fold(parts)
            if folded:
                return folded
        if len(parts) < 2:
            return parts.pop() if parts else 1
        key = tuple(sorted(parts))
        known = self._known.get(key)
        if known is None:
            self.next += 1
            if not self.next & OFTEN:
                self.tick()
            known = self._known[key] = self.next
            self.kids[known] = key
        return known

    def _fold(self, parts: set[int]) -> Lit:
        """Drop what the other parts imply; FALSE where they contradict one, 0 otherwise."""
        kids = self.kids
        implied: set[int] | None = None
        for part in tuple(parts):
            if part > 0:
                inner = kids.get(part)
                if inner is None:
                    continue
                if implied is None:
                    implied = set()
                for kid in inner:
                    if -kid in parts or -kid in implied:
                        return -1
                    parts.discard(kid)
                    implied.add(kid)
            else:
                inner = kids.get(-part)
                if inner is None:
                    continue
                missing = 0
                for kid in inner:
                    if -kid in parts:
                        parts.discard(part)
                        missing = 2
                        break
                    if kid not in parts:
                        missing += 1
                if missing == 0:
                    return -1
        return 0

    def both(self, left: Lit, right: Lit) -> Lit:
        """The conjunction of two."""
        if left == 1 or left == right:
            return right
        if right == 1:
            return left
        if left == -1 or right == -1 or left == -right:
            return -1
        known = self._known.get((left, right) if left < right else (right, left))
        return known or self.conj((left, right))

    def disj(self, literals: Iterable[Lit]) -> Lit:
        """The disjunction, folded."""
        return -self.conj([-literal for literal in literals])

    def exclude(self, *literals: Lit) -> bool:
        """Whether literals cannot hold together by their form alone, found in a few steps.

        >>> f = Formulas()
        >>> a, b, c = f.var(), f.var(), f.var()
        >>> f.exclude(f.conj([c, a, b]), f.conj([c, f.disj([-a, f.conj([a, -b])])])), f.exclude(a, b)
        (True, False)
        """
        return _contradict(self.kids, set(), list(literals), [FEW])

    def require(self, *clause: Lit) -> None:
        """Assert that one of the literals holds."""
        kept = {literal for literal in clause if literal != -1}
        if 1 in kept or any(-literal in kept for literal in kept):
            return
        self.clauses.append(tuple(kept))
        if not len(self.clauses) & OFTEN:
            self.tick()

    def at_most_one(self, literals: Sequence[Lit]) -> None:
        """Assert that no two of the literals hold."""
        for i, left in enumerate(literals):
            for right in literals[:i]:
                self.require(-left, -right)

    def value(self, roots: Iterable[Lit], assignment: Mapping[int, bool]) -> dict[int, bool]:
        """The truth of every node below `roots` when variables are as assigned (False where they are not)."""
        known = {1: True}
        self.extend(known, roots, assignment)
        return known

    def extend(self, known: dict[int, bool], roots: Iterable[Lit], assignment: Mapping[int, bool]) -> None:
        """Add the truth of every node below `roots` to what is known."""
        self.settle(known, roots, lambda node: assignment.get(node, False))

    def settle(self, known: dict[int, bool], roots: Iterable[Lit], assigned: Callable[[int], bool]) -> None:
        """Add the truth of every node below `roots`, with variables as assigned; no formula is built for that."""
        kids, meanings = self.kids, self.meanings

        def true(literal: Lit) -> bool:
            return known[literal] if literal > 0 else not known[-literal]

        for node in self.below(roots, known, build=False):
            if node in meanings:
                known[node] = meanings[node].holds(true)
            elif node in kids:
                known[node] = all(known[k] if k > 0 else not known[-k] for k in kids[node])
            else:
                known[node] = assigned(node)

    def define(self, variable: Lit, meaning: Meaning) -> None:
        """Make a variable the name of a formula, which is only built when something needs it."""
        self.meanings[variable] = meaning

    def parts(self, node: int) -> tuple[Lit, ...] | None:
        """What a node is the conjunction of; None for a variable."""
        kids = self.kids.get(node)
        if kids is None and node in self.meanings:
            kids = self.kids[node] = (self.meanings[node].formula(),)
        return kids

    def below(self, roots: Iterable[Lit], known: Container[int] = (), *, build: bool = True) -> list[int]:
        """Every variable and conjunction that the roots need and that is not known, each after its parts.

        Formulas that variables stand for are built, or what decides them is taken for their parts.
        """
        done: set[int] = {1}
        order: list[int] = []
        stack = [abs(root) for root in roots]
        parts, kids, meanings = self.parts, self.kids, self.meanings
        while stack:
            node = stack[-1]
            if node in done or node in known:
                stack.pop()
                continue
            found = kids.get(node)
            if node in meanings:
                found = parts(node) if build else tuple(meanings[node].needs())
            open_parts = [k for kid in found if (k := abs(kid)) not in done and k not in known] if found else ()
            if open_parts:
                stack.extend(open_parts)
                continue
            done.add(node)
            order.append(node)
            stack.pop()
        return order

    def text(
        self,
        asserted: Sequence[Lit],
        named: Sequence[tuple[str, Lit]] = (),
        prefix: str = "p",
        equal: Sequence[tuple[str, Lit]] = (),
    ) -> str:
        """SMT-LIB text: `asserted` and all clauses hold, each name in `named` implies its literal, in `equal` is it."""
        roots = [*asserted, *(literal for _, literal in named), *(literal for _, literal in equal)]
        roots.extend(literal for clause in self.clauses for literal in clause)
        roots.extend(self.places)
        order = self.below(roots)
        uses = self._uses(order, roots)
        lines: list[str] = []
        shown: dict[int, str] = {1: "true", -1: "false"}
        self.deadline.check()
        for node in order:
            kids = self.kids.get(node)
            name = f"{prefix}{node}"
            if kids is None:
                lines.append(f"(declare-const {name} Bool)")
                positive, negative = name, f"(not {name})"
            elif len(kids) == 1:
                positive, negative = shown[kids[0]], shown[-kids[0]]
            elif uses[node] > 1:
                lines.append(f"(define-fun {name} () Bool (and {' '.join([shown[k] for k in kids])}))")
                positive, negative = name, f"(not {name})"
            else:
                positive = f"(and {' '.join([shown[k] for k in kids])})"
                negative = f"(or {' '.join([shown[-k] for k in kids])})"
            shown[node], shown[-node] = positive, negative
        lines.extend(self._order_text(shown, prefix))
        for clause in self.clauses:
            parts = [shown[literal] for literal in clause]
            whole = parts[0] if len(parts) == 1 else f"(or {' '.join(parts)})" if parts else "false"
            lines.append(f"(assert {whole})")
        lines.extend(f"(assert {shown[literal]})" for literal in asserted if literal != 1)
        for name, literal in named:
            lines.append(f"(declare-const {name} Bool)\n(assert (or (not {name}) {shown[literal]}))")
        lines.extend(f"(define-fun {name} () Bool {shown[literal]})" for name, literal in equal)
        return "\n".join(lines)

    def _order_text(self, shown: Mapping[int, str], prefix: str) -> list[str]:
        """What the variables that compare places say of the places."""
        used = dict.fromkeys(place for pair in self.places.values() for place in pair)
        lines = [f"(declare-const {prefix}at{place} Int)" for place in used]
        lines.extend(
            f"(assert (= {shown[literal]} (< {prefix}at{first} {prefix}at{second})))"
            for literal, (first, second) in self.places.items()
        )
        return lines

    def _uses(self, order: Sequence[int], roots: Sequence[Lit]) -> dict[int, int]:
        uses = dict.fromkeys(order, 0)
        uses[1] = 0
        for root in roots:
            uses[abs(root)] += 1
        for node in order:
            for kid in self.kids.get(node, ()):
                uses[abs(kid)] += 1
        return uses


def _contradict(kids: Mapping[int, tuple[int, ...]], facts: set[Lit], new: list[Lit], steps: list[int]) -> bool:
    """Whether facts contradict each other once conjunctions are taken apart and disjunctions tried one by one."""
    while new:
        fact = new.pop()
        if -fact in facts or fact == -1:
            return True
        if fact not in facts:
            facts.add(fact)
            new.extend(kids.get(fact, ()))
    for fact in facts:
        parts = kids.get(-fact, ()) if fact < 0 else ()
        if not parts or any(-part in facts for part in parts):
            continue
        open_parts = [part for part in parts if part not in facts]
        steps[0] -= len(open_parts)
        if steps[0] < 0:
            return False
        if all(_contradict(kids, set(facts), [-part], steps) for part in open_parts):
            return True
    return False
