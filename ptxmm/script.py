"""Formulas as SMT-LIB text, which is written piece by piece: what was written before is only named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from ptxmm.formula import OFTEN, Formulas, Lit

Named = Sequence[tuple[str, Lit]]


class Script:
    """What has been written of some formulas; `prefix` starts the names of their variables.

    >>> f = Formulas()
    >>> a, b = f.var(), f.var()
    >>> script = Script(f, "v")
    >>> print(script.more([f.disj([a, b])]))
    (declare-const v3 Bool)
    (declare-const v4 Bool)
    (assert (or v4 v3))
    >>> print(script.more([-b], [("goal", a)]))
    (assert (not v4))
    (declare-const goal Bool)
    (assert (or (not goal) v3))
    """

    def __init__(self, formulas: Formulas, prefix: str) -> None:
        self.formulas, self.prefix = formulas, prefix
        self._shown: dict[int, str] = {1: "true", -1: "false"}
        self._clauses = 0
        self._compared: set[Lit] = set()
        self._places: set[int] = set()

    def more(self, asserted: Sequence[Lit], named: Named = (), equal: Named = ()) -> str:
        """What is new: `asserted` and all clauses hold, each name in `named` implies its literal, in `equal` is it."""
        formulas, shown = self.formulas, self._shown
        clauses, self._clauses = formulas.clauses[self._clauses :], len(formulas.clauses)
        compared = [literal for literal in formulas.places if literal not in self._compared]
        roots = [*asserted, *(literal for _, literal in (*named, *equal)), *chain.from_iterable(clauses), *compared]
        lines, passing = self._defined(roots)
        lines.extend(self._order(compared))
        for clause in clauses:
            either = [shown[literal] for literal in clause]
            whole = either[0] if len(either) == 1 else f"(or {' '.join(either)})" if either else "false"
            lines.append(f"(assert {whole})")
        lines.extend(f"(assert {shown[literal]})" for literal in asserted if literal != 1)
        for name, literal in named:
            lines.append(f"(declare-const {name} Bool)\n(assert (or (not {name}) {shown[literal]}))")
        lines.extend(f"(define-fun {name} () Bool {shown[literal]})" for name, literal in equal)
        for node in passing:
            del shown[node], shown[-node]
        return "\n".join(lines)

    def _defined(self, roots: Sequence[Lit]) -> tuple[list[str], list[int]]:
        """Declarations and definitions for what the roots need, and the nodes that are written where they stand."""
        kids, shown = self.formulas.kids, self._shown
        order = self.formulas.below(roots, shown)
        uses = self._uses(order, roots)
        lines: list[str] = []
        passing: list[int] = []
        for place, node in enumerate(order):
            if not place & OFTEN:
                self.formulas.deadline.check()
            parts = kids.get(node)
            name = f"{self.prefix}{node}"
            if parts is None:
                lines.append(f"(declare-const {name} Bool)")
                positive, negative = name, f"(not {name})"
            elif len(parts) == 1:
                positive, negative = shown[parts[0]], shown[-parts[0]]
                passing.append(node)
            elif uses[node] > 1:
                lines.append(f"(define-fun {name} () Bool (and {' '.join([shown[k] for k in parts])}))")
                positive, negative = name, f"(not {name})"
            else:
                positive = f"(and {' '.join([shown[k] for k in parts])})"
                negative = f"(or {' '.join([shown[-k] for k in parts])})"
                passing.append(node)
            shown[node], shown[-node] = positive, negative
        return lines, passing

    def _uses(self, order: Sequence[int], roots: Sequence[Lit]) -> Counter[int]:
        """How often each node is written; what a variable is a name for is written wherever the variable is."""
        kids, meanings = self.formulas.kids, self.formulas.meanings
        uses = Counter(map(abs, roots))
        uses.update(map(abs, chain.from_iterable([kids[node] for node in order if node in kids])))
        for node in reversed([node for node in order if node in meanings] if meanings else ()):
            uses[abs(kids[node][0])] += uses[node] - 1
        return uses

    def _order(self, compared: Sequence[Lit]) -> list[str]:
        """What the variables that compare places say of the places."""
        places = self.formulas.places
        used = dict.fromkeys(place for literal in compared for place in places[literal] if place not in self._places)
        self._places.update(used)
        self._compared.update(compared)
        at = f"{self.prefix}at"
        lines = [f"(declare-const {at}{place} Int)" for place in used]
        for literal in compared:
            first, second = places[literal]
            lines.append(f"(assert (= {self._shown[literal]} (< {at}{first} {at}{second})))")
        return lines


def smt_lib(
    formulas: Formulas, asserted: Sequence[Lit], named: Named = (), prefix: str = "p", equal: Named = ()
) -> str:
    """Everything at once."""
    return Script(formulas, prefix).more(asserted, named, equal)
