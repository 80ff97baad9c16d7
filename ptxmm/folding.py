"""What conjunctions come to by their form: parts that the others imply, and parts that contradict each other.

A literal is an integer, its negative is its negation; `kids` says of which parts a literal is the conjunction.
"""

from __future__ import annotations

from collections.abc import Mapping

Kids = Mapping[int, tuple[int, ...]]


def fold(kids: Kids, parts: set[int]) -> int:
    """Drop the parts of a conjunction that the others imply; FALSE where they contradict one, 0 otherwise.

    >>> parts = {4, 2, 3}
    >>> fold({4: (2, 3)}, parts), parts, fold({4: (2, 3)}, {-4, 2, 3})
    (0, {4}, -1)
    """
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


def fold_pair(kids: Kids, left: int, right: int) -> int:
    """The conjunction of two where one of them, or what it is made of, decides it; else 0."""
    first, second = kids.get(abs(left), ()), kids.get(abs(right), ())
    if (left > 0 and right in first) or (right < 0 and -left in second):
        return left
    if (right > 0 and left in second) or (left < 0 and -right in first):
        return right
    if (left > 0 and -right in first) or (right > 0 and -left in second):
        return -1
    return -1 if left > 0 < right and not {-kid for kid in first}.isdisjoint(second) else 0


def contradict(kids: Kids, facts: set[int], new: list[int], steps: list[int]) -> bool:
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
        if all(contradict(kids, set(facts), [-part], steps) for part in open_parts):
            return True
    return False
