"""What every execution that counts has in common: literals that hold because of what is asserted."""

from __future__ import annotations

from collections.abc import Iterable

from ptxmm.events import Ending, EventGraph
from ptxmm.formula import Formulas, Lit


def units(formulas: Formulas, roots: Iterable[Lit], *, build: bool = False) -> set[Lit]:
    """The literals that follow from some that hold, through conjunctions; with `build`, through meanings too.

    >>> f = Formulas()
    >>> a, b, c = f.var(), f.var(), f.var()
    >>> units(f, [f.conj([a, f.conj([-b, c])])]) >= {a, -b, c}
    True
    """
    found: set[Lit] = set()
    stack = list(roots)
    while stack:
        literal = stack.pop()
        if literal in found or literal in (1, -1):
            continue
        found.add(literal)
        kids = formulas.kids.get(abs(literal))
        if kids is None and build:
            kids = formulas.parts(abs(literal))
        if kids is not None and literal > 0:
            stack.extend(kids)
        elif kids is not None and len(kids) == 1:
            stack.append(-kids[0])
    return found


def asserted(graph: EventGraph) -> list[Lit]:
    """What holds in every execution of an event graph that counts, whatever the model."""
    if graph.ending is not Ending.FINISHED:
        return list(graph.assumed)
    return [*graph.assumed, *graph.ends, -graph.cut, *(-again.literal for again in graph.again)]


def settle(graph: EventGraph) -> None:
    """Events that run in every execution that counts lose their guards."""
    known = units(graph.formulas, asserted(graph))
    for event in graph.events:
        if event.guard not in (1, -1):
            kids = graph.formulas.kids.get(event.guard, ()) if event.guard > 0 else ()
            if event.guard in known or (kids and known.issuperset(kids)):
                event.guard = 1
