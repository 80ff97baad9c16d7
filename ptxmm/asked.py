"""Constraints that the solver keeps, so that one question after another is added to them."""

from __future__ import annotations

from collections.abc import Sequence

from ptxmm.formula import Formulas, Lit
from ptxmm.script import Script
from ptxmm.solve import Loaded, apart, session

ALONE = "t_"
"""The prefix of names in a solver that nothing else uses."""


class Asked:
    """What is certain, loaded, and the questions that were asked about it, until something else is loaded.

    What is asked `alone` has a solver of its own, which knows nothing of other tests: among several executions it
    finds the same one each time.
    """

    def __init__(self, formulas: Formulas, certain: Sequence[Lit], *, alone: bool = False) -> None:
        self._prefix = ALONE if alone else session().prefix()
        self._script = Script(formulas, f"{self._prefix}v")
        self._goals, self._deadline = 0, formulas.deadline
        load = apart if alone else session().keep
        self.loaded: Loaded = load(self._script.more(certain), self._prefix, formulas.deadline)

    def name(self, goals: Sequence[Lit]) -> list[str]:
        """Names for literals, under which the solver can be asked for them."""
        names = [f"goal{self._goals + number}" for number in range(len(goals))]
        self._goals += len(goals)
        named = [(self._prefix + name, goal) for name, goal in zip(names, goals, strict=True)]
        self.loaded.add(self._script.more((), named), self._deadline)
        return names
