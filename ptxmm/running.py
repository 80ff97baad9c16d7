"""What it says that events run: which literals hold wherever an event does.

Only pairs of events that run count in an execution, so that a relation need not repeat their guards: a pair is certain
where it holds whenever both events run. What leads through a third event needs its guard, unless one of the two runs
only where the third does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ptxmm.formula import Formulas, Lit

DEEP = 3


class Running:
    """The guards of events, and what follows from each.

    `following` says of literals what else holds with them. Without guards every event runs.

    >>> f = Formulas()
    >>> a, b = f.var(), f.var()
    >>> running = Running(f, 3, [1, a, f.conj([a, b])])
    >>> bin(running.implying(a)), running.under(f.conj([a, -b]), 0b010) == -b, running.under(f.conj([a, -b]), 0b100)
    ('0b110', True, -1)
    """

    def __init__(
        self,
        formulas: Formulas,
        size: int,
        guards: Sequence[Lit] = (),
        following: Mapping[Lit, Iterable[Lit]] | None = None,
    ) -> None:
        self.formulas, self.guards = formulas, list(guards) or [1] * size
        self.all = (1 << size) - 1
        self.never = sum(1 << event for event, guard in enumerate(self.guards) if guard == -1)
        self.trivial = all(guard == 1 for guard in self.guards)
        self.units: dict[Lit, int] = {}
        self.masks: dict[Lit, int] = {1: self.all, -1: self.never}
        self.implied: dict[Lit, set[Lit]] = {}
        self._gather(following or {})

    def _gather(self, following: Mapping[Lit, Iterable[Lit]]) -> None:
        """For each literal, the events whose guards it is a part of, or follows from a part of."""
        events: dict[Lit, int] = {}
        for event, guard in enumerate(self.guards):
            if guard not in (1, -1):
                events[guard] = events.get(guard, 0) | 1 << event
        for guard, mask in events.items():
            for literal in self._closed([guard], following):
                self.units[literal] = self.units.get(literal, 0) | mask
        self.implied = {one: self._closed(held, following) for one, held in following.items()}

    def _closed(self, literals: Iterable[Lit], following: Mapping[Lit, Iterable[Lit]]) -> set[Lit]:
        """Literals with their parts, and with what follows from these."""
        kids, seen, stack = self.formulas.kids, set[Lit](), list(literals)
        while stack:
            literal = stack.pop()
            if literal not in seen:
                seen.add(literal)
                stack.extend(following.get(literal, ()))
                if literal > 0:
                    stack.extend(kids.get(literal, ()))
        return seen

    def both(self, left: Lit, right: Lit) -> Lit:
        """The conjunction of two literals, of which one may follow from the other."""
        if left == 1 or right in self.implied.get(left, ()):
            return left if left != 1 else right
        return right if left in self.implied.get(right, ()) else self.formulas.both(left, right)

    def needs(self, event: int) -> int:
        """The events that run only where one does."""
        return self.implying(self.guards[event])

    def implying(self, literal: Lit, deep: int = DEEP) -> int:
        """Events that run only where a literal holds, as far as the form of guards tells."""
        known = self.masks.get(literal)
        if known is None:
            known = self.units.get(literal, 0) | self.never
            kids = self.formulas.kids.get(abs(literal), ()) if deep else ()
            if literal > 0 and kids:
                every = self.all
                for kid in kids:
                    every &= self.implying(kid, deep - 1)
                known |= every
            for kid in kids if literal < 0 else ():
                known |= self.implying(-kid, deep - 1)
            if deep == DEEP:
                self.masks[literal] = known
        return known

    def under(self, literal: Lit, ends: int) -> Lit:
        """A literal without the parts that hold wherever one of some events runs."""
        if literal in (1, -1) or self.trivial:
            return literal
        if self.implying(literal) & ends:
            return 1
        if self.implying(-literal) & ends:
            return -1
        kids = self.formulas.kids.get(abs(literal))
        if kids is None:
            return literal
        kept = [kid for kid in kids if not self.implying(kid) & ends]
        if len(kept) == len(kids):
            return literal
        found = self.formulas.conj(kept)
        return found if literal > 0 else -found

    def pair(self, i: int, j: int, literal: Lit) -> Lit:
        """The literal that a pair is in a relation whose `literal` it has, guards included."""
        return self.formulas.conj((literal, self.guards[i], self.guards[j]))
