"""Hash-consed boolean formulas with constant folding.

A literal is an integer: `TRUE` and `FALSE`, a variable, or a conjunction; its negative is its negation. Disjunctions
are negated conjunctions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Protocol

from ptxmm.deadline import Deadline
from ptxmm.errors import Undecided
from ptxmm.folding import contradict, fold, fold_pair

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

    __slots__ = ("_known", "clauses", "deadline", "kids", "largest", "meanings", "next", "places", "variables")

    def __init__(self, deadline: Deadline | None = None, largest: int = LARGEST) -> None:
        self.next, self.largest = 2, largest
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
        if self.next + len(self.clauses) > self.largest:
            raise Undecided(f"the formulas have more than {self.largest:,} parts")

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
            folded = fold(self.kids, parts)
            if folded:
                return folded
        if len(parts) < 2:
            return parts.pop() if parts else 1
        key = tuple(sorted(parts))
        return self._known.get(key) or self._node(key)

    def _node(self, key: tuple[Lit, ...]) -> Lit:
        """A new conjunction of sorted parts."""
        self.next += 1
        if not self.next & OFTEN:
            self.tick()
        self._known[key] = self.next
        self.kids[self.next] = key
        return self.next

    def both(self, left: Lit, right: Lit) -> Lit:
        """The conjunction of two, folded as `conj` does."""
        if left == 1 or left == right:
            return right
        if right == 1:
            return left
        if left == -1 or right == -1 or left == -right:
            return -1
        key = (left, right) if left < right else (right, left)
        return self._known.get(key) or fold_pair(self.kids, left, right) or self._node(key)

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
        return contradict(self.kids, set(), list(literals), [FEW])

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
            node = stack.pop()
            if node < 0:
                order.append(-node)
                if not len(order) & OFTEN:
                    self.deadline.check()
                continue
            if node in done or node in known:
                continue
            done.add(node)
            found = kids.get(node)
            if node in meanings:
                found = parts(node) if build else tuple(meanings[node].needs())
            if found:
                stack.append(-node)
                stack.extend(map(abs, found))
            else:
                order.append(node)
        return order
